#include "codec/envelope.h"

#include <errno.h>

void envelope_head(uint8_t head[static ENVELOPE_HEAD], uint8_t flags, uint32_t size)
{
	head[0] = flags;
	head[1] = (uint8_t)(size >> 24);
	head[2] = (uint8_t)(size >> 16);
	head[3] = (uint8_t)(size >> 8);
	head[4] = (uint8_t)size;
}

int64_t envelope_parse(const uint8_t *data, size_t size, size_t max, struct envelope *ret)
{
	if (size && data[0] & ~(ENVELOPE_COMPRESSED | ENVELOPE_END))
		return -EBADMSG;
	if (size < ENVELOPE_HEAD)
		return 0;
	uint32_t payload = (uint32_t)data[1] << 24 | (uint32_t)data[2] << 16 |
			   (uint32_t)data[3] << 8 | data[4];
	if (payload > max)
		return -EMSGSIZE;
	if (size - ENVELOPE_HEAD < payload)
		return 0;
	*ret = (struct envelope){ data[0], data + ENVELOPE_HEAD, payload };
	return (int64_t)payload + ENVELOPE_HEAD;
}
