/*
 * libedit asks for characters by a function of ours, which waits for the terminal and for signals: so
 * an interrupt, a new window size, a stop and an end from outside are handled between two characters, and
 * no signal handler exists. While a line is edited Ctrl-C and Ctrl-Z are keys like others: in pasted text
 * they must not do anything.
 *
 * Bracketed paste: the terminal is asked to frame what is pasted (ESC [200~ ... ESC [201~). Such
 * text is taken into the line as it is, line ends included, and is sent when Enter is pressed.
 */
#include "client/code_edit.h"

#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/buffer.h"
#include "base/util.h"
#include "client/code.h"

#define HISTORY_MAX 1000
#define PASTE_MAX   (1u << 20)
#define PASTE_ON    "\033[?2004h"
#define PASTE_OFF   "\033[?2004l"
#define PASTE_END   L"\033[201~"

struct editor {
	EditLine *el;
	History *history;
	int signals;
	bool dumb; /* the terminal knows no sequences */
	const char *prompt;
	mbstate_t decoding;
	enum edit end; /* why there is no line */
	int signal;
	char *line;
};

static struct editor *editor_of(EditLine *el)
{
	void *e = NULL;

	el_get(el, EL_CLIENTDATA, &e);
	return e;
}

static char *prompt_of(EditLine *el)
{
	return (char *)(uintptr_t)editor_of(el)->prompt;
}

static void say(const char *text)
{
	fputs(text, stdout);
	fflush(stdout);
}

static void let_paste(const struct editor *e, bool framed)
{
	if (!e->dumb)
		say(framed ? PASTE_ON : PASTE_OFF);
}

/* ---- signals ---- */

/* The terminal is the shell's until we are continued. */
static void suspend(struct editor *e)
{
	let_paste(e, false);
	el_set(e->el, EL_PREP_TERM, 0);
	raise(SIGSTOP);
	el_set(e->el, EL_PREP_TERM, 1);
	let_paste(e, true);
	el_set(e->el, EL_REFRESH);
}

/* False: there will be no line. */
static bool on_signal(struct editor *e)
{
	int number = signals_take(e->signals);

	switch (number) {
	case SIGWINCH:
		el_resize(e->el);
		return true;
	case SIGTSTP:
		suspend(e);
		return true;
	case SIGINT:
		e->end = EDIT_CLEARED;
		return false;
	case SIGTERM:
	case SIGHUP:
		e->end = EDIT_SIGNAL;
		e->signal = number;
		return false;
	default:
		return true;
	}
}

/* ---- characters ---- */

/* 1, 0 = the end, -1 = no line. */
static int read_byte(struct editor *e, char *ret)
{
	struct pollfd fds[] = { { .fd = e->signals, .events = POLLIN },
				{ .fd = STDIN_FILENO, .events = POLLIN } };

	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return -1;
		if (fds[0].revents && !on_signal(e)) {
			errno = EINTR;
			return -1;
		}
		if (!fds[1].revents)
			continue;
		ssize_t n = read(STDIN_FILENO, ret, 1);
		if (n == 1 || n == 0 || (errno != EINTR && errno != EAGAIN))
			return n == 1 ? 1 : 0;
	}
}

/* What is no character in this place is skipped. */
static int read_character(EditLine *el, wchar_t *ret)
{
	struct editor *e = editor_of(el);
	char byte;
	int r;

	while ((r = read_byte(e, &byte)) == 1) {
		size_t n = mbrtowc(ret, &byte, 1, &e->decoding);
		if (n == 0)
			*ret = L'\0';
		if (n == 0 || n == 1)
			return 1;
		if (n == (size_t)-1)
			e->decoding = (mbstate_t){ 0 };
	}
	return r;
}

/* ---- keys ---- */

/* Line ends and tabs stay, no other control does. */
static void add_pasted(struct buffer *b, wchar_t c)
{
	char bytes[MB_LEN_MAX];
	mbstate_t state = { 0 };
	size_t n;

	if (c == L'\r')
		c = L'\n';
	if ((c < L' ' && c != L'\n' && c != L'\t') || c == 0x7f)
		return;
	n = wcrtomb(bytes, c, &state);
	if (n != (size_t)-1)
		(void)buffer_append(b, bytes, n);
}

static unsigned char on_paste(EditLine *el, int key)
{
	static const wchar_t end[] = PASTE_END;
	struct buffer b;
	size_t matched = 0;
	wchar_t c;

	buffer_init(&b, PASTE_MAX);
	while (matched < ARRAY_SIZE(end) - 1 && el_wgetc(el, &c) == 1) {
		if (c == end[matched]) {
			matched++;
			continue;
		}
		for (size_t i = 0; i < matched; i++)
			add_pasted(&b, end[i]);
		matched = c == end[0] ? 1 : 0;
		if (!matched)
			add_pasted(&b, c);
	}
	while (b.size && b.data[b.size - 1] == '\n')
		b.data[--b.size] = '\0';
	int r = b.size ? el_insertstr(el, (char *)b.data) : 0;
	buffer_fini(&b);
	return r < 0 ? CC_ERROR : CC_REFRESH;
}

