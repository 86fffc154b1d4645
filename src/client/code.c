/* `hotcell code`: options, and the code of a file. code.h says what else it is made of. */
#include "client/code.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "codec/utf8.h"

/* ---- the code ---- */

static const struct {
	const char *extension, *language;
} extensions[] = {
	{ "py", "python" },	 { "js", "javascript" }, { "mjs", "javascript" },
	{ "cjs", "javascript" }, { "ts", "typescript" }, { "mts", "typescript" },
	{ "sh", "bash" },	 { "bash", "bash" },	 { "r", "r" },
	{ "java", "java" },	 { "jsh", "java" },
};

static const char *language_of_file(const char *name)
{
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(extensions); i++) {
		if (strcasecmp(dot + 1, extensions[i].extension) == 0)
			return extensions[i].language;
	}
	return NULL;
}

static bool is_utf8(const struct buffer *b)
{
	struct utf8_state s = { 0 };
	uint32_t c;
	bool again;

	for (size_t i = 0; i < b->size; i++) {
		if (b->data[i] == '\0' || utf8_step(&s, b->data[i], &c, &again) < 0)
			return false;
	}
	return s.left == 0;
}

static int read_code(const char *name, struct buffer *b, struct error *err)
{
	static char piece[65536];
	bool standard = strcmp(name, "-") == 0;
	AUTO_CLOSE int fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
				     : open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;

	if (fd < 0)
		return error_set(err, errno, "%.300s", name);
	name = standard ? "standard input" : name;
	while (n > 0) {
		n = read(fd, piece, sizeof(piece));
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n < 0)
			return error_set(err, errno, "%.300s", name);
		else if (buffer_append(b, piece, (size_t)n) < 0)
			return error_set(err, 0, "%.300s is longer than %u MB", name,
					 CODE_MAX >> 20);
	}
	return is_utf8(b) ? 0 : error_set(err, 0, "%.300s is not UTF-8 text", name);
}

/* Only a comment where '#' begins one; so that lines keep their numbers it becomes one elsewhere. */
static void mend_first_line(const struct language *l, struct buffer *b)
{
	static const char *const slashes[] = { "javascript", "typescript", "java" };

	for (size_t i = 0; i < ARRAY_SIZE(slashes); i++) {
		if (strcmp(l->name, slashes[i]) == 0 && b->size > 2 &&
		    memcmp(b->data, "#!", 2) == 0)
			memcpy(b->data, "//", 2);
	}
}

/* ---- the verb ---- */

static int choose_language(struct code *c, const char *file, struct error *err)
{
	const char *wanted = c->o->language;

	if (!wanted && file && strcmp(file, "-") != 0) {
		wanted = language_of_file(file);
		if (!wanted)
			return error_set(err, 0,
					 "%.200s: its name does not say in which language it is; "
					 "--lang does",
					 file);
	}
	if (!language_find(wanted, &c->name, &c->language))
		return error_set(err, 0, "--lang: '%.100s' is not the name of a language", wanted);
	return 0;
}

static int choose_backend(struct code *c, struct error *err)
{
	if (!c->o->sandbox && (c->o->context || c->o->url || c->o->key || c->o->ca))
		return error_set(err, 0, "--%s needs --sandbox",
				 c->o->context ? "context"
				 : c->o->url   ? "url"
				 : c->o->key   ? "key"
					       : "ca");
	c->backend = c->o->sandbox ? &backend_remote : &backend_local;
	return c->o->sandbox ? client_find_server(c->o, err) : 0;
}

static int check_output(const struct client_options *o, struct error *err)
{
	struct stat st;

	if (!o->output)
		return 0;
	if (stat(o->output, &st) < 0)
		return error_set(err, errno, "--output: %.300s", o->output);
	return S_ISDIR(st.st_mode) ? 0 : error_set(err, ENOTDIR, "--output: %.300s", o->output);
}

static int status_of(const struct code *c)
{
	if (c->stopped_by)
		return 128 + c->stopped_by;
	if (c->presenter.lost == EPIPE)
		return 128 + SIGPIPE;
	if (c->interrupted)
		return 128 + SIGINT;
	if (c->status)
		return c->status;
	if (c->presenter.status >= 0)
		return c->presenter.status;
	if (c->presenter.failed)
		return CODE_ERROR;
	return c->presenter.unsaved ? CODE_FAILED : 0;
}

static int execute_file(struct code *c, struct buffer *b)
{
	struct error err;

	presenter_begin(&c->presenter);
	int r = c->backend->execute(c, b->data ? (char *)b->data : "", b->size, &err);
	if (r < 0)
		client_fail(&err);
	if (c->presenter.lost && c->presenter.lost != EPIPE) {
		error_set(&err, c->presenter.lost, "standard output");
		client_fail(&err);
		r = -1;
	}
	return r < 0 ? CODE_FAILED : status_of(c);
}

/* From the options to the exit status, when all of them make sense. */
static int run_with(struct code *c, struct buffer *b, bool session, struct error *err)
{
	c->signals = signals_open();
	if (c->signals < 0)
		return error_set(err, errno, "signalfd");
	int r = c->backend->start(c, err);
	if (r == 0)
		r = session ? session_run(c) : execute_file(c, b);
	c->backend->stop(c);
	if (r < 0 && c->stopped_by)
		return 128 + c->stopped_by;
	return r < 0 && c->interrupted ? 128 + SIGINT : r;
}

