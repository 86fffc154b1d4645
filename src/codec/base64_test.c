#include "codec/base64.h"

#include <errno.h>
#include <string.h>

#include "check.h"

static const struct {
	const char *plain, *text;
} vectors[] = {
	{ "", "" },	    { "f", "Zg==" },	    { "fo", "Zm8=" },
	{ "foo", "Zm9v" },  { "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
};

TEST(rfc_4648_vectors_both_ways)
{
	char text[32], plain[32];

	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		CHECK(base64_encode(vectors[i].plain, strlen(vectors[i].plain), text) ==
		      strlen(vectors[i].text));
		CHECK(strcmp(text, vectors[i].text) == 0);
		ssize_t n = base64_decode(text, strlen(text), plain);
		CHECK(n == (ssize_t)strlen(vectors[i].plain));
		CHECK(memcmp(plain, vectors[i].plain, (size_t)n) == 0);
	}
}

TEST(url_safe_has_no_padding_and_is_understood)
{
	const unsigned char bytes[] = { 0xfb, 0xff, 0xfe, 0xff };
	char text[16];
	unsigned char back[16];

	CHECK(base64_encode_url(bytes, sizeof(bytes), text) == 6);
	CHECK(strcmp(text, "-__-_w") == 0);
	CHECK(base64_decode(text, 6, back) == 4);
	CHECK(memcmp(back, bytes, 4) == 0);
	CHECK(base64_decode("+//+/w==", 8, back) == 4);
	CHECK(memcmp(back, bytes, 4) == 0);
}

TEST(every_byte_survives_in_place)
{
	unsigned char bytes[256];
	char text[400];

	for (int i = 0; i < 256; i++)
		bytes[i] = (unsigned char)i;
	size_t n = base64_encode(bytes, sizeof(bytes), text);
	CHECK(base64_decode(text, n, text) == 256);
	CHECK(memcmp(text, bytes, 256) == 0);
}

TEST(malformed_text_is_refused)
{
	static const char *const bad[] = { "A", "AAAAA", "AA=", "A===", "AA A", "AA\n=",
					   "=AAA", "AA=A", "AAA*", "Zg=", "====" };
	char out[16];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(base64_decode(bad[i], strlen(bad[i]), out) == -EILSEQ);
}

CHECK_MAIN()
