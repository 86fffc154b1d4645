/* Requests whose answer is JSON, and errors that the server explains. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/http.h"

#define ANSWER_MAX (64u << 20)

static int read_text(struct connection *c, char **ret, size_t *ret_size)
{
	char *text = NULL;
	size_t size = 0, room = 0;
	ssize_t n = 1;

	while (n > 0) {
		if (room - size < 4096) {
			room = room ? room * 2 : 16384;
			char *more = room <= ANSWER_MAX ? realloc(text, room) : NULL;
			if (!more) {
				free(text);
				return -ENOMEM;
			}
			text = more;
		}
		n = connection_read(c, text + size, room - size - 1);
		size += n > 0 ? (size_t)n : 0;
	}
	text[size] = '\0';
	*ret = text;
	*ret_size = size;
	return n < 0 ? (int)n : 0;
}

/* Port 49999 explains in plain text. */
static bool is_sentence(const char *text, size_t size)
{
	bool is = text && size > 0 && size < 400 && *text != '<' && *text != '{';

	for (size_t i = 0; is && i < size; i++)
		is = (unsigned char)text[i] >= ' ';
	return is;
}

int answer_error(struct connection *c, struct error *err)
{
	char *text = NULL;
	size_t size = 0;
	int status = c->status;

	(void)read_text(c, &text, &size);
	json_t *o = text ? json_loadb(text, size, 0, NULL) : NULL;
	const char *message = json_string_value(json_object_get(o, "message"));
	if (message)
		error_set(err, 0, "%.400s", message);
	else if (is_sentence(text, size))
		error_set(err, 0, "%.*s", (int)size, text);
	else
		error_set(err, 0, "the server refused with status %d and does not say why", status);
	err->code = status;
	json_decref(o);
	free(text);
	return -status;
}

int connection_json(struct connection *c, json_t **ret, struct error *err)
{
	char *text = NULL;
	size_t size = 0;

	if (c->status >= 300)
		return answer_error(c, err);
	int r = read_text(c, &text, &size);
	if (r < 0)
		return error_set(err, -r, "read the answer");
	if (ret) {
		*ret = size ? json_loadb(text, size, 0, NULL) : NULL;
		if (size && !*ret)
			r = error_set(err, EBADMSG, "the answer is not JSON");
	}
	free(text);
	return r;
}

static int exchange(struct connection *c, const struct endpoint *e, const char *method,
		    const char *path, json_t *body, json_t **ret, struct error *err)
{
	static const struct header headers[] = { { "Content-Type", "application/json" },
						 { NULL, NULL } };
	char *request = body ? json_dumps(body, JSON_COMPACT) : NULL;

	int r = connection_request(c, e, method, path, headers, request,
				   request ? strlen(request) : 0, err);
	free(request);
	return r < 0 ? r : connection_json(c, ret, err);
}

int call(const struct endpoint *e, const char *method, const char *path, json_t *body, json_t **ret,
	 struct error *err)
{
	struct connection *c = connection_new();

	if (!c)
		return error_set(err, ENOMEM, "request");
	int r = exchange(c, e, method, path, body, ret, err);
	connection_free(c);
	return r;
}

int call_page(const struct endpoint *e, const char *path, json_t **ret, char *next, size_t size,
	      struct error *err)
{
	struct connection *c = connection_new();

	if (!c)
		return error_set(err, ENOMEM, "request");
	int r = exchange(c, e, "GET", path, NULL, ret, err);
	snprintf(next, size, "%s", r == 0 && c->next_token ? c->next_token : "");
	connection_free(c);
	return r;
}