static int run_code(struct client_options *o)
{
	static struct code c;
	const char *file = o->count ? o->arguments[0] : NULL;
	bool session = !file && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	struct buffer text;
	struct error err;

	c.o = o;
	presenter_init(&c.presenter);
	c.presenter.json = o->json;
	c.presenter.images.directory = o->output;
	buffer_init(&text, CODE_MAX);
	int r = choose_language(&c, file, &err);
	if (r == 0)
		r = choose_backend(&c, &err);
	if (r == 0)
		r = check_output(o, &err);
	if (r == 0 && !session)
		r = read_code(file ? file : "-", &text, &err);
	if (r == 0) {
		mend_first_line(&c.language, &text);
		r = run_with(&c, &text, session, &err);
	}
	presenter_fini(&c.presenter);
	buffer_fini(&text);
	if (r < 0)
		client_fail(&err);
	return r < 0 ? CODE_FAILED : r;
}

/* ---- options ---- */

#define AT(member) offsetof(struct client_options, member)

/* clang-format off */
#define PASSED(option, short_name, tag, what, text)                                                \
	{ .name = option, .letter = short_name, .kind = OPTION_LIST, .offset = AT(passed),         \
	  .value = tag, .metavar = what, .help = text }

static const struct option_spec code_options[] = {
	{ .name = "lang", .letter = 'l', .kind = OPTION_TEXT, .offset = AT(language),
	  .metavar = "NAME", .shown = "by the file's name, else python",
	  .help = "python, javascript, typescript, bash, r, java, or a\n"
		  "Jupyter kernel that is installed" },
	{ .name = "output", .letter = 'o', .kind = OPTION_TEXT, .offset = AT(output),
	  .metavar = "DIR", .shown = "the current directory",
	  .help = "where images are saved, as figure-N.png; never over a\n"
		  "file that is there" },
	{ .name = "json", .kind = OPTION_FLAG, .offset = AT(json), .value = 1,
	  .help = "print one JSON object per line instead: what was\n"
		  "printed, results with all their forms, errors" },
	PASSED("env", 'e', PASSED_ENV, "K[=V]", "set a variable; without =V the caller's value"),
	PASSED("workdir", 'w', PASSED_WORKDIR, "DIR", "working directory inside"),
	PASSED("user", 'u', PASSED_COUNT, "NAME", "user inside"),
	PASSED("template", 0, PASSED_COUNT + 1, "NAME", "root file system"),
	PASSED("memory", 'm', PASSED_COUNT + 2, "SIZE", "memory limit"),
	PASSED("cpus", 0, PASSED_COUNT + 3, "N", "CPU limit, e.g. 0.5"),
	PASSED("pids", 0, PASSED_COUNT + 4, "N", "limit of processes and threads"),
	PASSED("disk", 0, PASSED_COUNT + 5, "SIZE", "limit of file data written in the sandbox"),
	PASSED("store", 0, PASSED_COUNT + 6, "DIR", "keep that data in a private directory in DIR"),
	PASSED("files", 0, PASSED_COUNT + 7, "N", "limit of open files"),
	PASSED("timeout", 0, PASSED_COUNT + 8, "TIME", "end the sandbox after this time"),
	PASSED("ro", 0, PASSED_COUNT + 9, "HOST:GUEST", "show a file or directory, read-only"),
	PASSED("rw", 0, PASSED_COUNT + 10, "HOST:GUEST", "the same, changes are real"),
	PASSED("cow", 0, PASSED_COUNT + 11, "HOST:GUEST", "the same, changes stay in the sandbox"),
	PASSED("hostname", 0, PASSED_COUNT + 12, "NAME", "host name inside"),
	{ .name = "sandbox", .letter = 's', .kind = OPTION_TEXT, .offset = AT(sandbox),
	  .metavar = "ID", .shown = "one is made, and ends with the code",
	  .help = "run it in this sandbox of a server; of the options\n"
		  "above --env and --workdir mean something then" },
	{ .name = "context", .kind = OPTION_TEXT, .offset = AT(context), .metavar = "ID",
	  .shown = "the sandbox's of the language", .help = "in this context of it" },
	CLIENT_COMMON,
};
/* clang-format on */

const char *code_option_name(int tag)
{
	for (size_t i = 0; i < ARRAY_SIZE(code_options); i++) {
		if (code_options[i].offset == AT(passed) && code_options[i].value == tag)
			return code_options[i].name;
	}
	return "";
}

const struct client_verb verb_code = {
	.name = "code",
	.usage = "[OPTIONS] [FILE|-]",
	.help = "Runs code of an interpreter in a sandbox: a file, standard input, or, on a terminal, a session\n"
		"that keeps its state. Prints what the code prints, and the value of its last expression.\n"
		"The current directory is /work inside; the host's files stay as they are.\n\n"
		"Exit status: 0; 1 when the code ended with an error, or its exit status (sys.exit(), shell);\n"
		"125 when Hotcell failed, 130 when it was interrupted, 137 when Hotcell ended the sandbox.",
	.options = code_options,
	.option_count = ARRAY_SIZE(code_options),
	.max_arguments = 1,
	.run = run_code,
	.offline = true,
	.failure = CODE_FAILED,
};
