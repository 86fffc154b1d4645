/*
 * Events of a driver made into lines; stream.h has the states.
 *
 * Two layers: frame_parse() finds frames, and one row of `rules` per frame name says when it is allowed
 * and what it does. A result or error is one line that stays open from its frame to `close`. Text goes
 * through it as it comes, so that a driver may send a gigabyte of HTML and nobody holds it. JSON is
 * embedded in the line, so it must be proven whole first: it is held, as are the parts that belong to
 * `extra`, which is one object at the line's end. What does not fit into the bounds is left out, and the
 * line is complete without it.
 *
 * Outside of an execution a thread that the user left behind may print or display: that is nobody's, and
 * dropped. Everything else that is not allowed ends the driver.
 */
#include "interpreter/stream.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/jsontext.h"
#include "codec/time.h"
#include "interpreter/frame.h"
#include "interpreter/hold.h"
#include "interpreter/line.h"
#include "interpreter/part.h"

#define FAILED_TEXT_MAX 2000
#define EXTRA_PARTS_MAX 32

enum state { STARTING, IDLE, EXECUTING, FINISHING, DEAD };

/* What the content of the frame at hand is for. */
enum content {
	CONTENT_DROP,
	CONTENT_NONE, /* there must not be any */
	CONTENT_PRINT,
	CONTENT_REASON,
	CONTENT_TEXT, /* into the open line */
	CONTENT_HOLD,
};

enum object { OBJECT_NONE, OBJECT_RESULT, OBJECT_ERROR, OBJECT_DROPPED };

struct stream {
	const struct stream_events *events;
	void *ctx;
	enum state state;
	struct frame_parser frames;
	struct line line;
	struct utf8_state pipes[2]; /* characters that are split between two reads */

	uint64_t id;
	bool counted;

	enum object object;
	uint32_t parts; /* the rows of part_kinds[] that were there */
	unsigned int extra_parts;

	enum content content;
	bool is_stderr;
	int part; /* row of CONTENT_TEXT and CONTENT_HOLD, -1 = of extra */
	char type[FRAME_HEADER_MAX + 1];
	struct hold print, held, extra;
	struct stream_budget own; /* of `print`, which has its bound and takes from nobody */
	void (*at_end)(struct stream *s); /* when the frame is complete; NULL = nothing */
};

/* ---- printed text ---- */

/* state: a character that may go on in the next text; NULL = this text is complete. */
static void print_line(struct stream *s, struct utf8_state *state, bool is_stderr,
		       const uint8_t *data, size_t size)
{
	char now[TIME_TEXT_SIZE];

	time_format(time_now_us(), now);
	line_raw(&s->line, is_stderr ? "{\"type\":\"stderr\",\"text\":\""
				     : "{\"type\":\"stdout\",\"text\":\"");
	if (state)
		s->line.utf8 = *state;
	line_text(&s->line, data, size);
	if (state)
		*state = s->line.utf8;
	else
		line_text_end(&s->line);
	s->line.utf8 = (struct utf8_state){ 0 };
	line_raw(&s->line, "\",\"timestamp\":\"");
	line_raw(&s->line, now);
	line_raw(&s->line, "\"}\n");
}

/* The last place in a text where it can be cut without cutting a character. */
static size_t cut_at(const uint8_t *data, size_t size)
{
	size_t n = size;

	while (n > 1 && size - n < 4 && (data[n - 1] & 0xc0) == 0x80)
		n--;
	return n > 1 && data[n - 1] >= 0xc0 ? n - 1 : size;
}

static void print_held(struct stream *s, size_t size)
{
	size_t rest = s->print.size - size;

	print_line(s, NULL, s->is_stderr, s->print.data, size);
	memmove(s->print.data, s->print.data + size, rest);
	s->print.size = rest;
}

static int take_print(struct stream *s, const uint8_t *data, size_t size)
{
	while (size) {
		size_t n = INTERPRETER_TEXT_MAX - s->print.size;
		n = n < size ? n : size;
		int r = hold_add(&s->print, data, n, INTERPRETER_TEXT_MAX);
		if (r < 0)
			return r;
		data += n;
		size -= n;
		if (s->print.size == INTERPRETER_TEXT_MAX)
			print_held(s, cut_at(s->print.data, s->print.size));
	}
	return 0;
}

static void end_print(struct stream *s)
{
	if (s->print.size)
		print_line(s, NULL, s->is_stderr, s->print.data, s->print.size);
	hold_clear(&s->print);
}

