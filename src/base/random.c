#include "base/random.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void random_bytes(void *p, size_t size)
{
	uint8_t *at = p;
	while (size > 0) {
		ssize_t n = getrandom(at, size, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			abort();
		at += n;
		size -= (size_t)n;
	}
}

void random_text(char *ret, size_t count, const char *alphabet)
{
	size_t letters = strlen(alphabet);
	size_t fair = 256 / letters * letters; /* bytes above would favour some letters */
	uint8_t pool[64];
	size_t left = 0;
	for (size_t i = 0; i < count;) {
		if (left == 0) {
			random_bytes(pool, sizeof(pool));
			left = sizeof(pool);
		}
		uint8_t byte = pool[--left];
		if (byte < fair)
			ret[i++] = alphabet[byte % letters];
	}
	ret[count] = '\0';
}

void random_uuid(char ret[37])
{
	uint8_t b[16];
	random_bytes(b, sizeof(b));
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	snprintf(ret, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
		 b[13], b[14], b[15]);
}
