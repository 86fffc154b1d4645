/* JSON text that is passed on: what is accepted stays acceptable as one line of ASCII. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "codec/jsontext.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t at = 0, n = 0;

	if (!jsontext_valid(data, size))
		return 0;
	char *out = malloc(JSONTEXT_ASCII_MAX * (size + 1));
	FUZZ_CHECK(out);
	while (at < size)
		n += jsontext_ascii(data, size, &at, out + n, JSONTEXT_ASCII_MAX);
	for (size_t i = 0; i < n; i++)
		FUZZ_CHECK(out[i] >= ' ' && out[i] <= '~');
	FUZZ_CHECK(jsontext_valid((const uint8_t *)out, n));
	free(out);
	return 0;
}
