#include "codec/multipart.h"

#include "check.h"

#define TYPE "multipart/form-data; boundary=----b"

struct log {
	char text[4096];
	size_t size;
};

static int on_begin(void *ctx, const char *name, const char *filename)
{
	struct log *l = ctx;
	l->size += (size_t)snprintf(l->text + l->size, sizeof(l->text) - l->size, "[%s|%s|", name,
				    filename ? filename : "-");
	return 0;
}

static int on_data(void *ctx, const uint8_t *data, size_t size)
{
	struct log *l = ctx;
	l->size += (size_t)snprintf(l->text + l->size, sizeof(l->text) - l->size, "%.*s", (int)size,
				    (const char *)data);
	return 0;
}

static int on_end(void *ctx)
{
	struct log *l = ctx;
	l->size += (size_t)snprintf(l->text + l->size, sizeof(l->text) - l->size, "]");
	return -EAGAIN;
}

static const struct multipart_events events = { on_begin, on_data, on_end };

/* In pieces of `piece` bytes; the result, with "!" when not complete and "?" after an error. */
static const char *parse(const char *type, const char *body, size_t piece)
{
	static struct log l;
	static struct multipart m;
	size_t size = strlen(body);
	int r = multipart_init(&m, type, &events, &l);

	l.size = 0;
	l.text[0] = '\0';
	for (size_t at = 0, used; at < size && r == 0; at += used) {
		r = multipart_feed(&m, (const uint8_t *)body + at,
				   size - at < piece ? size - at : piece, &used);
		if (r == -EAGAIN) /* what an event asked for: nothing is lost */
			r = 0;
	}
	if (r < 0 || !multipart_complete(&m))
		l.text[l.size++] = r < 0 ? '?' : '!';
	l.text[l.size] = '\0';
	return l.text;
}

#define PART(head, content) "------b\r\n" head "\r\n\r\n" content "\r\n"
#define FILE_HEAD(name) "Content-Disposition: form-data; name=\"file\"; filename=\"" name "\""

static const struct {
	const char *body, *want;
} cases[] = {
	{ PART(FILE_HEAD("a.txt"), "hello") "------b--\r\n", "[file|a.txt|hello]" },
	{ PART(FILE_HEAD("a"), "") "------b--", "[file|a|]" },
	{ "preamble\r\n" PART(FILE_HEAD("a"), "1") PART(FILE_HEAD("dir/b"), "2") "------b--\r\nend",
	  "[file|a|1][file|dir/b|2]" },
	{ PART(FILE_HEAD("a"), "x\r\n-----b\r\n----\r\r\n--") "------b--",
	  "[file|a|x\r\n-----b\r\n----\r\r\n--]" },
	{ PART(FILE_HEAD("q%22uo%0Ate"), "") "------b--", "[file|q\"uo\nte|]" },
	{ PART(FILE_HEAD("\xc3\xa4.txt"), "u") "------b--", "[file|\xc3\xa4.txt|u]" },
	{ PART("content-disposition:form-data;name=file;filename=plain", "p") "------b--",
	  "[file|plain|p]" },
	{ PART("Content-Disposition: form-data; name=\"f\"; filename=\"x\"; "
	       "filename*=UTF-8''%C3%A4", "p") "------b--",
	  "[f|\xc3\xa4|p]" },
	{ PART("Content-Disposition: form-data; name=\"field\"", "v") "------b--", "[field|-|v]" },
	{ PART("Content-Type: text/plain", "v") "------b--", "[|-|v]" },
	{ "------b\r\n\r\nno head\r\n------b--", "[|-|no head]" },
	{ "------b  \r\n\r\nblanks\r\n------b--", "[|-|blanks]" },
	{ PART(FILE_HEAD("a"), "cut"), "[file|a|cut!" },
	{ "", "!" },
	{ "------b", "!" },
	{ "------bX\r\n\r\n", "?" },
	{ "------b-X", "?" },
	{ "------b\rX", "?" },
};

TEST(parts_come_out_whatever_the_pieces)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (size_t piece = 1; piece < 200; piece++)
			CHECK_STR(parse(TYPE, cases[i].body, piece), cases[i].want);
	}
}

TEST(boundaries_are_checked)
{
	CHECK_STR(parse("multipart/form-data; boundary=\"a b\"", "--a b--", 3), "");
	CHECK_STR(parse("multipart/form-data", "", 1), "?");
	CHECK_STR(parse("multipart/mixed; boundary=x", "", 1), "?");
	CHECK_STR(parse("multipart/form-data; boundary=", "", 1), "?");
	CHECK_STR(parse("multipart/form-data; boundary=0123456789012345678901234567890123456789"
			"0123456789012345678901234567890", "", 1), "?");
	CHECK_STR(parse(NULL, "", 1), "?");
}

TEST(a_head_has_a_limit)
{
	static char body[2 * MULTIPART_HEAD_MAX];

	memcpy(body, "------b\r\nX: ", 12);
	memset(body + 12, 'x', sizeof(body) - 13);
	CHECK_STR(parse(TYPE, body, 100), "?");
}

CHECK_MAIN()
