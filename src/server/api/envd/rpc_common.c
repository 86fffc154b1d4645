/* Codes, users and members: what unary calls and streams have in common. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "codec/base64.h"
#include "server/api/envd/rpc_internal.h"
#include "wire/wire.h"

const struct rpc_code_name rpc_codes[] = {
	[RPC_OK] = { "ok", 200 },
	[RPC_CANCELED] = { "canceled", 499 },
	[RPC_UNKNOWN] = { "unknown", 500 },
	[RPC_INVALID_ARGUMENT] = { "invalid_argument", 400 },
	[RPC_DEADLINE_EXCEEDED] = { "deadline_exceeded", 504 },
	[RPC_NOT_FOUND] = { "not_found", 404 },
	[RPC_ALREADY_EXISTS] = { "already_exists", 409 },
	[RPC_PERMISSION_DENIED] = { "permission_denied", 403 },
	[RPC_RESOURCE_EXHAUSTED] = { "resource_exhausted", 429 },
	[RPC_FAILED_PRECONDITION] = { "failed_precondition", 400 },
	[RPC_UNIMPLEMENTED] = { "unimplemented", 501 },
	[RPC_INTERNAL] = { "internal", 500 },
	[RPC_UNAVAILABLE] = { "unavailable", 503 },
	[RPC_UNAUTHENTICATED] = { "unauthenticated", 401 },
};

enum rpc_code rpc_code_of(int error, uint32_t about)
{
	static const struct {
		int error;
		enum rpc_code code;
	} codes[] = {
		{ ENOENT, RPC_NOT_FOUND },	  { EEXIST, RPC_ALREADY_EXISTS },
		{ ENOTDIR, RPC_INVALID_ARGUMENT }, { EISDIR, RPC_INVALID_ARGUMENT },
		{ EINVAL, RPC_INVALID_ARGUMENT }, { ENAMETOOLONG, RPC_INVALID_ARGUMENT },
		{ ELOOP, RPC_FAILED_PRECONDITION }, { EACCES, RPC_PERMISSION_DENIED },
		{ EPERM, RPC_PERMISSION_DENIED }, { EROFS, RPC_PERMISSION_DENIED },
		{ ENOSPC, RPC_RESOURCE_EXHAUSTED }, { ENOMEM, RPC_RESOURCE_EXHAUSTED },
		{ EMFILE, RPC_RESOURCE_EXHAUSTED }, { E2BIG, RPC_RESOURCE_EXHAUSTED },
		{ ESHUTDOWN, RPC_UNAVAILABLE },
	};

	if (about == WIRE_ABOUT_USER)
		return RPC_UNAUTHENTICATED;
	if (about == WIRE_ABOUT_CWD || about == WIRE_ABOUT_PROGRAM)
		return error == ENOMEM ? RPC_RESOURCE_EXHAUSTED : RPC_INVALID_ARGUMENT;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		if (codes[i].error == error)
			return codes[i].code;
	}
	return RPC_INTERNAL;
}

/* "Basic base64(user:)": not a credential, but who to run as. A malformed one is no user. */
void rpc_read_user(struct http_exchange *x, char *user, size_t size)
{
	const char *header = http_header(x, "authorization");
	char text[128];

	user[0] = '\0';
	if (!header || strncmp(header, "Basic ", 6) != 0 || strlen(header) > sizeof(text))
		return;
	ssize_t n = base64_decode(header + 6, strlen(header + 6), text);
	char *colon = n > 0 ? memchr(text, ':', (size_t)n) : NULL;
	if (!colon || (size_t)(colon - text) >= size)
		return;
	memcpy(user, text, (size_t)(colon - text));
	user[colon - text] = '\0';
}

json_t *rpc_member(const json_t *object, const char *name)
{
	char snake[64];
	size_t n = 0;
	json_t *v = json_object_get(object, name);

	if (v)
		return json_is_null(v) ? NULL : v;
	for (const char *s = name; *s && n < sizeof(snake) - 2; s++) {
		if (isupper((unsigned char)*s))
			snake[n++] = '_';
		snake[n++] = (char)tolower((unsigned char)*s);
	}
	snake[n] = '\0';
	v = json_object_get(object, snake);
	return json_is_null(v) ? NULL : v;
}

const char *rpc_string(const json_t *object, const char *name)
{
	const char *s = json_string_value(rpc_member(object, name));
	return s ? s : "";
}

/* Numbers may come as strings. */
uint32_t rpc_u32(const json_t *object, const char *name)
{
	json_t *v = rpc_member(object, name);
	json_int_t n = json_is_string(v) ? strtoll(json_string_value(v), NULL, 10)
					 : json_integer_value(v);
	return n < 0 || n > UINT32_MAX ? 0 : (uint32_t)n;
}

bool rpc_bool(const json_t *object, const char *name, bool fallback)
{
	json_t *v = rpc_member(object, name);
	return json_is_boolean(v) ? json_is_true(v) : fallback;
}
