/* Chunks, envelopes, URLs, hosts, dates, lists. */
#include "check.h"

#include "codec/authority.h"
#include "codec/chunked.h"
#include "codec/envelope.h"
#include "codec/httpdate.h"
#include "codec/token.h"
#include "codec/url.h"

/* ---- chunked ---- */

/* Decodes in pieces of `step` bytes; the content in `out`. 1 = complete, 0 = not yet, -errno. */
static int decode(const char *text, size_t step, size_t max, char *out, size_t *ret_rest)
{
	struct chunked c;
	size_t all = strlen(text), at = 0, n = 0;
	int r = 0;
	chunked_init(&c);
	while (at < all && r == 0) {
		const uint8_t *data = (const uint8_t *)text + at, *piece;
		size_t size = all - at < step ? all - at : step, before = size, piece_size;
		r = chunked_decode(&c, &data, &size, max, &piece, &piece_size);
		memcpy(out + n, piece, piece_size);
		n += piece_size;
		at += before - size;
	}
	out[n] = '\0';
	*ret_rest = all - at;
	return r;
}

TEST(chunks_in_pieces_of_any_size)
{
	static const char text[] =
		"5\r\nhello\r\n00a;x=y;\"q\"\r\n, chunked!\r\n0\r\nT: v\r\nU:\r\n\r\nnext";
	char out[64];
	size_t rest;
	for (size_t step = 1; step < sizeof(text); step++)
		for (size_t max = 1; max < 12; max += 5) {
			CHECK_EQ(decode(text, step, max, out, &rest), 1);
			CHECK_STR(out, "hello, chunked!");
			CHECK_EQ(rest, 4);
		}
}

TEST(malformed_chunks)
{
	static const char *const bad[] = {
		"\r\n",
		"g\r\n",
		" 5\r\nhello\r\n",
		"5 \r\nhello\r\n",
		"5\nhello\r\n",
		"5\rhello\r\n",
		"5\r\nhelloX",
		"5\r\nhello\n",
		"5\r\nhello\r\r",
		"-5\r\n",
		"+5\r\n",
		"0x5\r\n",
		"1111111111111111\r\n", /* 16 digits */
		"5;a\nb\r\nhello\r\n",
		"5;\x01\r\nhello\r\n",
		"0\r\nbad trailer\r\n\r\n",
		"0\r\nT: v\n\r\n",
		"0\r\n\rX",
	};
	char out[64];
	size_t rest;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		for (size_t step = 1; step < 20; step += 3) {
			int r = decode(bad[i], step, SIZE_MAX, out, &rest);
			if (r != -EBADMSG)
				printf("# %zu: %s\n", i, bad[i]);
			CHECK_EQ(r, -EBADMSG);
		}
}

TEST(extensions_and_trailers_are_bounded)
{
	struct chunked c;
	const uint8_t *piece, *data;
	size_t piece_size, size;
	chunked_init(&c);
	data = (const uint8_t *)"1;";
	size = 2;
	CHECK_EQ(chunked_decode(&c, &data, &size, 9, &piece, &piece_size), 0);
	int r = 0;
	size_t i;
	for (i = 0; i < 100000 && r == 0; i++) {
		data = (const uint8_t *)"aaaaaaaaaa";
		size = 10;
		r = chunked_decode(&c, &data, &size, 9, &piece, &piece_size);
	}
	CHECK_EQ(r, -EBADMSG);
	CHECK(i < 10000);
	chunked_init(&c);
	data = (const uint8_t *)"0\r\n";
	size = 3;
	r = chunked_decode(&c, &data, &size, 9, &piece, &piece_size);
	for (i = 0; i < 100000 && r == 0; i++) {
		data = (const uint8_t *)"a: b\r\n";
		size = 6;
		r = chunked_decode(&c, &data, &size, 9, &piece, &piece_size);
	}
	CHECK_EQ(r, -EBADMSG);
	CHECK(i < 10000);
}

TEST(chunk_heads)
{
	char head[CHUNKED_HEAD_MAX];
	CHECK_EQ(chunked_head(head, 255), 4);
	CHECK_STR(head, "ff\r\n");
	CHECK_EQ(chunked_head(head, SIZE_MAX), 18);
}

/* ---- envelopes ---- */

TEST(envelopes)
{
	uint8_t data[10] = { 0 };
	struct envelope e;
	envelope_head(data, ENVELOPE_END, 0x102);
	CHECK_EQ(data[0], 2);
	CHECK_EQ(data[3], 1);
	CHECK_EQ(data[4], 2);
	CHECK_EQ(envelope_parse(data, 4, 1000, &e), 0);
	CHECK_EQ(envelope_parse(data, 5, 1000, &e), 0);
	CHECK_EQ(envelope_parse(data, 5, 0x101, &e), -EMSGSIZE);
	envelope_head(data, 0, 5);
	CHECK_EQ(envelope_parse(data, 9, 5, &e), 0);
	CHECK_EQ(envelope_parse(data, 10, 5, &e), 10);
	CHECK(e.payload == data + 5 && e.size == 5 && e.flags == 0);
	envelope_head(data, 0, 0);
	CHECK_EQ(envelope_parse(data, 5, 5, &e), 5);
	data[0] = 4;
	CHECK_EQ(envelope_parse(data, 1, 5, &e), -EBADMSG);
	CHECK_EQ(envelope_parse(data, 0, 5, &e), 0);
}

