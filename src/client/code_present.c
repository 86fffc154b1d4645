#include "client/code_present.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text.h"
#include "base/util.h"
#include "client/clean.h"
#include "client/client.h"
#include "client/code_chart.h"
#include "client/table.h"

#define NOTE_SIZE (PATH_MAX + 512)

void presenter_init(struct presenter *p)
{
	*p = (struct presenter){ .status = -1 };
	buffer_init(&p->line, PRESENTER_LINE_MAX);
}

void presenter_fini(struct presenter *p)
{
	buffer_fini(&p->line);
}

void presenter_begin(struct presenter *p)
{
	buffer_clear(&p->line);
	p->skipping = p->failed = p->ended = false;
	p->status = -1;
}

/* ---- output ---- */

/* Who no longer reads is noticed once. */
static void put(struct presenter *p, const char *text, size_t size)
{
	if (p->lost || size == 0)
		return;
	p->lost = -io_write_all(STDOUT_FILENO, text, size);
	p->open_line = text[size - 1] != '\n';
}

static void end_line(struct presenter *p)
{
	if (p->open_line)
		put(p, "\n", 1);
}

/* A line about a result. */
__attribute__((format(printf, 2, 3))) static void note(struct presenter *p, const char *format, ...)
{
	char line[NOTE_SIZE];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	clean_text(line);
	end_line(p);
	put(p, line, strlen(line));
	end_line(p);
}

/* Changes the text, which belongs to the JSON of this line alone. */
static void put_text(struct presenter *p, const json_t *text)
{
	char *s = (char *)(uintptr_t)json_string_value(text);
	size_t size = clean_lines(s, json_string_length(text));

	end_line(p);
	put(p, s, size);
	end_line(p);
}

/* ---- results ---- */

/* The first bytes of a result's text say nothing: "<Figure size 640x480 with 1 Axes>". */
static bool is_opaque(const json_t *text)
{
	const char *s = json_string_value(text);
	size_t size = json_string_length(text);

	return size > 1 && s[0] == '<' && s[size - 1] == '>' && !memchr(s, '\n', size);
}

static void save_image(struct presenter *p, const struct image_kind *kind, const json_t *data,
		       bool first, const char *about)
{
	char name[PATH_MAX];
	struct error err;

	int r = images_save(&p->images, kind, first, (char *)(uintptr_t)json_string_value(data),
			    json_string_length(data), name, &err);
	if (r < 0) {
		end_line(p);
		client_fail(&err);
		p->unsaved = true;
		return;
	}
	note(p, "[%s%s%s]", name, *about ? ": " : "", about);
}

/* Every image of the result; false: it has none. */
static bool show_images(struct presenter *p, const json_t *result)
{
	char about[512] = "";
	struct text t = TEXT_INIT(about);
	const struct image_kind *kind;
	bool any = false;

	chart_describe(json_object_get(result, "chart"), &t);
	for (size_t i = 0; (kind = image_kind_at(i)); i++) {
		const json_t *data = json_object_get(result, kind->field);
		if (!json_is_string(data))
			continue;
		save_image(p, kind, data, !any, any ? "" : about);
		any = true;
	}
	if (!any && *about)
		note(p, "[%s]", about);
	return any || *about;
}

static void show_json(struct presenter *p, const json_t *value)
{
	char *text = json_dumps(value, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);

	end_line(p);
	if (text)
		put(p, text, strlen(text));
	free(text);
	end_line(p);
}

/* What can only be named here. */
static bool mention(struct presenter *p, const json_t *result)
{
	static const char *const fields[] = { "html", "javascript" };
	const json_t *extra = json_object_get(result, "extra");
	const char *type = json_object_iter_key(json_object_iter((json_t *)(uintptr_t)extra));

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const json_t *value = json_object_get(result, fields[i]);
		char size[16];
		if (!json_is_string(value))
			continue;
		format_bytes(size, sizeof(size), (double)json_string_length(value));
		note(p, "[%s, %s: --json prints it]", fields[i], size);
		return true;
	}
	if (type)
		note(p, "[%.100s: --json prints it]", type);
	return type != NULL;
}

/* The form of a result that says most on a terminal, when no image was saved. */
static bool show_readable(struct presenter *p, const json_t *result)
{
	static const char *const fields[] = { "markdown", "latex" };
	const json_t *json = json_object_get(result, "json");

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const json_t *value = json_object_get(result, fields[i]);
		if (!json_is_string(value))
			continue;
		put_text(p, value);
		return true;
	}
	if (json && !json_is_null(json)) {
		show_json(p, json);
		return true;
	}
	return mention(p, result);
}

static void on_result(struct presenter *p, const json_t *o)
{
	const json_t *text = json_object_get(o, "text");
	bool has_text = json_is_string(text) && json_string_length(text) > 0;
	char label[32] = "";

	if (p->numbered && json_is_true(json_object_get(o, "is_main_result")))
		snprintf(label, sizeof(label), "Out[%llu]: ", (unsigned long long)p->number);
	bool shown = show_images(p, o);
	if (!has_text || is_opaque(text))
		shown = shown || show_readable(p, o);
	if (!has_text || (shown && is_opaque(text)))
		return;
	end_line(p);
	put(p, label, strlen(label));
	if (*label && memchr(json_string_value(text), '\n', json_string_length(text)))
		put(p, "\n", 1);
	p->open_line = false; /* the label's own line goes on */
	put_text(p, text);
}

/* ---- errors ---- */

/* Errors by which drivers say that code asked for an exit status, or what a script ended with. */
static const struct exit_kind {
	const char *name;
	const char *before, *behind; /* the number in the value */
} exits[] = {
	{ "SystemExit", "", "" },
	{ "ExitStatus", "", "" },
	{ "ExitError", "process.exit(", ")" },
};

