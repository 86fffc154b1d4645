/*
 * Fuzz targets: one source per parser of untrusted bytes. Each defines LLVMFuzzerTestOneInput(), keeps
 * nothing from one input to the next, and says with FUZZ_CHECK what must hold for every input.
 *
 * Two builds: with libFuzzer (`make fuzz`, clang), which looks for new inputs; and with driver.c, in
 * the ordinary tests, which replays tests/fuzz/corpus/NAME and a fixed number of changes of it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(cond)                                                                           \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond);   \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* The rest of an input, taken from the front. */
struct fuzz_input {
	const uint8_t *data;
	size_t size;
};

static inline uint8_t fuzz_byte(struct fuzz_input *in)
{
	if (!in->size)
		return 0;
	in->size--;
	return *in->data++;
}

static inline uint32_t fuzz_u32(struct fuzz_input *in)
{
	uint32_t v = 0;
	for (int i = 0; i < 4; i++)
		v |= (uint32_t)fuzz_byte(in) << (8 * i);
	return v;
}

/* At most `max` bytes. */
static inline struct fuzz_input fuzz_take(struct fuzz_input *in, size_t max)
{
	struct fuzz_input part = { in->data, in->size < max ? in->size : max };
	in->data += part.size;
	in->size -= part.size;
	return part;
}

/* All that is left as a C string in `text`. */
static inline const char *fuzz_text(struct fuzz_input in, char *text, size_t capacity)
{
	size_t n = in.size < capacity - 1 ? in.size : capacity - 1;
	for (size_t i = 0; i < n; i++)
		text[i] = (char)in.data[i];
	text[n] = '\0';
	return text;
}
