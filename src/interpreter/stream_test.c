#include "interpreter/stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "interpreter/frame.h"
#include "interpreter/language.h"

/* What a stream said, in order: "R" ready, "D" done, "F:text", and its lines. */
struct seen {
	char text[1 << 20];
	size_t size;
	char failed[4096];
	unsigned int ready, done;
};

static struct seen seen;
static struct stream_budget budget;

static void on_ready(void *ctx)
{
	seen.ready++;
}

static void on_failed(void *ctx, const char *text)
{
	snprintf(seen.failed, sizeof(seen.failed), "%s", text);
}

static void on_output(void *ctx, const char *data, size_t size)
{
	CHECK(size < sizeof(seen.text) - seen.size);
	memcpy(seen.text + seen.size, data, size);
	seen.size += size;
	seen.text[seen.size] = '\0';
}

static void on_done(void *ctx)
{
	seen.done++;
}

static const struct stream_events events = { on_ready, on_failed, on_output, on_done };

static struct stream *begin(void)
{
	memset(&seen, 0, sizeof(seen));
	budget = (struct stream_budget){ 0, 32u << 20, NULL };
	struct stream *s = stream_new(&events, NULL, &budget);
	CHECK(s);
	return s;
}

static int feed(struct stream *s, const char *text)
{
	return stream_feed(s, (const uint8_t *)text, strlen(text));
}

static struct stream *executing(void)
{
	struct stream *s = begin();

	CHECK_EQ(feed(s, "ready - 0\n"), 0);
	CHECK_EQ(seen.ready, 1);
	stream_execute(s, 7);
	return s;
}

/* Ends the stream, which must give back all that it held. */
static void end(struct stream *s)
{
	stream_free(s);
	CHECK_EQ(budget.held, 0);
}

/* The lines without their timestamps. */
static const char *lines(void)
{
	static char out[sizeof(seen.text)];
	static const char mark[] = ",\"timestamp\":\"";
	char *to = out;

	for (const char *at = seen.text; *at;) {
		if (strncmp(at, mark, sizeof(mark) - 1) == 0)
			at = strchr(at + sizeof(mark) - 1, '"') + 1;
		else
			*to++ = *at++;
	}
	*to = '\0';
	return out;
}

TEST(an_execution_in_order)
{
	struct stream *s = executing();

	CHECK_EQ(feed(s,
		      "count 1 0\nstdout - 3\nhi\nresult main 0\npart text/plain 1\n2close - 0\n"),
		 0);
	CHECK_EQ(feed(s, "done 7 0\n"), 0);
	CHECK_EQ(seen.done, 1);
	stream_finish(s);
	CHECK_STR(lines(), "{\"type\":\"number_of_executions\",\"execution_count\":1}\n"
			   "{\"type\":\"stdout\",\"text\":\"hi\\n\"}\n"
			   "{\"type\":\"result\",\"is_main_result\":true,\"text\":\"2\"}\n"
			   "{\"type\":\"end_of_execution\"}\n");
	CHECK(strstr(seen.text, "\"timestamp\":\"20"));
	CHECK(stream_is_ready(s));
	end(s);
}

TEST(the_same_byte_by_byte)
{
	static const char text[] = "count 1 0\nstdout - 5\na\xc3\xbc\xe2z"
				   "error - 0\npart name 1\nEpart value 0\nclose - 0\ndone 7 0\n";
	struct stream *s = executing();

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		CHECK_EQ(stream_feed(s, (const uint8_t *)text + i, 1), 0);
	stream_finish(s);
	CHECK_STR(lines(), "{\"type\":\"number_of_executions\",\"execution_count\":1}\n"
			   "{\"type\":\"stdout\",\"text\":\"a\\u00fc\\ufffdz\"}\n"
			   "{\"type\":\"error\",\"name\":\"E\",\"value\":\"\",\"traceback\":\"\"}\n"
			   "{\"type\":\"end_of_execution\"}\n");
	end(s);
}

TEST(every_representation_has_its_field)
{
	struct stream *s = executing();

	CHECK_EQ(feed(s, "result display 0\npart image/png 2\nAApart application/json 7\n{\"a\":1}"
			 "part text/x-own 1\n\"part a/b+json 2\n[]part e2b/data 2\n{}close - 0\n"),
		 0);
	CHECK_STR(lines(), "{\"type\":\"result\",\"is_main_result\":false,\"png\":\"AA\","
			   "\"json\":{\"a\":1},\"data\":{},"
			   "\"extra\":{\"text/x-own\":\"\\\"\",\"a/b+json\":[]}}\n");
	end(s);
}