void stream_print(struct stream *s, bool is_stderr, const uint8_t *data, size_t size)
{
	if (!stream_is_executing(s) || !size)
		return;
	assert(!stream_is_open(s));
	for (size_t at = 0; at < size; at += INTERPRETER_TEXT_MAX) {
		size_t n = size - at < INTERPRETER_TEXT_MAX ? size - at : INTERPRETER_TEXT_MAX;
		print_line(s, &s->pipes[is_stderr], is_stderr, data + at, n);
	}
	line_flush(&s->line);
}

static void end_pipes(struct stream *s)
{
	for (int i = 0; i < 2; i++) {
		if (s->pipes[i].left)
			print_line(s, NULL, i, (const uint8_t *)"\xff", 1);
		s->pipes[i] = (struct utf8_state){ 0 };
	}
}

/* ---- results and errors: one open line ---- */

static int begin_result(struct stream *s, const char *kind)
{
	bool main = strcmp(kind, "main") == 0;

	if (!main && strcmp(kind, "display") != 0)
		return -EBADMSG;
	s->object = s->state == EXECUTING ? OBJECT_RESULT : OBJECT_DROPPED;
	s->parts = 0;
	s->extra_parts = 0;
	if (s->object == OBJECT_RESULT)
		line_raw(&s->line, main ? "{\"type\":\"result\",\"is_main_result\":true"
					: "{\"type\":\"result\",\"is_main_result\":false");
	return 0;
}

static int begin_error(struct stream *s, const char *argument)
{
	s->object = s->state == EXECUTING ? OBJECT_ERROR : OBJECT_DROPPED;
	s->parts = 0;
	if (s->object == OBJECT_ERROR)
		line_raw(&s->line, "{\"type\":\"error\"");
	return 0;
}

static void put_field(struct line *l, const char *field)
{
	line_raw(l, ",\"");
	line_raw(l, field);
	line_raw(l, "\":");
}

static void end_text(struct stream *s)
{
	line_text_end(&s->line);
	line_raw(&s->line, "\"");
}

/* A held part is complete: a field of the line, or of `extra`. */
static void end_held(struct stream *s)
{
	bool is_json = s->part >= 0 || part_form_of(s->type) == PART_JSON;

	if (is_json && !jsontext_valid(s->held.data, s->held.size)) {
		hold_clear(&s->held);
		return;
	}
	if (s->part >= 0) {
		put_field(&s->line, part_kinds[s->part].field);
		line_json(&s->line, s->held.data, s->held.size);
	} else if (hold_add_extra(&s->extra, s->type, is_json, &s->held, INTERPRETER_JSON_MAX) ==
		   0) {
		s->extra_parts++;
	}
	hold_clear(&s->held);
}

static int begin_part(struct stream *s, const char *type, uint64_t size)
{
	if (s->object == OBJECT_NONE)
		return -EBADMSG;
	s->content = CONTENT_DROP;
	if (s->object == OBJECT_DROPPED)
		return 0;
	s->part = part_find(type, s->object == OBJECT_ERROR);
	if (s->part < 0 && s->object == OBJECT_ERROR)
		return -EBADMSG;
	if (s->part >= 0 && (s->parts & 1u << s->part))
		return -EBADMSG;
	if (s->part >= 0)
		s->parts |= 1u << s->part;
	if (s->part >= 0 && part_kinds[s->part].form == PART_TEXT) {
		put_field(&s->line, part_kinds[s->part].field);
		line_raw(&s->line, "\"");
		s->content = CONTENT_TEXT;
		s->at_end = end_text;
		return 0;
	}
	if (size > INTERPRETER_JSON_MAX || (s->part < 0 && s->extra_parts >= EXTRA_PARTS_MAX))
		return 0;
	snprintf(s->type, sizeof(s->type), "%s", type);
	s->content = CONTENT_HOLD;
	s->at_end = end_held;
	return 0;
}

/* Out of memory or over the budget: this part is left out. */
static int take_held(struct stream *s, const uint8_t *data, size_t size)
{
	if (hold_add(&s->held, data, size, INTERPRETER_JSON_MAX) == 0)
		return 0;
	hold_clear(&s->held);
	s->content = CONTENT_DROP;
	s->at_end = NULL;
	return 0;
}

