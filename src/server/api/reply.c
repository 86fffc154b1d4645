#include "server/api/reply.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "codec/time.h"

static const struct {
	int code, status;
} statuses[] = {
	{ 0, 400 },	   { EINVAL, 400 },   { EPERM, 403 },    { EACCES, 403 },	{ ENOENT, 404 },
	{ ESRCH, 404 },	   { EBUSY, 409 },    { EALREADY, 409 }, { EEXIST, 409 },
	{ E2BIG, 413 },	   { EAGAIN, 429 },   { ENOSPC, 507 },	{ EMFILE, 503 },
	{ EDQUOT, 507 },   { ERANGE, 400 },   { ENAMETOOLONG, 400 },
	{ ENFILE, 503 },   { ENOMEM, 503 },   { ESHUTDOWN, 503 }, { ETIMEDOUT, 504 },
};

int reply_status(const struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		if (statuses[i].code == err->code)
			return statuses[i].status;
	}
	return 500;
}

void reply_failure(struct http_exchange *x, const struct error *err, unsigned int retry_after_s)
{
	char seconds[16];

	if (retry_after_s) {
		snprintf(seconds, sizeof(seconds), "%u", retry_after_s);
		http_set(x, "retry-after", seconds);
	}
	http_error(x, reply_status(err), "%s", err->message);
}

json_t *reply_text(const char *bytes)
{
	json_t *v = json_string(bytes);
	static char shown[4096 * 3];
	size_t n = 0;

	if (v)
		return v;
	for (const char *s = bytes; *s && n < sizeof(shown) - 4; s++) {
		if ((unsigned char)*s < 0x80) {
			shown[n++] = *s;
		} else {
			memcpy(shown + n, "\xef\xbf\xbd", 3);
			n += 3;
		}
	}
	shown[n] = '\0';
	return json_string(shown);
}

void reply_json(struct http_exchange *x, int status, json_t *value)
{
	if (value)
		http_respond_json(x, status, value);
	else
		http_error(x, 503, "out of memory");
	json_decref(value);
}

void reply_empty(struct http_exchange *x)
{
	http_respond(x, 204, NULL, NULL, 0);
}

void reply_no_sandbox(struct http_exchange *x, const char *id)
{
	reply_json(x, 502,
		   json_pack("{s:o, s:s, s:i}", "sandboxId", reply_text(id), "message",
			     "The sandbox was not found", "code", 502));
}

void reply_closed_port(struct http_exchange *x, const char *id, unsigned int port)
{
	reply_json(x, 502,
		   json_pack("{s:s, s:s, s:i, s:i}", "sandboxId", id, "message",
			     "The sandbox is running but port is not open", "port", (int)port,
			     "code", 502));
}

void reply_cors(struct http_exchange *x)
{
	http_set(x, "access-control-allow-origin", "*");
	http_set(x, "access-control-expose-headers",
		 "Content-Encoding, Connect-Content-Encoding, Connect-Protocol-Version, "
		 "X-Next-Token, X-Total-Running, Retry-After, Content-Length, Content-Range");
}

void reply_preflight(struct http_exchange *x)
{
	const char *wanted = http_header(x, "access-control-request-headers");

	reply_cors(x);
	http_set(x, "access-control-allow-methods",
		 "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
	http_set(x, "access-control-allow-headers", wanted ? wanted : "*");
	http_set(x, "access-control-max-age", "7200");
	reply_empty(x);
}

void reply_set_time(json_t *object, const char *name, int64_t us)
{
	char text[TIME_TEXT_SIZE];

	time_format(us, text);
	json_object_set_new(object, name, json_string(text));
}
