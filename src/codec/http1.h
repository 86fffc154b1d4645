/*
 * Heads of HTTP/1.1 messages (RFC 9112), strictly: lines end with CR LF and in no other way, no
 * folding, no byte that a field may not hold, one Content-Length at most and never beside
 * Transfer-Encoding, only the chunked coding. What two readers could read differently is refused,
 * so that nothing can be smuggled past one of them.
 *
 * Two steps: a scanner finds the end of the head while bytes arrive, and refuses early what can be
 * no head; then the whole head is parsed in place. No I/O, no heap.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HTTP1_NO_LENGTH UINT64_MAX

/* ---- the end of a head ---- */

struct http1_scan {
	size_t at; /* bytes looked at; start with zero */
};

/*
 * The same bytes as before, and more. Size of the head with its empty line; 0 = not complete;
 * -EBADMSG = no head: a line ends without CR, or there is a control byte.
 */
ssize_t http1_scan(struct http1_scan *s, const char *data, size_t size);

/* ---- what is in it ---- */

/* Strings lie in the head that was parsed, NUL-terminated. */
struct http1_field {
	char *name;  /* lower-case */
	char *value; /* without white space around it */
	uint32_t value_size;
	uint16_t name_size;
	bool hop; /* hop-by-hop: must not be passed on */
};

struct http1_fields {
	struct http1_field *at; /* the caller's */
	size_t max, count;
};

/* What the fields say about framing and the connection. */
struct http1_framing {
	uint64_t length; /* of the body; HTTP1_NO_LENGTH if not given */
	bool chunked;
	bool close, keep_alive; /* Connection */
	char *upgrade;		/* Upgrade, if Connection names it */
	bool expect_continue;
};

struct http1_request {
	char *method;
	char *target; /* origin form or "*"; an absolute one is cut to that */
	char *host;   /* lower-case, checked; "" only with HTTP/1.0 */
	int minor;    /* of HTTP/1.x */
	struct http1_fields fields;
	struct http1_framing framing;
};

struct http1_response {
	int status;
	int minor;
	char *reason;
	struct http1_fields fields;
	struct http1_framing framing;
};

/*
 * `head` is what http1_scan() found and is overwritten; `fields` of the result must be set before.
 * 0, or the negative HTTP status that answers it, with *ret_why saying what is wrong:
 * -400 malformed, -417 unknown expectation, -431 too many fields, -501 coding not known, -505.
 */
int http1_parse_request(char *head, size_t size, struct http1_request *r, const char **ret_why);
/* The same; any negative result means that the peer does not speak HTTP. */
int http1_parse_response(char *head, size_t size, struct http1_response *r, const char **ret_why);

/* NULL = absent. */
const char *http1_find(const struct http1_fields *fields, const char *name);
/* Fields that never pass a proxy, whatever Connection says. */
bool http1_is_hop(const char *name);
/* "OK" and so on; "" for what is not known. */
const char *http1_reason(int status);
