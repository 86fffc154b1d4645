/*
 * Who may talk to the services of a sandbox: whoever has its access token. URLs of files carry a
 * signature instead: SHA-256 over "path:operation:user:token[:expiration]" (reference: 3.8).
 */
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/base64.h"
#include "server/api/envd/envd.h"
#include "server/api/envd/envd_internal.h"
#include "server/api/reply.h"
#include "codec/time.h"

#define RAW_MAX	      8192
#define SIGNATURE_MAX 64

static bool same(const char *a, const char *b)
{
	size_t n = strlen(a);
	return n == strlen(b) && CRYPTO_memcmp(a, b, n) == 0;
}

static bool refuse(struct http_exchange *x, const char *message)
{
	reply_cors(x);
	http_error(x, 401, "%s", message);
	return false;
}

bool envd_has_token(const struct http_exchange *x, const struct sandbox *s)
{
	const char *token = http_header(x, "x-access-token");

	return !s->record.access_token[0] || (token && same(token, s->record.access_token));
}

bool envd_authorized(struct http_exchange *x, struct sandbox *s)
{
	if (envd_has_token(x, s))
		return true;
	return refuse(x, http_header(x, "x-access-token") ? "the access token is not this sandbox's"
			       : "no access token: send it as X-Access-Token");
}

/* "v1_" and base64 without padding. -E2BIG. */
static int sign(const char *path, const char *operation, const char *user, const char *token,
		const char *expiration, char ret[SIGNATURE_MAX])
{
	static char raw[RAW_MAX];
	char text[SIGNATURE_MAX];
	unsigned char hash[SHA256_DIGEST_LENGTH];

	int n = snprintf(raw, sizeof(raw), "%s:%s:%s:%s%s%s", path, operation, user, token,
			 expiration ? ":" : "", expiration ? expiration : "");
	if (n < 0 || (size_t)n >= sizeof(raw))
		return -E2BIG;
	SHA256((const unsigned char *)raw, (size_t)n, hash);
	base64_encode(hash, sizeof(hash), text);
	text[strcspn(text, "=")] = '\0';
	snprintf(ret, SIGNATURE_MAX, "v1_%.58s", text);
	return 0;
}

static bool signature_valid(struct http_exchange *x, const struct sandbox *s, const char *operation)
{
	const char *given = http_query_param(x, "signature");
	const char *path = http_query_param(x, "path");
	const char *user = http_query_param(x, "username");
	const char *expiration = http_query_param(x, "signature_expiration");
	char wanted[SIGNATURE_MAX];

	return given &&
	       sign(path ? path : "", operation, user ? user : "", s->record.access_token,
		    expiration, wanted) == 0 &&
	       same(given, wanted);
}

bool envd_signed_for(struct http_exchange *x, const struct sandbox *s)
{
	const char *method = http_method(x);
	bool reads = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;

	return s->record.access_token[0] && signature_valid(x, s, reads ? "read" : "write");
}

bool envd_file_allowed(struct http_exchange *x, struct sandbox *s, const char *operation)
{
	const char *expiration = http_query_param(x, "signature_expiration");

	if (!s->record.access_token[0])
		return true;
	if (http_header(x, "x-access-token"))
		return envd_authorized(x, s);
	if (!http_query_param(x, "signature"))
		return refuse(x, "no access token and no signature");
	if (!signature_valid(x, s, operation))
		return refuse(x, "invalid signature");
	if (expiration && strtoll(expiration, NULL, 10) < time_now_us() / 1000000)
		return refuse(x, "signature is already expired");
	return true;
}
