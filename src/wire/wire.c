/* Encoding and decoding of control channel bodies; see wire.h for the protocol. */
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

static const uint8_t *take(struct wire_in *in, uint32_t size)
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
	const uint8_t *p = take(in, sizeof(v));
	if (p)
		memcpy(&v, p, sizeof(v));
	return v;
}

uint64_t wire_get_u64(struct wire_in *in)
{
	uint64_t v = 0;
	const uint8_t *p = take(in, sizeof(v));
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
	const char *s = (const char *)take(in, length + 1);
	if (!s || s[length] != '\0' || memchr(s, '\0', length)) {
		in->failed = true;
		return "";
	}
	return s;
}

void wire_put_config(struct wire_out *o, const struct wire_config *c)
{
	wire_put_u32(o, c->flags);
	wire_put_str(o, c->hostname);
	wire_put_str(o, c->user);
	wire_put_u32(o, c->user_uid);
	wire_put_u32(o, c->user_gid);
	for (int i = 0; i < WIRE_LIMITS; i++)
		wire_put_u64(o, c->limits[i]);
	wire_put_u32(o, c->mount_count);
	for (uint32_t i = 0; i < c->mount_count; i++) {
		const struct wire_mount *m = &c->mounts[i];
		wire_put_u32(o, m->kind);
		wire_put_u32(o, (m->has_fd ? 1u : 0u) | (m->detached ? 2u : 0u));
		wire_put_str(o, m->guest);
		wire_put_str(o, m->target);
	}
}

bool wire_get_config(struct wire_in *in, struct wire_config *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->flags = wire_get_u32(in);
	ret->hostname = wire_get_str(in);
	ret->user = wire_get_str(in);
	ret->user_uid = wire_get_u32(in);
	ret->user_gid = wire_get_u32(in);
	for (int i = 0; i < WIRE_LIMITS; i++)
		ret->limits[i] = wire_get_u64(in);
	ret->mount_count = wire_get_u32(in);
	if (ret->mount_count > sizeof(ret->mounts) / sizeof(ret->mounts[0]))
		return false;
	for (uint32_t i = 0; i < ret->mount_count; i++) {
		struct wire_mount *m = &ret->mounts[i];
		m->kind = wire_get_u32(in);
		uint32_t bits = wire_get_u32(in);
		m->has_fd = bits & 1;
		m->detached = bits & 2;
		m->guest = wire_get_str(in);
		m->target = wire_get_str(in);
	}
	return !in->failed && in->offset == in->length;
}

void wire_put_spawn(struct wire_out *o, const struct wire_spawn *s)
{
	wire_put_u32(o, s->flags);
	wire_put_u32(o, s->rows);
	wire_put_u32(o, s->cols);
	wire_put_str(o, s->user);
	wire_put_str(o, s->cwd);
	wire_put_str(o, s->path);
	wire_put_u32(o, s->argc);
	wire_put_u32(o, s->envc);
	wire_put_u32(o, s->args_size);
	wire_put_bytes(o, s->args, s->args_size);
}

/* The strings must be exactly argc + envc, each terminated. */
static bool args_valid(const struct wire_spawn *s)
{
	uint32_t strings = 0;
	for (uint32_t i = 0; i < s->args_size; i++)
		strings += s->args[i] == '\0';
	return s->argc >= 1 && strings == s->argc + s->envc && s->args_size > 0 &&
	       s->args[s->args_size - 1] == '\0';
}

bool wire_get_spawn(struct wire_in *in, struct wire_spawn *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->flags = wire_get_u32(in);
	ret->rows = wire_get_u32(in);
	ret->cols = wire_get_u32(in);
	ret->user = wire_get_str(in);
	ret->cwd = wire_get_str(in);
	ret->path = wire_get_str(in);
	ret->argc = wire_get_u32(in);
	ret->envc = wire_get_u32(in);
	ret->args_size = wire_get_u32(in);
	ret->args = (const char *)take(in, ret->args_size);
	if (in->failed || in->offset != in->length)
		return false;
	if (ret->argc > WIRE_ARGS_MAX || ret->envc > WIRE_ARGS_MAX)
		return false;
	return args_valid(ret);
}

void wire_put_stats(struct wire_out *o, const struct wire_stats *s)
{
	wire_put_bytes(o, s, sizeof(*s));
}

bool wire_get_stats(struct wire_in *in, struct wire_stats *ret)
{
	const uint8_t *p = take(in, sizeof(*ret));
	if (!p)
		return false;
	memcpy(ret, p, sizeof(*ret));
	ret->refused[sizeof(ret->refused) - 1] = '\0';
	return true;
}
