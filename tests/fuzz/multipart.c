/* multipart/form-data: the same parts however the bytes arrive. */
#include "fuzz.h"

#include <string.h>

#include "codec/multipart.h"

struct log {
	char text[1 << 17];
	size_t size;
	bool in_part;
};

static void note(struct log *l, const void *data, size_t size)
{
	FUZZ_CHECK(l->size + size <= sizeof(l->text));
	memcpy(l->text + l->size, data, size);
	l->size += size;
}

static int begin(void *ctx, const char *name, const char *filename)
{
	struct log *l = ctx;
	FUZZ_CHECK(!l->in_part && name);
	l->in_part = true;
	note(l, "<", 1);
	note(l, name, strlen(name));
	if (filename)
		note(l, filename, strlen(filename));
	return 0;
}

static int piece(void *ctx, const uint8_t *data, size_t size)
{
	struct log *l = ctx;
	FUZZ_CHECK(l->in_part);
	note(l, data, size);
	return 0;
}

static int end(void *ctx)
{
	struct log *l = ctx;
	FUZZ_CHECK(l->in_part);
	l->in_part = false;
	note(l, ">", 1);
	return 0;
}

static int feed(struct log *l, const uint8_t *data, size_t size, size_t step, bool *ret_complete)
{
	static const struct multipart_events events = { begin, piece, end };
	static struct multipart m;
	l->size = 0;
	l->in_part = false;
	int r = multipart_init(&m, "multipart/form-data; boundary=xx", &events, l);
	FUZZ_CHECK(r == 0);
	for (size_t at = 0; at < size && r == 0; at += step) {
		size_t n = size - at < step ? size - at : step, used;
		r = multipart_feed(&m, data + at, n, &used);
		FUZZ_CHECK(r < 0 || used == n);
	}
	*ret_complete = multipart_complete(&m);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct log whole, slow;
	bool whole_complete, slow_complete;
	if (size > 1 << 14)
		return 0;
	int r = feed(&whole, data, size, size ? size : 1, &whole_complete);
	int s = feed(&slow, data, size, 1, &slow_complete);
	FUZZ_CHECK(r == s && whole_complete == slow_complete);
	FUZZ_CHECK(r < 0 ||
		   (whole.size == slow.size && !memcmp(whole.text, slow.text, whole.size)));
	return 0;
}