static const struct exit_kind *exit_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(exits); i++) {
		if (strcmp(exits[i].name, name) == 0)
			return &exits[i];
	}
	return NULL;
}

/* False: it is an error like others. */
static bool take_exit(struct presenter *p, const char *name, const char *value)
{
	const struct exit_kind *k = exit_of(name);
	char *end;

	if (p->session || !k || strncmp(value, k->before, strlen(k->before)) != 0)
		return false;
	long number = strtol(value + strlen(k->before), &end, 10);
	if (strcmp(end, k->behind) != 0 && strcmp(value, "None") != 0)
		return false;
	p->status = (int)(number & 0xff);
	p->failed = false;
	return true;
}

static void put_error(const char *text, size_t size)
{
	(void)io_write_all(STDERR_FILENO, text, size);
	if (size && text[size - 1] != '\n')
		(void)io_write_all(STDERR_FILENO, "\n", 1);
}

/* What an error is without a traceback. */
static void put_name(const char *name, const char *value)
{
	char line[1024];

	if (exit_of(name))
		snprintf(line, sizeof(line), "[status %.100s]", value);
	else
		snprintf(line, sizeof(line), "%.200s%s%.800s", name, *value ? ": " : "", value);
	put_error(line, clean_lines(line, strlen(line)));
}

static void on_error(struct presenter *p, const json_t *o)
{
	const json_t *trace = json_object_get(o, "traceback");
	const char *name = json_string_value(json_object_get(o, "name"));
	const char *value = json_string_value(json_object_get(o, "value"));

	p->failed = true;
	name = name ? name : "Error";
	value = value ? value : "";
	if (take_exit(p, name, value))
		return;
	end_line(p);
	if (json_string_length(trace) > 0) {
		char *text = (char *)(uintptr_t)json_string_value(trace);
		put_error(text, clean_lines(text, json_string_length(trace)));
	} else {
		put_name(name, value);
	}
}

/* ---- lines ---- */

static void on_stdout(struct presenter *p, const json_t *o)
{
	const json_t *text = json_object_get(o, "text");

	put(p, json_string_value(text), json_string_length(text));
}

static void on_stderr(struct presenter *p, const json_t *o)
{
	const json_t *text = json_object_get(o, "text");

	if (json_string_length(text) > 0)
		(void)io_write_all(STDERR_FILENO, json_string_value(text),
				   json_string_length(text));
}

static void on_number(struct presenter *p, const json_t *o)
{
	p->number = (uint64_t)json_integer_value(json_object_get(o, "execution_count"));
}

static void on_end(struct presenter *p, const json_t *o)
{
	p->ended = true;
	if (p->session)
		end_line(p);
}

/* With --json errors and ends are noticed, nothing is shown but the lines. */
static void on_quiet_error(struct presenter *p, const json_t *o)
{
	const char *name = json_string_value(json_object_get(o, "name"));
	const char *value = json_string_value(json_object_get(o, "value"));

	p->failed = true;
	(void)take_exit(p, name ? name : "", value ? value : "");
}

static const struct line_kind {
	const char *type;
	void (*show)(struct presenter *p, const json_t *o);
	void (*quiet)(struct presenter *p, const json_t *o); /* with --json; NULL = nothing */
} kinds[] = {
	{ "stdout", on_stdout, NULL },
	{ "stderr", on_stderr, NULL },
	{ "result", on_result, NULL },
	{ "error", on_error, on_quiet_error },
	{ "number_of_executions", on_number, on_number },
	{ "end_of_execution", on_end, on_end },
};

/* Numbers of any size are JSON, but not for the parser: then they are taken as floating point. */
static json_t *parse(const char *line, size_t size)
{
	json_t *o = json_loadb(line, size, JSON_ALLOW_NUL, NULL);

	return o ? o : json_loadb(line, size, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
}

/* As it came, in ASCII, whoever sent it. */
static void put_line(struct presenter *p, char *line, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (line[i] < ' ' || line[i] > '~')
			line[i] = '?';
	}
	put(p, line, size);
	put(p, "\n", 1);
}

static void on_line(struct presenter *p, char *line, size_t size)
{
	json_t *o = parse(line, size);
	const char *type = json_string_value(json_object_get(o, "type"));

	for (size_t i = 0; type && i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i].type, type) != 0)
			continue;
		if (p->json)
			put_line(p, line, size);
		if (!p->json)
			kinds[i].show(p, o);
		else if (kinds[i].quiet)
			kinds[i].quiet(p, o);
	}
	if (!type && !p->json)
		note(p, "[a result that cannot be shown here: --json prints it]");
	else if (!type)
		put_line(p, line, size);
	json_decref(o);
}

static void skip_line(struct presenter *p)
{
	struct error err;

	if (!p->skipping) {
		error_set(&err, 0, "left out: a result of more than %u MB",
			  PRESENTER_LINE_MAX >> 20);
		end_line(p);
		client_fail(&err);
	}
	p->skipping = true;
	buffer_clear(&p->line);
}

void presenter_take(struct presenter *p, const char *data, size_t size)
{
	const char *end = data + size;

	while (data < end) {
		const char *stop = memchr(data, '\n', (size_t)(end - data));
		size_t piece = (size_t)((stop ? stop : end) - data);
		if (!p->skipping && buffer_append(&p->line, data, piece) < 0)
			skip_line(p);
		if (stop && !p->skipping && p->line.size)
			on_line(p, (char *)p->line.data, p->line.size);
		if (stop) {
			p->skipping = false;
			buffer_clear(&p->line);
		}
		data += piece + (stop ? 1 : 0);
	}
}