/* ---- URLs ---- */

static const char *decoded(const char *s, bool plus)
{
	static char out[256];
	ssize_t n = url_decode(s, strlen(s), plus, out);
	if (n < 0)
		return "malformed";
	out[n] = '\0';
	return out;
}

TEST(percent_encoding)
{
	CHECK_STR(decoded("a%20b%2Fc", false), "a b/c");
	CHECK_STR(decoded("a+b", false), "a+b");
	CHECK_STR(decoded("a+b%2b", true), "a b+");
	CHECK_STR(decoded("%c3%A4", false), "\xc3\xa4");
	CHECK_STR(decoded("%", false), "malformed");
	CHECK_STR(decoded("%4", false), "malformed");
	CHECK_STR(decoded("%4g", false), "malformed");
	CHECK_STR(decoded("a%00b", false), "malformed");
	char out[64];
	CHECK_EQ(url_encode("a b/\xff~", 6, out), 12);
	CHECK_STR(out, "a%20b%2F%FF~");
}

TEST(queries)
{
	static const char query[] = "a=1&&b&c=&%64%65=x%20y&a=2&=z&f=g=h";
	struct query_field f;
	CHECK(query_find(query, "a", &f) && f.value_size == 1 && f.value[0] == '1');
	CHECK(query_find(query, "b", &f) && f.value_size == 0);
	CHECK(query_find(query, "c", &f) && f.value_size == 0);
	CHECK(query_find(query, "de", &f) && f.value_size == 5);
	CHECK(query_find(query, "f", &f) && f.value_size == 3);
	CHECK(query_find(query, "", &f) && f.value[0] == 'z');
	CHECK(!query_find(query, "d", &f));
	CHECK(!query_find(query, "def", &f));
	CHECK(!query_find("%=1&%4=2&%zz=3", "x", &f));
	CHECK(!query_find("", "x", &f));
	CHECK(query_find("a+b=1", "a b", &f));
	size_t at = 0, count = 0;
	while (query_next(query, sizeof(query) - 1, &at, &f))
		count++;
	CHECK_EQ(count, 7);
}

/* ---- hosts ---- */

TEST(hosts_of_ports)
{
	struct port_host h;
	CHECK(port_host_parse("49983-i1a2.sandbox.example:8443", &h));
	CHECK_EQ(h.port, 49983);
	CHECK_STR(h.id, "i1a2");
	CHECK_STR(h.domain, "sandbox.example:8443");
	CHECK(port_host_parse("80-x", &h));
	CHECK_STR(h.domain, "");
	static const char *const others[] = { "localhost", "127.0.0.1",	 "[::1]:80", "api.example",
					      "-x.e",	   "80-.e",	 "80x-y.e",  "0-x.e",
					      "65536-x.e", "123456-x.e", "80-a-b.e", "80-a_b.e",
					      "80.e-x",	   "80",	 "" };
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		CHECK(!port_host_parse(others[i], &h));
	char longest[80] = "1-";
	memset(longest + 2, 'a', 65);
	CHECK(!port_host_parse(longest, &h));
	longest[66] = '\0';
	CHECK(port_host_parse(longest, &h));
}

/* ---- dates, lists, numbers ---- */

TEST(dates)
{
	char text[HTTP_DATE_SIZE];
	int64_t t;
	http_date_format(784111777, text);
	CHECK_STR(text, "Sun, 06 Nov 1994 08:49:37 GMT");
	CHECK_EQ(http_date_parse(text, &t), 0);
	CHECK_EQ(t, 784111777);
	CHECK_EQ(http_date_parse("Thu, 29 Feb 2024 00:00:00 GMT", &t), 0);
	static const char *const bad[] = { "",
					   "Sunday, 06-Nov-94 08:49:37 GMT",
					   "Sun Nov  6 08:49:37 1994",
					   "Mon, 06 Nov 1994 08:49:37 GMT",
					   "Sun, 06 Nov 1994 08:49:37 UTC",
					   "Thu, 30 Feb 2024 00:00:00 GMT",
					   "Sun, 06 Nov 1994 24:49:37 GMT",
					   "Sun, 06 ovD 1994 08:49:37 GMT" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK_EQ(http_date_parse(bad[i], &t), -EINVAL);
	http_date_format(-1, text);
	CHECK_STR(text, "Thu, 01 Jan 1970 00:00:00 GMT");
}

TEST(lists)
{
	CHECK(text_list_has("a, Upgrade ,,b", "upgrade"));
	CHECK(!text_list_has("upgraded, xupgrade", "upgrade"));
	CHECK(!text_list_has(" , ,", ""));
	CHECK(!text_list_has("", "a"));
}

TEST(numbers)
{
	uint64_t v;
	CHECK_EQ(text_number("18446744073709551615", 20, UINT64_MAX, &v), 0);
	CHECK(v == UINT64_MAX);
	CHECK_EQ(text_number("18446744073709551616", 20, UINT64_MAX, &v), -ERANGE);
	CHECK_EQ(text_number("100", 3, 99, &v), -ERANGE);
	CHECK_EQ(text_number("9", 1, 5, &v), -ERANGE);
	CHECK_EQ(text_number("99", 2, 99, &v), 0);
	CHECK_EQ(text_number("", 0, 99, &v), -EINVAL);
	CHECK_EQ(text_number("1a", 2, 99, &v), -EINVAL);
}

CHECK_MAIN()
