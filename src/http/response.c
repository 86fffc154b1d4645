/* The response, as handlers make it. */
#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "codec/token.h"
#include "http/conn_internal.h"
#include "http/exchange_internal.h"

bool status_has_no_body(int status)
{
	return status < 200 || status == 204 || status == 304;
}

/* ---- fields ---- */

static struct out_field *new_field(struct http_exchange *x)
{
	if (x->out_count == HTTP_RESPONSE_FIELDS)
		return NULL;
	if (x->out_count == x->out_room) {
		size_t room = x->out_room ? x->out_room * 2 : 8;
		struct out_field *more = region_alloc(&x->region, room * sizeof(*more));
		if (!more)
			return NULL;
		if (x->out_count)
			memcpy(more, x->out_fields, x->out_count * sizeof(*more));
		x->out_fields = more;
		x->out_room = room;
	}
	return &x->out_fields[x->out_count];
}

/* A value from outside cannot end its field: no response splitting. */
static const char *clean_value(struct http_exchange *x, const char *value)
{
	char *copy = region_text(&x->region, value, strlen(value));
	for (char *p = copy; p && *p; p++)
		if (!char_is(*p, CHAR_VALUE))
			*p = ' ';
	return copy;
}

/* A response without a field for which there is no memory is better than none. */
void http_set(struct http_exchange *x, const char *name, const char *value)
{
	assert(!x->started);
	struct out_field *f = NULL;
	for (size_t i = 0; i < x->out_count && !f; i++)
		if (strcmp(x->out_fields[i].name, name) == 0)
			f = &x->out_fields[i];
	const char *copy = clean_value(x, value);
	bool found = f != NULL;
	f = f ? f : new_field(x);
	if (!f || !copy)
		return;
	*f = (struct out_field){ name, copy };
	x->out_count += !found;
}

void http_add(struct http_exchange *x, const char *name, const char *value)
{
	assert(!x->started);
	const char *name_copy = region_text(&x->region, name, strlen(name));
	const char *copy = clean_value(x, value);
	struct out_field *f = new_field(x);
	if (!f || !name_copy || !copy)
		return;
	*f = (struct out_field){ name_copy, copy };
	x->out_count++;
}

/* ---- whole responses ---- */

static void begin(struct http_exchange *x, int status, const char *content_type, uint64_t length)
{
	assert(!x->started && !x->dead && (status >= 200 || x->upgrade) && status < 600);
	if (content_type)
		http_set(x, "content-type", content_type);
	x->status = status;
	x->out_length = length;
	x->no_content = status_has_no_body(status);
	x->started = true;
}

static void finish(struct http_exchange *x)
{
	x->carrier->end(x);
	exchange_over(x, x->status);
}

void http_respond(struct http_exchange *x, int status, const char *content_type, const void *data,
		  size_t size)
{
	if (x->lost)
		return;
	begin(x, status, content_type, data ? size : 0);
	if (x->head_only || x->no_content || !data)
		size = 0;
	(void)x->carrier->head(x, data, size, true);
	finish(x);
}

void http_respond_json(struct http_exchange *x, int status, const json_t *value)
{
	char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	if (!text) {
		static const char why[] = "{\"code\":500,\"message\":\"out of memory\"}";
		http_respond(x, 500, "application/json", why, sizeof(why) - 1);
		return;
	}
	http_respond(x, status, "application/json", text, strlen(text));
	free(text);
}

void http_error(struct http_exchange *x, int status, const char *format, ...)
{
	char message[1024];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	json_t *value = json_pack("{s:i,s:s}", "code", status, "message", message);
	/* What is no UTF-8, or was cut inside a character, must not cost the whole message. */
	for (char *p = message; !value && *p; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	if (!value)
		value = json_pack("{s:i,s:s}", "code", status, "message", message);
	http_respond_json(x, status, value);
	json_decref(value);
}

/* ---- streamed responses ---- */

void http_start(struct http_exchange *x, int status, const char *content_type, uint64_t length)
{
	if (x->lost)
		return;
	begin(x, status, content_type, length);
	(void)x->carrier->head(x, NULL, 0, false);
}

void exchange_upgrade(struct http_exchange *x, const char *protocol)
{
	assert(x->upgrade);
	if (protocol)
		http_set(x, "upgrade", protocol);
	begin(x, 101, NULL, UINT64_MAX);
	x->no_content = false;
	(void)x->carrier->head(x, NULL, 0, false);
}

bool http_send(struct http_exchange *x, const void *data, size_t size)
{
	if (x->lost)
		return false;
	assert(x->started && !x->dead);
	x->drain_armed = x->drain_fn != NULL;
	bool ok = true;
	/* More than was announced would be taken for the next response. */
	if (x->out_length != UINT64_MAX)
		size = (size_t)MIN(size, x->out_length - x->out_sent);
	x->out_sent += size;
	if (size && !x->head_only && !x->no_content)
		ok = x->carrier->body(x, data, size) == 0;
	if (ok && x->carrier->unsent(x) > HTTP_QUEUE_BYTES) {
		conn_close(x->conn);
		ok = false;
	}
	if (x->drain_armed)
		x->carrier->wake(x);
	return ok;
}

size_t http_unsent(const struct http_exchange *x)
{
	return x->carrier->unsent(x);
}

void http_finish(struct http_exchange *x)
{
	if (x->lost)
		return;
	assert(x->started && !x->dead);
	bool short_of_it = x->out_length != UINT64_MAX && x->out_sent < x->out_length &&
			   !x->head_only && !x->no_content;
	if (short_of_it)
		http_abort(x);
	else
		finish(x);
}

void http_abort(struct http_exchange *x)
{
	if (x->lost)
		return;
	assert(!x->dead);
	x->carrier->abort(x);
	exchange_over(x, x->started ? x->status : 499);
}