TEST(json_that_is_none_is_left_out)
{
	struct stream *s = executing();

	CHECK_EQ(feed(s, "result main 0\npart e2b/chart 4\n{]}\npart a/b+json 1\n{close - 0\n"), 0);
	CHECK_STR(lines(), "{\"type\":\"result\",\"is_main_result\":true}\n");
	end(s);
}

TEST(json_that_is_too_large_is_left_out)
{
	static char piece[64 << 10];
	char header[FRAME_HEADER_MAX + 2];
	struct stream *s = executing();
	uint64_t size = INTERPRETER_JSON_MAX + 1, at = 0;

	CHECK_EQ(feed(s, "result main 0\n"), 0);
	CHECK(frame_header(header, sizeof(header), "part", "application/json", size) > 0);
	CHECK_EQ(feed(s, header), 0);
	memset(piece, ' ', sizeof(piece));
	for (; at < size; at += sizeof(piece)) {
		uint64_t n = size - at < sizeof(piece) ? size - at : sizeof(piece);
		CHECK_EQ(stream_feed(s, (uint8_t *)piece, n), 0);
	}
	CHECK_EQ(budget.held, 0);
	CHECK_EQ(feed(s, "part text/plain 1\nxclose - 0\n"), 0);
	CHECK_STR(lines(), "{\"type\":\"result\",\"is_main_result\":true,\"text\":\"x\"}\n");
	end(s);
}

TEST(what_does_not_fit_into_the_budget_is_left_out)
{
	struct stream *s = executing();

	budget.max = 100;
	CHECK_EQ(feed(s,
		      "result main 0\npart application/json 2\n[]part text/plain 1\nxclose - 0\n"),
		 0);
	CHECK_STR(lines(), "{\"type\":\"result\",\"is_main_result\":true,\"text\":\"x\"}\n");
	end(s);
}

TEST(all_sandboxes_together_have_a_budget)
{
	struct stream_budget all = { 0, 100, NULL };
	struct stream *s = executing();

	budget.parent = &all;
	CHECK_EQ(feed(s,
		      "result main 0\npart application/json 2\n[]part text/plain 1\nxclose - 0\n"),
		 0);
	CHECK_STR(lines(), "{\"type\":\"result\",\"is_main_result\":true,\"text\":\"x\"}\n");
	all.max = 1 << 20;
	CHECK_EQ(feed(s, "result main 0\npart application/json 2\n[]"), 0);
	CHECK_EQ(all.held, 0); /* it is complete */
	CHECK_EQ(feed(s, "part e2b/data 2\n["), 0);
	CHECK(all.held > 0 && all.held == budget.held);
	end(s);
	CHECK_EQ(all.held, 0);
}

TEST(long_texts_are_cut_between_characters)
{
	static char text[INTERPRETER_TEXT_MAX + 100];
	char header[FRAME_HEADER_MAX + 2];
	struct stream *s = executing();

	memset(text, 'a', sizeof(text));
	memcpy(text + INTERPRETER_TEXT_MAX - 1, "\xe2\x82\xac", 3);
	CHECK(frame_header(header, sizeof(header), "stdout", NULL, sizeof(text)) > 0);
	CHECK_EQ(feed(s, header), 0);
	CHECK_EQ(stream_feed(s, (uint8_t *)text, sizeof(text)), 0);
	CHECK(strstr(lines(), "a\"}\n{\"type\":\"stdout\",\"text\":\"\\u20aca"));
	CHECK(!strstr(lines(), "fffd"));
	end(s);
}

TEST(pipes_may_split_characters)
{
	struct stream *s = executing();

	stream_print(s, false, (const uint8_t *)"\xe2\x82", 2);
	stream_print(s, true, (const uint8_t *)"e", 1);
	stream_print(s, false, (const uint8_t *)"\xac\xc3", 2);
	CHECK_EQ(feed(s, "done 7 0\n"), 0);
	stream_finish(s);
	CHECK_STR(lines(),
		  "{\"type\":\"stdout\",\"text\":\"\"}\n{\"type\":\"stderr\",\"text\":\"e\"}\n"
		  "{\"type\":\"stdout\",\"text\":\"\\u20ac\"}\n"
		  "{\"type\":\"stdout\",\"text\":\"\\ufffd\"}\n"
		  "{\"type\":\"end_of_execution\"}\n");
	end(s);
}

