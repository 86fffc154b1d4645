/*
 * `hotcell code` on a terminal: lines are asked for until they are a piece of code
 * (code_complete.h), which is executed; then again. Ctrl-C clears what was typed, or interrupts
 * what executes; Ctrl-D ends.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "client/code.h"
#include "client/code_complete.h"
#include "client/code_edit.h"
#include "client/code_history.h"

#define PROMPT_SIZE 48

static const struct look {
	const char *language;
	const char *title;
	const char *first, *more; /* NULL = numbered, like "In [3]: " */
} looks[] = {
	{ "python", "Python", NULL, NULL },
	{ "javascript", "JavaScript", "> ", "... " },
	{ "typescript", "TypeScript", "> ", "... " },
	{ "bash", "bash", "$ ", "> " },
	{ "r", "R", "> ", "+ " },
	{ "java", "Java", "jshell> ", "   ...> " },
};

struct session {
	struct code *code;
	struct editor *editor;
	struct history_file *history;
	const struct look *look; /* NULL = a kernel */
	struct buffer text;	 /* what was typed of this piece */
	int signal;
};

static const struct look *look_of(const char *language)
{
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
		if (strcmp(looks[i].language, language) == 0)
			return &looks[i];
	}
	return NULL;
}

static void make_prompt(const struct session *s, bool first, char ret[PROMPT_SIZE])
{
	unsigned long long number = (unsigned long long)s->code->presenter.number + 1;

	if (s->look && s->look->first) {
		snprintf(ret, PROMPT_SIZE, "%s", first ? s->look->first : s->look->more);
		return;
	}
	int width = snprintf(ret, PROMPT_SIZE, "In [%llu]: ", number);
	if (!first)
		snprintf(ret, PROMPT_SIZE, "%*s", width, "...: ");
}

/* ---- reading ---- */

static bool is_blank(const char *s)
{
	return s[strspn(s, " \t\n")] == '\0';
}

/* A line more; true: it is all there. Brackets that never close are sent by two empty lines. */
static bool add_line(struct session *s, const char *line, unsigned int *blank)
{
	bool first = s->text.size == 0;

	if (!first)
		(void)buffer_append(&s->text, "\n", 1);
	if (buffer_text(&s->text, line) < 0)
		return true;
	*blank = is_blank(line) ? *blank + 1 : 0;
	return *blank > 1 || !code_needs_more(s->code->language.name, (char *)s->text.data, first);
}

static enum edit read_piece(struct session *s)
{
	char prompt[PROMPT_SIZE];
	unsigned int blank = 0;
	const char *line;

	buffer_clear(&s->text);
	for (;;) {
		make_prompt(s, s->text.size == 0, prompt);
		enum edit how = editor_read(s->editor, prompt, &line, &s->signal);
		if (how == EDIT_END && s->text.size)
			how = EDIT_CLEARED;
		if (how != EDIT_LINE)
			return how;
		if (s->text.size == 0 && is_blank(line))
			continue;
		if (add_line(s, line, &blank))
			return EDIT_LINE;
	}
}

/* ---- what is for us ---- */

static void help(void)
{
	printf(":help      this text\n"
	       ":restart   start the interpreter anew: variables are gone\n"
	       ":quit      end; so does Ctrl-D on an empty line\n\n"
	       "Ctrl-C interrupts what runs (twice: ends the interpreter), or clears what is typed.\n"
	       "Ctrl-R searches what was typed, the arrow up finds what begins the same.\n"
	       "An empty line ends a block; two of them send what is not complete.\n");
	fflush(stdout);
}

static int restart(struct session *s)
{
	struct error err;

	s->code->interrupted = false;
	if (s->code->backend->restart(s->code, &err) == 0)
		return 0;
	if (s->code->stopped_by)
		return -EINTR;
	client_fail(&err);
	return s->code->of_backend ? 0 : -EIO; /* there is nothing to go on with */
}

static bool is_quit(const char *text)
{
	static const char *const words[] = { ":quit",  ":q",	"exit", "quit", "exit()",
					     "quit()", ".exit", "q()",	"/exit" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(text, words[i]) == 0)
			return true;
	}
	return false;
}

/* ---- executing ---- */

/* Negative: the session ends. */
static int execute(struct session *s)
{
	struct code *c = s->code;
	struct error err;

	editor_add(s->editor, (char *)s->text.data);
	history_file_add(s->history, (char *)s->text.data);
	presenter_begin(&c->presenter);
	c->interrupted = false;
	int r = c->backend->execute(c, (char *)s->text.data, s->text.size, &err);
	if (c->stopped_by || c->presenter.lost)
		return -EINTR;
	if (r < 0)
		client_fail(&err);
	else if (c->interrupted && !c->presenter.ended)
		fprintf(stderr, "hotcell: interrupted\n");
	if (r != 1)
		return 0;
	fprintf(stderr, "hotcell: a new interpreter starts; what it knew is gone\n");
	return restart(s);
}

static int take_piece(struct session *s)
{
	const char *text = (char *)s->text.data;

	if (strcmp(text, ":help") == 0) {
		help();
		return 0;
	}
	if (strcmp(text, ":restart") == 0)
		return restart(s);
	return is_quit(text) ? -ENODATA : execute(s);
}

static void remember(void *ctx, const char *entry)
{
	editor_add(ctx, entry);
}

static void greet(const struct session *s)
{
	const struct code *c = s->code;

	if (c->presenter.json)
		return;
	printf("%s in %s%s; :help helps, Ctrl-D ends.\n",
	       s->look ? s->look->title : c->language.name,
	       c->o->sandbox ? "sandbox " : "a sandbox", c->o->sandbox ? c->o->sandbox : "");
	fflush(stdout);
}

static int loop(struct session *s)
{
	int r = 0;

	while (r == 0) {
		switch (read_piece(s)) {
		case EDIT_LINE:
			r = take_piece(s);
			break;
		case EDIT_CLEARED:
			break;
		case EDIT_END:
			return 0;
		case EDIT_SIGNAL:
			return 128 + s->signal;
		}
	}
	if (s->code->stopped_by)
		return 128 + s->code->stopped_by;
	return r == -ENODATA || s->code->presenter.lost ? 0 : CODE_FAILED;
}

int session_run(struct code *c)
{
	struct session s = { .code = c, .look = look_of(c->language.name) };
	struct error err;

	s.editor = editor_new(c->signals);
	if (!s.editor) {
		error_set(&err, 0, "this terminal cannot be used for a session");
		client_fail(&err);
		return CODE_FAILED;
	}
	buffer_init(&s.text, CODE_MAX);
	c->presenter.session = true;
	c->presenter.numbered = !s.look || !s.look->first;
	s.history = history_file_open(c->language.name, remember, s.editor);
	greet(&s);
	int status = loop(&s);
	history_file_close(s.history);
	editor_free(s.editor);
	buffer_fini(&s.text);
	return status;
}
