/* Chunked bodies and Connect envelopes: the same content however the bytes arrive. */
#include "fuzz.h"

#include <string.h>

#include "codec/chunked.h"
#include "codec/envelope.h"

struct result {
	uint8_t content[1 << 16];
	size_t size, used;
	int r;
};

static void decode(const uint8_t *data, size_t size, size_t step, size_t max, struct result *ret)
{
	struct chunked c;
	chunked_init(&c);
	ret->size = ret->used = 0;
	ret->r = 0;
	while (ret->used < size && ret->r == 0) {
		const uint8_t *at = data + ret->used, *piece;
		size_t left = size - ret->used < step ? size - ret->used : step, before = left, n;
		ret->r = chunked_decode(&c, &at, &left, max, &piece, &n);
		FUZZ_CHECK(n <= max && left <= before && (ret->r != 0 || left < before));
		FUZZ_CHECK(n == 0 || (piece >= data && piece + n <= data + size));
		memcpy(ret->content + ret->size, piece, n);
		ret->size += n;
		ret->used += before - left;
	}
}

static void envelopes(const uint8_t *data, size_t size)
{
	struct envelope e;
	int64_t n;
	while ((n = envelope_parse(data, size, 1000, &e)) > 0) {
		FUZZ_CHECK((size_t)n <= size && e.size + ENVELOPE_HEAD == (size_t)n &&
			   e.size <= 1000);
		FUZZ_CHECK(e.payload + e.size == data + n);
		data += n;
		size -= (size_t)n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct result whole, slow, odd;
	struct fuzz_input in = { data, size };
	size_t step = fuzz_byte(&in) + 1u;
	if (in.size > sizeof(whole.content))
		return 0;
	decode(in.data, in.size, SIZE_MAX, SIZE_MAX, &whole);
	decode(in.data, in.size, 1, 1, &slow);
	decode(in.data, in.size, step, step / 2 + 1, &odd);
	FUZZ_CHECK(whole.r == slow.r && whole.r == odd.r);
	FUZZ_CHECK(whole.size == slow.size && whole.size == odd.size);
	FUZZ_CHECK(!memcmp(whole.content, slow.content, whole.size));
	FUZZ_CHECK(!memcmp(whole.content, odd.content, whole.size));
	if (whole.r == 1)
		FUZZ_CHECK(whole.used == slow.used && whole.used == odd.used);
	envelopes(in.data, in.size);
	return 0;
}
