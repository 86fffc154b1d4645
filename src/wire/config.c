/* CONFIG: what a sandbox is to be. */
#include <string.h>

#include "wire/wire.h"

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
