#include "codec/jsontext.h"

#include <string.h>

#include "check.h"
#include "codec/utf8.h"

static bool valid(const char *text)
{
	return jsontext_valid((const uint8_t *)text, strlen(text));
}

TEST(what_rfc_8259_allows)
{
	static const char *const good[] = {
		"0",
		"-0",
		"12.5e-3",
		"1E+9",
		"true",
		"null",
		"\"\"",
		"[]",
		"{}",
		" [ ] ",
		"[1,2,[3]]",
		"{\"a\":{\"b\":[{}]},\"c\":null}",
		"\"\\u00e9\\n\\/\"",
		"\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\"",
		"\t\r\n{ \"k\" : [ 1 , 2 ] }\n",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CHECK(valid(good[i]));
}

TEST(what_it_does_not)
{
	static const char *const bad[] = {
		"",
		" ",
		"01",
		"+1",
		".5",
		"1.",
		"1e",
		"-",
		"NaN",
		"Infinity",
		"tru",
		"nullx",
		"\"",
		"\"\\x\"",
		"\"\\u12g4\"",
		"\"\x01\"",
		"\"\n\"",
		"[1,]",
		"[,1]",
		"[1 2]",
		"[",
		"{",
		"{\"a\"}",
		"{\"a\":}",
		"{a:1}",
		"{\"a\":1,}",
		"[1]]",
		"{]",
		"[}",
		"1 2",
		"\"\xc3\"",
		"\"\xff\"",
		"\"\xed\xa0\x80\"",
		"\"\xc0\xaf\"",
		"'a'",
		"\"\\",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!valid(bad[i]));
	CHECK(!jsontext_valid((const uint8_t *)"1\0", 2));
	CHECK(!jsontext_valid((const uint8_t *)"\"\\\0\"", 4));
}

TEST(depth_is_bounded)
{
	char text[2 * JSONTEXT_DEPTH_MAX + 3];

	memset(text, '[', JSONTEXT_DEPTH_MAX);
	memset(text + JSONTEXT_DEPTH_MAX, ']', JSONTEXT_DEPTH_MAX);
	CHECK(jsontext_valid((const uint8_t *)text, 2 * JSONTEXT_DEPTH_MAX));
	memset(text, '[', JSONTEXT_DEPTH_MAX + 1);
	memset(text + JSONTEXT_DEPTH_MAX + 1, ']', JSONTEXT_DEPTH_MAX + 1);
	CHECK(!jsontext_valid((const uint8_t *)text, 2 * JSONTEXT_DEPTH_MAX + 2));
}

TEST(ascii_is_the_same_value_on_one_line)
{
	static const char text[] = "{\n\t\"gr\xc3\xbc\": \"\xf0\x9f\x98\x80\\n\"\r\n}";
	static const char wanted[] = "{  \"gr\\u00fc\": \"\\ud83d\\ude00\\n\"  }";
	char out[200];
	size_t at = 0, n = 0;

	while (at < sizeof(text) - 1) /* in the smallest pieces */
		n += jsontext_ascii((const uint8_t *)text, sizeof(text) - 1, &at, out + n,
				    JSONTEXT_ASCII_MAX);
	CHECK_EQ(n, sizeof(wanted) - 1);
	CHECK(memcmp(out, wanted, n) == 0);
}

static size_t escape(const char *text, size_t size, char *out)
{
	struct utf8_state s = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < size; i++)
		n += utf8_escape(&s, (uint8_t)text[i], out + n);
	n += utf8_escape_end(&s, out + n);
	out[n] = '\0';
	return n;
}

TEST(text_is_escaped_and_what_is_not_utf8_replaced)
{
	static const char *const pairs[][2] = {
		{ "a\"b\\c\n\r\t\x01\x7f", "a\\\"b\\\\c\\n\\r\\t\\u0001\\u007f" },
		{ "\xe2\x82\xac", "\\u20ac" },
		{ "\xf0\x9f\x98\x80", "\\ud83d\\ude00" },
		{ "\xff", "\\ufffd" },
		{ "\xe2\x82", "\\ufffd" },
		{ "\xe2\x82x", "\\ufffdx" },
		{ "\xe2\xe2\x82\xac", "\\ufffd\\u20ac" },
		{ "\xc3\xff", "\\ufffd\\ufffd" },
		{ "\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd" },
		{ "\xc0\xaf", "\\ufffd\\ufffd" },
		{ "\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd" },
	};
	char out[200];

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		escape(pairs[i][0], strlen(pairs[i][0]), out);
		CHECK_STR(out, pairs[i][1]);
	}
}

CHECK_MAIN()
