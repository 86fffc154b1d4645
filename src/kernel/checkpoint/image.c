/* Records of images: packing and unpacking, by the table in image.h. */
#include "kernel/checkpoint/image.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"

#define HEAD_SIZE 8u

static const struct {
	bool known;
	uint8_t fields;
} types[] = {
#define IMAGE(number, name, fields) [number] = { true, fields },
	IMAGE_RECORDS(IMAGE)
#undef IMAGE
};

static void put_attr(struct wire_out *o, const struct image_attr *a)
{
	const uint32_t words[] = { a->mode, a->uid, a->gid, a->nlink, a->rdev };
	const int64_t times[] = { a->atime, a->mtime, a->ctime, a->btime };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		wire_put_u32(o, words[i]);
	wire_put_u64(o, a->size);
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		wire_put_u64(o, (uint64_t)times[i]);
}

static void get_attr(struct wire_in *in, struct image_attr *a)
{
	uint32_t *const words[] = { &a->mode, &a->uid, &a->gid, &a->nlink, &a->rdev };
	int64_t *const times[] = { &a->atime, &a->mtime, &a->ctime, &a->btime };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		*words[i] = wire_get_u32(in);
	a->size = wire_get_u64(in);
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		*times[i] = (int64_t)wire_get_u64(in);
}

static void put_body(struct wire_out *o, unsigned has, const struct image_record *r)
{
	if (has & IMAGE_HAS_VERSION) {
		wire_put_u64(o, IMAGE_MAGIC);
		wire_put_u32(o, r->version);
	}
	if (has & IMAGE_HAS_NAME)
		wire_put_str(o, r->name);
	if (has & IMAGE_HAS_ATTR)
		put_attr(o, &r->attr);
	if (has & IMAGE_HAS_LINK)
		wire_put_u32(o, r->link);
	if (has & IMAGE_HAS_SOURCE) {
		wire_put_u32(o, r->root);
		wire_put_str(o, r->path);
	}
	if (has & IMAGE_HAS_NUMBER)
		wire_put_u64(o, r->number);
	if (has & IMAGE_HAS_DATA) {
		wire_put_u32(o, r->length);
		wire_put_bytes(o, r->data, r->length);
	}
}

void image_put(struct wire_out *o, const struct image_record *r)
{
	uint32_t start = o->length;

	wire_put_u32(o, r->type);
	wire_put_u32(o, 0);
	put_body(o, types[r->type].fields, r);
	if (o->failed)
		return;
	uint32_t length = o->length - start - HEAD_SIZE;
	memcpy(o->data + start + sizeof(uint32_t), &length, sizeof(length));
}

static void get_data(struct wire_in *in, struct image_record *r)
{
	r->length = wire_get_u32(in);
	if (r->length > IMAGE_DATA_MAX)
		in->failed = true;
	else
		r->data = wire_get_bytes(in, r->length);
}

static bool get_body(struct wire_in *in, unsigned has, struct image_record *r)
{
	if (has & IMAGE_HAS_VERSION) {
		if (wire_get_u64(in) != IMAGE_MAGIC)
			return false;
		r->version = wire_get_u32(in);
	}
	if (has & IMAGE_HAS_NAME)
		r->name = wire_get_str(in);
	if (has & IMAGE_HAS_ATTR)
		get_attr(in, &r->attr);
	if (has & IMAGE_HAS_LINK)
		r->link = wire_get_u32(in);
	if (has & IMAGE_HAS_SOURCE) {
		r->root = wire_get_u32(in);
		r->path = wire_get_str(in);
	}
	if (has & IMAGE_HAS_NUMBER)
		r->number = wire_get_u64(in);
	if (has & IMAGE_HAS_DATA)
		get_data(in, r);
	return wire_in_end(in);
}

int image_get(const uint8_t *data, size_t size, struct image_record *ret)
{
	struct wire_in head = { .data = data, .length = HEAD_SIZE };

	if (size < HEAD_SIZE)
		return 0;
	*ret = (struct image_record){ .type = wire_get_u32(&head), .name = "", .path = "" };
	uint32_t length = wire_get_u32(&head);
	if (ret->type >= ARRAY_SIZE(types) || !types[ret->type].known ||
	    length > IMAGE_RECORD_MAX - HEAD_SIZE)
		return -EPROTO;
	if (size - HEAD_SIZE < length)
		return 0;
	struct wire_in in = { .data = data + HEAD_SIZE, .length = length };
	if (!get_body(&in, types[ret->type].fields, ret))
		return -EPROTO;
	return (int)(HEAD_SIZE + length);
}
