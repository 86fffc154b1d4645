/*
 * Encoding and decoding of control channel bodies; see wire.h for the protocol. Here is what all have
 * in common, numbers and strings; one file beside this for each kind of body.
 */
#include "wire/wire.h"

#include <string.h>

const char *wire_type_name(uint32_t type)
{
	switch (type) {
#define WIRE(number, name, direction, body)                                                        \
	case number:                                                                               \
		return #name;
		WIRE_MESSAGES(WIRE)
#undef WIRE
	default:
		return NULL;
	}
}

void wire_put_bytes(struct wire_out *o, const void *p, uint32_t size)
{
	if (o->failed || size > o->capacity - o->length) {
		o->failed = true;
		return;
	}
	if (size)
		memcpy(o->data + o->length, p, size);
	o->length += size;
}

void wire_put_u32(struct wire_out *o, uint32_t v)
{
	wire_put_bytes(o, &v, sizeof(v));
}

void wire_put_u64(struct wire_out *o, uint64_t v)
{
	wire_put_bytes(o, &v, sizeof(v));
}

void wire_put_str(struct wire_out *o, const char *s)
{
	size_t length = s ? strlen(s) : 0;
	if (length > WIRE_BODY_MAX) {
		o->failed = true;
		return;
	}
	wire_put_u32(o, (uint32_t)length);
	wire_put_bytes(o, s ? s : "", (uint32_t)length + (s ? 1 : 0));
	if (!s)
		wire_put_bytes(o, "", 1);
}

const void *wire_get_bytes(struct wire_in *in, uint32_t size)
{
	if (in->failed || size > in->length - in->offset) {
		in->failed = true;
		return NULL;
	}
	const uint8_t *p = in->data + in->offset;
	in->offset += size;
	return p;
}

uint32_t wire_get_u32(struct wire_in *in)
{
	uint32_t v = 0;
	const void *p = wire_get_bytes(in, sizeof(v));
	if (p)
		memcpy(&v, p, sizeof(v));
	return v;
}

uint64_t wire_get_u64(struct wire_in *in)
{
	uint64_t v = 0;
	const void *p = wire_get_bytes(in, sizeof(v));
	if (p)
		memcpy(&v, p, sizeof(v));
	return v;
}

const char *wire_get_str(struct wire_in *in)
{
	uint32_t length = wire_get_u32(in);
	if (length > WIRE_BODY_MAX) {
		in->failed = true;
		return "";
	}
	const char *s = wire_get_bytes(in, length + 1);
	if (!s || s[length] != '\0' || memchr(s, '\0', length)) {
		in->failed = true;
		return "";
	}
	return s;
}
