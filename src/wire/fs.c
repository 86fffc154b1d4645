/* Files: requests, entries, events. */
#include <string.h>

#include "wire/wire.h"

/* Which fields a request has, in the order of struct wire_fs. */
enum {
	HAS_DESTINATION = 1,
	HAS_DEPTH = 2,
	HAS_FLAGS = 4,
	HAS_RANGE = 8,
	HAS_METADATA = 16,
	HAS_NOTHING = 32, /* but user and path */
};

static const uint8_t fields_of[] = {
	[WIRE_FS_STAT] = HAS_NOTHING,	  [WIRE_FS_LIST] = HAS_DEPTH,
	[WIRE_FS_MAKE_DIR] = HAS_NOTHING, [WIRE_FS_MOVE] = HAS_DESTINATION,
	[WIRE_FS_REMOVE] = HAS_NOTHING,	  [WIRE_FS_READ] = HAS_RANGE,
	[WIRE_FS_WRITE] = HAS_METADATA,	  [WIRE_FS_WATCH] = HAS_FLAGS,
};

static unsigned fields(uint32_t type)
{
	return type < sizeof(fields_of) ? fields_of[type] : 0;
}

static void put_pairs(struct wire_out *o, const struct wire_pair *pairs, uint32_t count)
{
	wire_put_u32(o, count);
	for (uint32_t i = 0; i < count; i++) {
		wire_put_str(o, pairs[i].key);
		wire_put_str(o, pairs[i].value);
	}
}

static uint32_t get_pairs(struct wire_in *in, struct wire_pair *pairs)
{
	uint32_t count = wire_get_u32(in);

	if (count > WIRE_METADATA_MAX)
		in->failed = true;
	for (uint32_t i = 0; i < count && !in->failed; i++) {
		pairs[i].key = wire_get_str(in);
		pairs[i].value = wire_get_str(in);
	}
	return in->failed ? 0 : count;
}

void wire_put_fs(struct wire_out *o, uint32_t type, const struct wire_fs *f)
{
	unsigned has = fields(type);

	if (!has)
		o->failed = true;
	wire_put_str(o, f->user);
	wire_put_str(o, f->path);
	if (has & HAS_DESTINATION)
		wire_put_str(o, f->destination);
	if (has & HAS_DEPTH)
		wire_put_u32(o, f->depth);
	if (has & HAS_FLAGS)
		wire_put_u32(o, f->flags);
	if (has & HAS_RANGE) {
		wire_put_u64(o, f->offset);
		wire_put_u64(o, f->length);
	}
	if (has & HAS_METADATA)
		put_pairs(o, f->metadata, f->metadata_count);
}

bool wire_get_fs(struct wire_in *in, uint32_t type, struct wire_fs *ret)
{
	unsigned has = fields(type);

	memset(ret, 0, sizeof(*ret));
	if (!has)
		in->failed = true;
	ret->user = wire_get_str(in);
	ret->path = wire_get_str(in);
	ret->destination = has & HAS_DESTINATION ? wire_get_str(in) : "";
	if (has & HAS_DEPTH)
		ret->depth = wire_get_u32(in);
	if (has & HAS_FLAGS)
		ret->flags = wire_get_u32(in);
	if (has & HAS_RANGE) {
		ret->offset = wire_get_u64(in);
		ret->length = wire_get_u64(in);
	}
	if (has & HAS_METADATA)
		ret->metadata_count = get_pairs(in, ret->metadata);
	return !in->failed;
}

void wire_put_entry(struct wire_out *o, const struct wire_entry *e)
{
	wire_put_u32(o, e->type);
	wire_put_u32(o, e->mode);
	wire_put_u32(o, e->target_mode);
	wire_put_u32(o, e->uid);
	wire_put_u32(o, e->gid);
	wire_put_u64(o, e->size);
	wire_put_u64(o, (uint64_t)e->mtime_ns);
	wire_put_str(o, e->name);
	wire_put_str(o, e->path);
	wire_put_str(o, e->owner);
	wire_put_str(o, e->group);
	wire_put_str(o, e->target);
	put_pairs(o, e->metadata, e->metadata_count);
}

bool wire_get_entry(struct wire_in *in, struct wire_entry *ret)
{
	ret->type = wire_get_u32(in);
	ret->mode = wire_get_u32(in);
	ret->target_mode = wire_get_u32(in);
	ret->uid = wire_get_u32(in);
	ret->gid = wire_get_u32(in);
	ret->size = wire_get_u64(in);
	ret->mtime_ns = (int64_t)wire_get_u64(in);
	ret->name = wire_get_str(in);
	ret->path = wire_get_str(in);
	ret->owner = wire_get_str(in);
	ret->group = wire_get_str(in);
	ret->target = wire_get_str(in);
	ret->metadata_count = get_pairs(in, ret->metadata);
	if (ret->type > WIRE_ENTRY_SYMLINK)
		in->failed = true;
	return !in->failed;
}

void wire_put_fs_event(struct wire_out *o, const struct wire_fs_event *e)
{
	wire_put_u32(o, e->event);
	wire_put_str(o, e->name);
	wire_put_u32(o, e->has_entry);
	if (e->has_entry)
		wire_put_entry(o, &e->entry);
}

bool wire_get_fs_event(struct wire_in *in, struct wire_fs_event *ret)
{
	ret->event = wire_get_u32(in);
	ret->name = wire_get_str(in);
	uint32_t has_entry = wire_get_u32(in);
	ret->has_entry = has_entry == 1;
	if (ret->has_entry)
		wire_get_entry(in, &ret->entry);
	if (ret->event < WIRE_EVENT_CREATE || ret->event > WIRE_EVENT_CHMOD || has_entry > 1)
		in->failed = true;
	return !in->failed;
}