/* To the next multiple of four. */
static unsigned char on_tab(EditLine *el, int key)
{
	const LineInfo *info = el_line(el);
	size_t column = (size_t)(info->cursor - info->buffer);

	while (column && info->cursor[-(ptrdiff_t)column] == '\n')
		column--;
	return el_insertstr(el, &"    "[column % 4]) < 0 ? CC_ERROR : CC_REFRESH;
}

static unsigned char on_clear(EditLine *el, int key)
{
	editor_of(el)->end = EDIT_CLEARED;
	return CC_EOF;
}

static unsigned char on_stop(EditLine *el, int key)
{
	suspend(editor_of(el));
	return CC_NORM;
}

static const struct {
	const wchar_t *name, *help; /* wide ones, because narrow ones are copied, and lost */
	unsigned char (*run)(EditLine *el, int key);
} functions[] = {
	{ L"hotcell-paste", L"takes pasted text", on_paste },
	{ L"hotcell-tab", L"indents", on_tab },
	{ L"hotcell-clear", L"clears what was typed", on_clear },
	{ L"hotcell-stop", L"stops the command", on_stop },
};

static const struct {
	const char *key, *function;
} bindings[] = {
	{ "^C", "hotcell-clear" },
	{ "^Z", "hotcell-stop" },
	{ "\\e[200~", "hotcell-paste" },
	{ "^I", "hotcell-tab" },
	{ "^R", "em-inc-search-prev" },
	{ "^L", "ed-clear-screen" },
	{ "^W", "ed-delete-prev-word" },
	{ "\\e[A", "ed-search-prev-history" },
	{ "\\eOA", "ed-search-prev-history" },
	{ "\\e[B", "ed-search-next-history" },
	{ "\\eOB", "ed-search-next-history" },
	{ "\\e[3~", "ed-delete-next-char" },
	{ "\\e[H", "ed-move-to-beg" },
	{ "\\eOH", "ed-move-to-beg" },
	{ "\\e[1~", "ed-move-to-beg" },
	{ "\\e[F", "ed-move-to-end" },
	{ "\\eOF", "ed-move-to-end" },
	{ "\\e[4~", "ed-move-to-end" },
	{ "\\e[1;5C", "em-next-word" },
	{ "\\e[1;5D", "ed-prev-word" },
};

/* ---- life ---- */

/* Without a locale of the user's, text is UTF-8 as everywhere. */
static void choose_locale(void)
{
	if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		(void)setlocale(LC_CTYPE, "C.UTF-8");
}

struct editor *editor_new(int signals)
{
	struct editor *e = calloc(1, sizeof(*e));
	HistEvent event;

	if (!e)
		return NULL;
	choose_locale();
	e->signals = signals;
	const char *terminal = getenv("TERM");
	e->dumb = !terminal || !*terminal || strcmp(terminal, "dumb") == 0;
	e->el = el_init("hotcell", stdin, stdout, stderr);
	e->history = history_init();
	if (!e->el || !e->history) {
		editor_free(e);
		return NULL;
	}
	history(e->history, &event, H_SETSIZE, HISTORY_MAX);
	el_set(e->el, EL_CLIENTDATA, e);
	el_set(e->el, EL_PROMPT, prompt_of);
	el_set(e->el, EL_EDITOR, "emacs");
	el_set(e->el, EL_GETCFN, read_character);
	el_set(e->el, EL_HIST, history, e->history);
	el_set(e->el, EL_SETTY, "-d", "-isig", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		el_wset(e->el, EL_ADDFN, functions[i].name, functions[i].help, functions[i].run);
	for (size_t i = 0; i < ARRAY_SIZE(bindings); i++)
		el_set(e->el, EL_BIND, bindings[i].key, bindings[i].function, NULL);
	return e;
}

void editor_free(struct editor *e)
{
	if (!e)
		return;
	if (e->el)
		el_end(e->el);
	if (e->history)
		history_end(e->history);
	free(e->line);
	free(e);
}

void editor_add(struct editor *e, const char *entry)
{
	HistEvent event;

	history(e->history, &event, H_ENTER, entry);
}

static void let_window_signals(bool through)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGTSTP);
	sigprocmask(through ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
}

enum edit editor_read(struct editor *e, const char *prompt, const char **ret, int *ret_signal)
{
	const char *line;
	int size = 0;

	e->prompt = prompt;
	e->end = EDIT_END;
	e->decoding = (mbstate_t){ 0 };
	let_window_signals(false);
	el_resize(e->el);
	/* Before the prompt, not with the first key: what is typed at once is for us. */
	el_set(e->el, EL_PREP_TERM, 1);
	let_paste(e, true);
	line = el_gets(e->el, &size);
	let_paste(e, false);
	let_window_signals(true);
	if (!line || size <= 0) {
		if (e->end == EDIT_CLEARED)
			say("^C");
		say("\n");
		*ret_signal = e->signal;
		return e->end;
	}
	free(e->line);
	e->line = strndup(line, (size_t)size - (line[size - 1] == '\n'));
	*ret = e->line;
	return e->line ? EDIT_LINE : EDIT_END;
}
