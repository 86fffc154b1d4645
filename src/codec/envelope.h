/*
 * Messages of a Connect stream: one byte of flags, four of length (big-endian), the payload.
 * Incremental: envelopes may be split and joined anyhow.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ENVELOPE_HEAD	    5
#define ENVELOPE_COMPRESSED 0x01
#define ENVELOPE_END	    0x02 /* of the stream; the payload is about the stream */

/* Written in front of a payload of that size. */
void envelope_head(uint8_t head[static ENVELOPE_HEAD], uint8_t flags, uint32_t size);

struct envelope {
	uint8_t flags;
	const uint8_t *payload; /* in the bytes that were parsed */
	size_t size;
};

/*
 * The envelope at the front of `data`: its whole size, head included; 0 = not complete; -EMSGSIZE =
 * a payload over `max`; -EBADMSG = flags that mean nothing.
 */
int64_t envelope_parse(const uint8_t *data, size_t size, size_t max, struct envelope *ret);
