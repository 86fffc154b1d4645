/*
 * A hostile driver of the code interpreter: whatever it sends, in pieces of any size, the client gets
 * complete lines of JSON in ASCII, the last one says the end, and what was held is given back. The first
 * byte says the size of the pieces.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "codec/jsontext.h"
#include "interpreter/stream.h"

#define OUTPUT_MAX (1u << 20)

static char output[OUTPUT_MAX];
static size_t output_size;
static bool overflow;
static struct stream *stream;

static void on_ready(void *ctx)
{
	stream_execute(stream, 1);
}

static void on_failed(void *ctx, const char *text)
{
	for (; *text; text++)
		FUZZ_CHECK(*text >= ' ' && *text <= '~');
}

static void on_output(void *ctx, const char *data, size_t size)
{
	overflow = overflow || size > OUTPUT_MAX - output_size;
	if (overflow)
		return;
	memcpy(output + output_size, data, size);
	output_size += size;
}

static void on_done(void *ctx)
{
	stream_finish(stream);
	if (output_size % 2)
		stream_execute(stream, 1);
}

static void check_lines(void)
{
	static const char last[] = "{\"type\":\"end_of_execution\"}\n";
	char *at = output, *end = output + output_size;

	FUZZ_CHECK(output_size >= sizeof(last) - 1);
	FUZZ_CHECK(memcmp(end - (sizeof(last) - 1), last, sizeof(last) - 1) == 0);
	while (at < end) {
		char *newline = memchr(at, '\n', (size_t)(end - at));
		FUZZ_CHECK(newline && *at == '{');
		for (char *c = at; c < newline; c++)
			FUZZ_CHECK(*c >= ' ' && *c <= '~');
		FUZZ_CHECK(jsontext_valid((const uint8_t *)at, (size_t)(newline - at)));
		at = newline + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct stream_events events = { on_ready, on_failed, on_output, on_done };
	struct stream_budget budget = { 0, 1u << 20, NULL };
	size_t piece = size ? data[0] + 1u : 1;
	int r = 0;

	output_size = 0;
	overflow = false;
	stream = stream_new(&events, NULL, &budget);
	FUZZ_CHECK(stream);
	for (size_t at = 1; at < size && r == 0; at += piece) {
		size_t n = size - at < piece ? size - at : piece;
		r = stream_feed(stream, data + at, n);
		if (!stream_is_open(stream))
			stream_print(stream, at % 2, data + at, n);
	}
	stream_end(stream, "Name", "value");
	if (output_size && !overflow)
		check_lines();
	stream_free(stream);
	FUZZ_CHECK(budget.held == 0);
	return 0;
}
