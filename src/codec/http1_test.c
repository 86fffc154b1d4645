/* Heads of HTTP/1.1, and what smugglers try with them. */
#include "check.h"

#include "codec/http1.h"

#define FIELDS 8

static char head[8192];
static struct http1_field fields[FIELDS];

static int parse(const char *text, struct http1_request *r)
{
	const char *why;
	struct http1_scan scan = { 0 };
	size_t size = strlen(text);
	ssize_t end = http1_scan(&scan, text, size);
	if (end < 0)
		return -400;
	CHECK_EQ(end, size);
	memcpy(head, text, size);
	*r = (struct http1_request){ .fields = { fields, FIELDS, 0 } };
	return http1_parse_request(head, size, r, &why);
}

TEST(a_request)
{
	struct http1_request r;
	CHECK_EQ(parse("POST /a/b?c=%20d HTTP/1.1\r\nHost: Example.ORG:8080\r\nX-One:  two\t \r\n"
		       "content-length: 12\r\nConnection: keep-alive, X-One\r\nEmpty:\r\n\r\n",
		       &r),
		 0);
	CHECK_STR(r.method, "POST");
	CHECK_STR(r.target, "/a/b?c=%20d");
	CHECK_STR(r.host, "example.org:8080");
	CHECK_EQ(r.minor, 1);
	CHECK_EQ(r.fields.count, 5);
	CHECK_STR(http1_find(&r.fields, "x-one"), "two");
	CHECK_STR(http1_find(&r.fields, "empty"), "");
	CHECK(!http1_find(&r.fields, "X-One"));
	CHECK_EQ(r.framing.length, 12);
	CHECK(r.framing.keep_alive && !r.framing.close && !r.framing.chunked);
	CHECK(!fields[1].hop); /* x- fields stay: others decide by them */
	CHECK(fields[3].hop);
}

/* What is accepted. */
TEST(accepted)
{
	static const char *const heads[] = {
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http://a/x HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http://a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nX: \x80\xff \t!\r\n\r\n",
		"GET /%00%zz{}|\" HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807\r\n\r\n",
		"PATCH / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\n\r\n",
	};
	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		struct http1_request r;
		int e = parse(heads[i], &r);
		if (e)
			printf("# %s\n", heads[i]);
		CHECK_EQ(e, 0);
	}
}

