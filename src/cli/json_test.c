/* The JSON writer. */
#include "check.h"

#include <fcntl.h>

#include "cli/json.h"

static char text[65536];

static const char *written(int fd)
{
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	CHECK(n >= 0);
	text[n] = '\0';
	return text;
}

static int open_file(void)
{
	char path[] = "/tmp/hotcell-json-XXXXXX";
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	unlink(path);
	return fd;
}

TEST(structure)
{
	int fd = open_file();
	struct json j;
	json_init(&j, fd);
	json_object_begin(&j, NULL);
	json_array_begin(&j, "empty");
	json_array_end(&j);
	json_array_begin(&j, "list");
	json_uint(&j, NULL, 1);
	json_int(&j, NULL, -2);
	json_null(&j, NULL);
	json_bool(&j, NULL, true);
	json_array_end(&j);
	json_ms(&j, "ms", 1234567);
	json_object_end(&j);
	CHECK_EQ(json_finish(&j), 0);
	CHECK_STR(written(fd), "{\n  \"empty\": [],\n  \"list\": [\n    1,\n    -2,\n    null,\n"
			       "    true\n  ],\n  \"ms\": 1.234\n}\n");
}

TEST(text_is_always_valid)
{
	int fd = open_file();
	struct json j;
	json_init(&j, fd);
	json_string(&j, NULL,
		    "a\"b\\c\n\x01 \xc3\xa9 \xff \xc0\xaf \xed\xa0\x80 \xf4\x90 \xe2\x82");
	CHECK_EQ(json_finish(&j), 0);
	CHECK_STR(written(fd), "\"a\\\"b\\\\c\\u000a\\u0001 \xc3\xa9 \\ufffd \\ufffd\\ufffd "
			       "\\ufffd\\ufffd\\ufffd \\ufffd\\ufffd \\ufffd\\ufffd\"\n");
}

TEST(more_than_the_buffer)
{
	int fd = open_file();
	struct json j;
	json_init(&j, fd);
	json_array_begin(&j, NULL);
	for (int i = 0; i < 2000; i++)
		json_string(&j, NULL, "0123456789");
	json_array_end(&j);
	CHECK_EQ(json_finish(&j), 0);
	/* bracket, 2000 lines with commas but one, bracket, newline */
	CHECK_EQ(strlen(written(fd)), 1 + 2000 * 16 - 1 + 2 + 1);
}

TEST(a_write_error_is_reported)
{
	struct json j;
	json_init(&j, open("/dev/full", O_WRONLY));
	json_uint(&j, NULL, 1);
	CHECK_EQ(json_finish(&j), -ENOSPC);
}

CHECK_MAIN()