TEST(broken_rules_end_the_driver)
{
	static const char *const bad[] = {
		"ready - 0\n",
		"failed - 0\n",
		"done 8 0\n",
		"done x 0\n",
		"done 7 1\nx",
		"count 1 0\ncount 2 0\n",
		"count -1 0\n",
		"close - 0\n",
		"part text/plain 0\n",
		"result other 0\n",
		"result main 1\nx",
		"result main 0\nresult main 0\n",
		"result main 0\nstdout - 1\nx",
		"result main 0\ndone 7 0\n",
		"result main 0\npart text/plain 0\npart text/plain 0\n",
		"error - 0\npart text/plain 0\n",
		"what - 0\n",
		"stdout -\n",
		"stdout - 1 1\n",
		"stdout - 01\n",
		"stdout - -1\n",
		"stdout - 99999999999999999999\n",
		" - 0\n",
		"\n",
		"stdout  0\n",
		"stdout\t- 0\n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct stream *s = executing();
		CHECK_EQ(feed(s, bad[i]), -EBADMSG);
		stream_end(s, "Name", "why");
		const char *last =
			"{\"type\":\"error\",\"name\":\"Name\",\"value\":\"why\",\"traceback\":"
			"\"why\"}\n{\"type\":\"end_of_execution\"}\n";
		CHECK(seen.size >= strlen(last));
		CHECK_STR(seen.text + seen.size - strlen(last), last);
		end(s);
	}
}

TEST(a_header_has_an_end)
{
	struct stream *s = executing();
	char text[FRAME_HEADER_MAX + 1];

	memset(text, 'a', sizeof(text));
	CHECK_EQ(stream_feed(s, (uint8_t *)text, sizeof(text)), -EBADMSG);
	end(s);
}

TEST(an_open_line_is_completed)
{
	struct stream *s = executing();

	CHECK_EQ(feed(s, "result main 0\npart text/html 100\n<b>\xc3"), 0);
	CHECK(stream_is_open(s));
	stream_keepalive(s); /* nothing: the line is open */
	stream_end(s, NULL, NULL);
	CHECK_STR(lines(), "{\"type\":\"result\",\"is_main_result\":true,\"html\":\"<b>\\ufffd\"}\n"
			   "{\"type\":\"end_of_execution\"}\n");
	end(s);
}

TEST(a_half_error_and_half_a_text_are_completed)
{
	struct stream *s = executing();

	CHECK_EQ(feed(s, "stdout - 10\nabc"), 0);
	stream_end(s, "N", "v");
	CHECK(strncmp(lines(), "{\"type\":\"stdout\",\"text\":\"abc\"}\n", 31) == 0);
	end(s);
	s = executing();
	CHECK_EQ(feed(s, "error - 0\npart name 3\nabc"), 0);
	stream_end(s, NULL, NULL);
	CHECK_STR(lines(),
		  "{\"type\":\"error\",\"name\":\"abc\",\"value\":\"\",\"traceback\":\"\"}\n"
		  "{\"type\":\"end_of_execution\"}\n");
	end(s);
}

TEST(between_executions_nothing_is_said)
{
	struct stream *s = begin();

	CHECK_EQ(feed(s, "stdout - 1\nx"), 0);
	CHECK_EQ(feed(s, "ready - 0\nstdout - 1\nxresult display 0\npart text/plain 4\nxx"), 0);
	stream_print(s, false, (const uint8_t *)"x", 1);
	stream_keepalive(s);
	CHECK_EQ(seen.size, 0);
	/* What began before an execution is not part of it. */
	stream_execute(s, 1);
	CHECK_EQ(feed(s, "xxclose - 0\ndone 1 0\n"), 0);
	stream_finish(s);
	CHECK_STR(seen.text, "{\"type\":\"end_of_execution\"}\n");
	end(s);
}

TEST(why_a_driver_failed)
{
	struct stream *s = begin();

	CHECK_EQ(feed(s, "failed - 11\nno\x1b[ such\xff\n"), 0);
	CHECK_STR(seen.failed, "no?[ such? ");
	CHECK_EQ(feed(s, "ready - 0\n"), -EBADMSG);
	end(s);
}

TEST(names_of_languages)
{
	struct language_name buffer;
	struct language l;

	CHECK(language_find(NULL, &buffer, &l));
	CHECK_STR(l.name, "python");
	CHECK(language_find(" JS\n", &buffer, &l));
	CHECK_STR(l.name, "javascript");
	CHECK(language_find("ts", &buffer, &l));
	CHECK_STR(l.shares, "javascript");
	CHECK(language_find("R", &buffer, &l));
	CHECK_STR(l.program, "Rscript");
	CHECK(language_find("Xeus-Cling17", &buffer, &l));
	CHECK_STR(l.name, "xeus-cling17");
	CHECK_STR(l.args[1], "xeus-cling17");
	CHECK(!language_find("a b", &buffer, &l));
	CHECK(!language_find("../x", &buffer, &l));
	CHECK(!language_find("-x", &buffer, &l));
	CHECK(!language_find("x/y", &buffer, &l));
	CHECK(!language_find("0123456789012345678901234567890123456789012345678901234567890123x",
			     &buffer, &l));
}

CHECK_MAIN()
