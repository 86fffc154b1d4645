/*
 * The chunked transfer coding (RFC 9112, section 7.1), strictly: CR LF, bounded sizes, bounded
 * extensions and trailers (both are checked and dropped). Decoding copies nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chunked {
	uint8_t state;
	uint8_t digits;
	uint16_t line;	   /* bytes of this extension or trailer line */
	uint32_t overhead; /* bytes of extensions and trailers so far */
	uint64_t left;	   /* of this chunk */
};

void chunked_init(struct chunked *c);
/*
 * Takes bytes from *data, up to a piece of content of at most `max` bytes, which is a view into
 * them. 1 = the end: what is left in *data is behind the body; 0 = go on, with more bytes if *size
 * is 0; -EBADMSG.
 */
int chunked_decode(struct chunked *c, const uint8_t **data, size_t *size, size_t max,
		   const uint8_t **ret_piece, size_t *ret_size);

#define CHUNKED_HEAD_MAX 20
#define CHUNKED_END	 "0\r\n\r\n"
/* "size CR LF" in front of a chunk, which CR LF follows; its length. size > 0. */
size_t chunked_head(char head[static CHUNKED_HEAD_MAX], size_t size);