static void finish_object(struct stream *s)
{
	if (s->object == OBJECT_ERROR) {
		for (int i = 0; i < PART_KINDS; i++) {
			if (part_kinds[i].of_error && !(s->parts & 1u << i)) {
				put_field(&s->line, part_kinds[i].field);
				line_raw(&s->line, "\"\"");
			}
		}
	} else if (s->object == OBJECT_RESULT && s->extra.size) {
		put_field(&s->line, "extra");
		line_raw(&s->line, "{");
		line_json(&s->line, s->extra.data, s->extra.size);
		line_raw(&s->line, "}");
	}
	if (s->object != OBJECT_DROPPED)
		line_raw(&s->line, "}\n");
	hold_clear(&s->extra);
	s->object = OBJECT_NONE;
}

static int close_object(struct stream *s, const char *argument)
{
	if (s->object == OBJECT_NONE)
		return -EBADMSG;
	finish_object(s);
	return 0;
}

/* ---- the other events ---- */

static bool parse_number(const char *text, uint64_t *ret)
{
	size_t size = strlen(text);

	if (!size || size > 15 || strspn(text, "0123456789") != size)
		return false;
	*ret = strtoull(text, NULL, 10);
	return true;
}

static int take_count(struct stream *s, const char *argument)
{
	char text[80];
	uint64_t n;

	if (s->counted || !parse_number(argument, &n))
		return -EBADMSG;
	s->counted = true;
	snprintf(text, sizeof(text),
		 "{\"type\":\"number_of_executions\",\"execution_count\":%llu}\n",
		 (unsigned long long)n);
	line_raw(&s->line, text);
	return 0;
}

static void say_ready(struct stream *s)
{
	s->state = IDLE;
	s->events->ready(s->ctx);
}

static void say_done(struct stream *s)
{
	s->state = FINISHING;
	line_flush(&s->line);
	s->events->done(s->ctx);
}

static void say_failed(struct stream *s)
{
	char text[FAILED_TEXT_MAX + 1];

	for (size_t i = 0; i < s->held.size; i++) {
		uint8_t c = s->held.data[i];
		text[i] = c == '\n' ? ' ' : c < ' ' || c > '~' ? '?' : (char)c;
	}
	text[s->held.size] = '\0';
	hold_clear(&s->held);
	s->state = DEAD;
	s->events->failed(s->ctx, text);
}

static int take_ready(struct stream *s, const char *argument)
{
	s->at_end = say_ready;
	return 0;
}

static int take_done(struct stream *s, const char *argument)
{
	uint64_t id;

	if (!parse_number(argument, &id) || id != s->id)
		return -EBADMSG;
	s->at_end = say_done;
	return 0;
}

static int take_reason(struct stream *s, const uint8_t *data, size_t size)
{
	size_t room = FAILED_TEXT_MAX - s->held.size;

	return hold_add(&s->held, data, size < room ? size : room, FAILED_TEXT_MAX);
}

static int begin_failed(struct stream *s, const char *argument)
{
	s->content = CONTENT_REASON;
	s->at_end = say_failed;
	return 0;
}

static int begin_print(struct stream *s, bool is_stderr)
{
	bool wanted = s->state == EXECUTING;

	s->is_stderr = is_stderr;
	s->content = wanted ? CONTENT_PRINT : CONTENT_DROP;
	s->at_end = wanted ? end_print : NULL;
	return 0;
}

static int begin_stdout(struct stream *s, const char *argument)
{
	return begin_print(s, false);
}

static int begin_stderr(struct stream *s, const char *argument)
{
	return begin_print(s, true);
}

/* ---- frames ---- */

#define IN(state) (1u << (state))

/* One row per frame but `part`, which depends on its size. */
static const struct rule {
	const char *name;
	unsigned int states; /* in which it is allowed */
	int (*begin)(struct stream *s, const char *argument);
} rules[] = {
	{ "ready", IN(STARTING), take_ready },
	{ "failed", IN(STARTING), begin_failed },
	{ "count", IN(EXECUTING), take_count },
	{ "stdout", IN(STARTING) | IN(IDLE) | IN(EXECUTING), begin_stdout },
	{ "stderr", IN(STARTING) | IN(IDLE) | IN(EXECUTING), begin_stderr },
	{ "result", IN(IDLE) | IN(EXECUTING), begin_result },
	{ "error", IN(IDLE) | IN(EXECUTING), begin_error },
	{ "close", IN(IDLE) | IN(EXECUTING), close_object },
	{ "done", IN(EXECUTING), take_done },
};

static const struct rule *rule_of(const struct stream *s, const char *name)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (strcmp(rules[i].name, name) != 0)
			continue;
		/* Nothing but parts and its end inside of a result. */
		bool inside = s->object != OBJECT_NONE;
		bool is_close = rules[i].begin == close_object;
		return rules[i].states & IN(s->state) && inside == is_close ? &rules[i] : NULL;
	}
	return NULL;
}

