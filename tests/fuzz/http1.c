/* Heads of HTTP/1.1: what is accepted means the same when it is written anew. */
#include "fuzz.h"

#include <string.h>
#include <sys/types.h>

#include "codec/authority.h"
#include "codec/http1.h"
#include "codec/token.h"

#define FIELDS 50

static char head[1 << 16], again[1 << 17];

static size_t put(size_t at, const char *text)
{
	size_t n = strlen(text);
	FUZZ_CHECK(at + n < sizeof(again));
	memcpy(again + at, text, n);
	return at + n;
}

static void check_fields(const struct http1_fields *f)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct http1_field *one = &f->at[i];
		FUZZ_CHECK(strlen(one->name) == one->name_size);
		FUZZ_CHECK(strlen(one->value) == one->value_size);
		FUZZ_CHECK(text_is(one->name, one->name_size, CHAR_TOKEN));
		FUZZ_CHECK(!one->value_size || text_is(one->value, one->value_size, CHAR_VALUE));
		FUZZ_CHECK(!http1_is_hop(one->name) || one->hop);
	}
}

static size_t put_fields(size_t at, const struct http1_fields *f)
{
	for (size_t i = 0; i < f->count; i++) {
		at = put(at, f->at[i].name);
		at = put(at, ": ");
		at = put(at, f->at[i].value);
		at = put(at, "\r\n");
	}
	return put(at, "\r\n");
}

static void check_same(const struct http1_fields *a, const struct http1_framing *fa,
		       const struct http1_fields *b, const struct http1_framing *fb)
{
	FUZZ_CHECK(a->count == b->count);
	for (size_t i = 0; i < a->count; i++)
		FUZZ_CHECK(!strcmp(a->at[i].name, b->at[i].name) &&
			   !strcmp(a->at[i].value, b->at[i].value) && a->at[i].hop == b->at[i].hop);
	FUZZ_CHECK(fa->length == fb->length && fa->chunked == fb->chunked);
	FUZZ_CHECK(fa->close == fb->close && fa->expect_continue == fb->expect_continue);
	FUZZ_CHECK(!fa->upgrade == !fb->upgrade);
}

static void request(char *data, size_t size)
{
	static struct http1_field one[FIELDS], two[FIELDS];
	struct http1_request r = { .fields = { one, FIELDS, 0 } };
	struct http1_request s = { .fields = { two, FIELDS, 0 } };
	const char *why = NULL;
	int e = http1_parse_request(data, size, &r, &why);
	FUZZ_CHECK(e == 0 || (e <= -400 && e >= -505 && why));
	if (e < 0)
		return;
	check_fields(&r.fields);
	FUZZ_CHECK(!r.framing.chunked || r.framing.length == HTTP1_NO_LENGTH);
	FUZZ_CHECK(r.target[0] == '/' || !strcmp(r.target, "*"));
	FUZZ_CHECK(r.minor == 0 || authority_check(r.host, strlen(r.host)) == 0);
	size_t at = put(0, r.method);
	at = put(at, " ");
	at = put(at, r.target);
	at = put(at, r.minor ? " HTTP/1.1\r\n" : " HTTP/1.0\r\n");
	at = put_fields(at, &r.fields);
	struct http1_scan scan = { 0 };
	FUZZ_CHECK(http1_scan(&scan, again, at) == (ssize_t)at);
	FUZZ_CHECK(http1_parse_request(again, at, &s, &why) == 0);
	FUZZ_CHECK(!strcmp(r.method, s.method) && !strcmp(r.target, s.target) &&
		   !strcmp(r.host, s.host) && r.minor == s.minor);
	check_same(&r.fields, &r.framing, &s.fields, &s.framing);
}

static void response(char *data, size_t size)
{
	static struct http1_field fields[FIELDS];
	struct http1_response r = { .fields = { fields, FIELDS, 0 } };
	const char *why = NULL;
	if (http1_parse_response(data, size, &r, &why) < 0)
		return;
	check_fields(&r.fields);
	FUZZ_CHECK(r.status >= 100 && r.status <= 599);
	FUZZ_CHECK(!r.framing.chunked || r.framing.length == HTTP1_NO_LENGTH);
}

/* The end is the same whether the head comes at once or byte by byte. */
static ssize_t find_end(const char *data, size_t size)
{
	struct http1_scan whole = { 0 }, slow = { 0 };
	ssize_t end = http1_scan(&whole, data, size), r = 0;
	for (size_t n = 1; n <= size && r == 0; n++)
		r = http1_scan(&slow, data, n);
	FUZZ_CHECK((end < 0) == (r < 0) && (end <= 0 || end == r));
	return end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	bool is_response = fuzz_byte(&in) & 1;
	if (in.size > sizeof(head))
		return 0;
	ssize_t end = find_end((const char *)in.data, in.size);
	if (end <= 0)
		return 0;
	memcpy(head, in.data, (size_t)end);
	if (is_response)
		response(head, (size_t)end);
	else
		request(head, (size_t)end);
	return 0;
}