/* What is refused, and how. */
TEST(refused)
{
	static const struct {
		int status;
		const char *head;
	} cases[] = {
		/* line ends */
		{ 400, "GET / HTTP/1.1\nHost: a\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: a\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: a\r\n\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: a\r\nX-Abc:\rTransfer-Encoding: chunked\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n" },
		/* folding, spaces */
		{ 400, "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\n Host: a\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost : a\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: a\r\nX(: b\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: a\r\nX\x80: b\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: a\r\nX: a\x01 b\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: a\r\nX: a\x7f\r\n\r\n" },
		/* first lines */
		{ 400, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n" },
		{ 400, "GET /  HTTP/1.1\r\nHost: a\r\n\r\n" },
		{ 400, "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n" },
		{ 400, " GET / HTTP/1.1\r\nHost: a\r\n\r\n" },
		{ 400, "GET /\r\nHost: a\r\n\r\n" },
		{ 400, "GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n" },
		{ 400, "G@T / HTTP/1.1\r\nHost: a\r\n\r\n" },
		{ 400, "GET / http/1.1\r\nHost: a\r\n\r\n" },
		{ 400, "GET / HTTP/1.1 \r\nHost: a\r\n\r\n" },
		{ 400, "GET / HTTP/11\r\nHost: a\r\n\r\n" },
		{ 505, "GET / HTTP/2.0\r\nHost: a\r\n\r\n" },
		{ 505, "GET / HTTP/1.2\r\nHost: a\r\n\r\n" },
		{ 505, "GET / HTTP/0.9\r\nHost: a\r\n\r\n" },
		{ 400, "GET /#a HTTP/1.1\r\nHost: a\r\n\r\n" },
		{ 400, "GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n" },
		{ 400, "GET a HTTP/1.1\r\nHost: a\r\n\r\n" },
		{ 400, "GET * HTTP/1.1\r\nHost: a\r\n\r\n" },
		{ 400, "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n" },
		{ 400, "GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n" },
		{ 400, "GET http://a?x HTTP/1.1\r\nHost: a\r\n\r\n" },
		{ 501, "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n" },
		/* Host */
		{ 400, "GET / HTTP/1.1\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost:\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: a:\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: a:80:80\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: [zz]\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n" },
		{ 400, "GET http://b/x HTTP/1.1\r\nHost: a\r\n\r\n" },
		/* framing */
		{ 400,
		  "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n" },
		{ 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n" },
		{ 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n" },
		{ 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n" },
		{ 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x10\r\n\r\n" },
		{ 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n" },
		{ 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1 1\r\n\r\n" },
		{ 400,
		  "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775808\r\n\r\n" },
		{ 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
		       "Transfer-Encoding: chunked\r\n\r\n" },
		{ 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
		       "Content-Length: 5\r\n\r\n" },
		{ 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
		       "Transfer-Encoding: chunked\r\n\r\n" },
		{ 501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" },
		{ 501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n" },
		{ 501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n" },
		{ 501,
		  "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n" },
		{ 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n" },
		{ 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n" },
		{ 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding\r\n : chunked\r\n\r\n" },
		{ 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0b"
		       "chunked\r\n\r\n" },
		{ 400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" },
		{ 417, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: a\r\nConnection: a b\r\n\r\n" },
		{ 431,
		  "GET / HTTP/1.1\r\nHost: a\r\na:\r\nb:\r\nc:\r\nd:\r\ne:\r\nf:\r\ng:\r\nh:\r\n\r\n" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct http1_request r;
		int e = parse(cases[i].head, &r);
		if (e != -cases[i].status)
			printf("# %s\n", cases[i].head);
		CHECK_EQ(e, -cases[i].status);
	}
}

TEST(the_end_is_found_however_it_arrives)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET";
	size_t want = sizeof(text) - 1 - 3;
	for (size_t first = 0; first <= want; first++) {
		struct http1_scan scan = { 0 };
		ssize_t end = http1_scan(&scan, text, first);
		CHECK_EQ(end, first == want ? want : 0);
		if (first < want)
			CHECK_EQ(http1_scan(&scan, text, sizeof(text) - 1), want);
	}
	struct http1_scan scan = { 0 };
	for (size_t size = 0; size < want; size++)
		CHECK_EQ(http1_scan(&scan, text, size), 0);
	CHECK_EQ(http1_scan(&scan, text, want), want);
}

TEST(a_nul_is_refused)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n";
	struct http1_scan scan = { 0 };
	CHECK_EQ(http1_scan(&scan, text, sizeof(text) - 1), -EBADMSG);
}

TEST(upgrade_counts_only_if_connection_names_it)
{
	struct http1_request r;
	CHECK_EQ(parse("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n", &r), 0);
	CHECK(!r.framing.upgrade);
	CHECK_EQ(parse("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n"
		       "Connection: foo, Upgrade\r\n\r\n",
		       &r),
		 0);
	CHECK_STR(r.framing.upgrade, "websocket");
}

static int parse_response(const char *text, struct http1_response *r)
{
	const char *why;
	struct http1_scan scan = { 0 };
	size_t size = strlen(text);
	if (http1_scan(&scan, text, size) != (ssize_t)size)
		return -1;
	memcpy(head, text, size);
	*r = (struct http1_response){ .fields = { fields, FIELDS, 0 } };
	return http1_parse_response(head, size, r, &why);
}

TEST(responses)
{
	struct http1_response r;
	CHECK_EQ(parse_response("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", &r), 0);
	CHECK_EQ(r.status, 200);
	CHECK_STR(r.reason, "OK");
	CHECK_EQ(r.framing.length, 3);
	CHECK_EQ(parse_response("HTTP/1.0 404\r\n\r\n", &r), 0);
	CHECK_EQ(r.status, 404);
	CHECK_EQ(r.framing.length, HTTP1_NO_LENGTH);
	CHECK_EQ(parse_response("HTTP/1.1 204 \r\n\r\n", &r), 0);
	static const char *const bad[] = {
		"HTTP/1.1 20 OK\r\n\r\n",
		"HTTP/1.1 2000 OK\r\n\r\n",
		"HTTP/1.1 099 OK\r\n\r\n",
		"HTTP/1.1 600 OK\r\n\r\n",
		"HTTP/1.1  200 OK\r\n\r\n",
		"HTTP/2 200 OK\r\n\r\n",
		"HTTP/1.1 200 O\x01K\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX : y\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\nX: y\r\n\r\n",
		"garbage\r\n\r\n",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(parse_response(bad[i], &r) < 0);
}

CHECK_MAIN()