static int on_begin(void *ctx, const char *name, const char *argument, uint64_t size)
{
	struct stream *s = ctx;

	s->content = CONTENT_NONE;
	s->at_end = NULL;
	if (s->state == DEAD)
		return -EBADMSG;
	if (strcmp(name, "part") == 0)
		return begin_part(s, argument, size);
	const struct rule *rule = rule_of(s, name);
	int r = rule ? rule->begin(s, argument) : -EBADMSG;
	return r == 0 && s->content == CONTENT_NONE && size ? -EBADMSG : r;
}

static int on_data(void *ctx, const uint8_t *data, size_t size)
{
	struct stream *s = ctx;

	switch (s->content) {
	case CONTENT_DROP:
		return 0;
	case CONTENT_PRINT:
		return take_print(s, data, size);
	case CONTENT_REASON:
		return take_reason(s, data, size);
	case CONTENT_TEXT:
		line_text(&s->line, data, size);
		return 0;
	case CONTENT_HOLD:
		return take_held(s, data, size);
	case CONTENT_NONE:
		break;
	}
	return -EBADMSG;
}

static int on_end(void *ctx)
{
	struct stream *s = ctx;

	if (s->at_end)
		s->at_end(s);
	return 0;
}

int stream_feed(struct stream *s, const uint8_t *data, size_t size)
{
	static const struct frame_sink sink = { on_begin, on_data, on_end };
	int r = frame_parse(&s->frames, &sink, s, data, size);

	line_flush(&s->line);
	return r;
}

/* ---- executions ---- */

void stream_execute(struct stream *s, uint64_t id)
{
	assert(s->state == IDLE);
	s->state = EXECUTING;
	s->id = id;
	s->counted = false;
}

static void end_execution(struct stream *s)
{
	end_pipes(s);
	line_raw(&s->line, "{\"type\":\"end_of_execution\"}\n");
	line_flush(&s->line);
}

void stream_finish(struct stream *s)
{
	assert(s->state == FINISHING);
	end_execution(s);
	s->state = IDLE;
}

static void add_error(struct stream *s, const char *name, const char *value)
{
	line_raw(&s->line, "{\"type\":\"error\"");
	put_field(&s->line, "name");
	line_string(&s->line, name);
	put_field(&s->line, "value");
	line_string(&s->line, value);
	put_field(&s->line, "traceback");
	line_string(&s->line, value);
	line_raw(&s->line, "}\n");
}

void stream_end(struct stream *s, const char *name, const char *value)
{
	bool executing = stream_is_executing(s);

	if (executing && s->frames.in_content && s->content == CONTENT_TEXT)
		end_text(s);
	if (executing && s->frames.in_content && s->content == CONTENT_PRINT)
		end_print(s);
	if (executing && s->object != OBJECT_NONE)
		finish_object(s);
	if (executing && name)
		add_error(s, name, value);
	if (executing)
		end_execution(s);
	s->state = DEAD;
}

void stream_keepalive(struct stream *s)
{
	if (!stream_is_executing(s) || stream_is_open(s))
		return;
	line_raw(&s->line, "{\"type\":\"keepalive\"}\n");
	line_flush(&s->line);
}

bool stream_is_open(const struct stream *s)
{
	return s->object == OBJECT_RESULT || s->object == OBJECT_ERROR;
}

bool stream_is_ready(const struct stream *s)
{
	return s->state == IDLE;
}

bool stream_is_executing(const struct stream *s)
{
	return s->state == EXECUTING || s->state == FINISHING;
}

/* ---- life ---- */

/* Where nothing executes there is nobody to read it. */
static void forward(void *ctx, const char *data, size_t size)
{
	struct stream *s = ctx;

	if (stream_is_executing(s))
		s->events->output(s->ctx, data, size);
}

struct stream *stream_new(const struct stream_events *events, void *ctx,
			  struct stream_budget *budget)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->events = events;
	s->ctx = ctx;
	frame_parser_init(&s->frames);
	line_init(&s->line, forward, s);
	s->own.max = 2 * INTERPRETER_TEXT_MAX;
	hold_init(&s->print, &s->own);
	hold_init(&s->held, budget);
	hold_init(&s->extra, budget);
	return s;
}

void stream_free(struct stream *s)
{
	if (!s)
		return;
	hold_clear(&s->print);
	hold_clear(&s->held);
	hold_clear(&s->extra);
	free(s);
}
