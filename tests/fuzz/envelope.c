/* Envelopes of Connect streams: taken apart in order, nothing outside of the input, none over the limit. */
#include "fuzz.h"

#include <string.h>

#include "codec/envelope.h"

#define PAYLOAD_MAX 1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct envelope e;
	uint8_t head[ENVELOPE_HEAD];
	size_t at = 0;
	int64_t n;

	while ((n = envelope_parse(data + at, size - at, PAYLOAD_MAX, &e)) > 0) {
		FUZZ_CHECK((size_t)n <= size - at && e.size <= PAYLOAD_MAX);
		FUZZ_CHECK((size_t)n == e.size + ENVELOPE_HEAD && e.payload == data + at + ENVELOPE_HEAD);
		envelope_head(head, e.flags, (uint32_t)e.size);
		FUZZ_CHECK(!memcmp(head, data + at, ENVELOPE_HEAD));
		/* One byte less is not complete, whatever the rest is. */
		FUZZ_CHECK(envelope_parse(data + at, (size_t)n - 1, PAYLOAD_MAX, &e) == 0);
		at += (size_t)n;
	}
	return 0;
}
