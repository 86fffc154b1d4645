/*
 * The image of a sandbox's files: a stream of records.
 *
 *     BEGIN  { MOUNT  NODE ""  content }...  END
 *     content of a directory = { NODE  XATTR...  DATA... | content }  LINK  WHITEOUT  GRAFT ...  UP
 *
 * Only what the private layer holds is in it: what was made, changed, renamed or removed. Files of the
 * template that nobody changed are not, and those of which only the name or the attributes were, are
 * there as references. An image is therefore made for the template it was taken from.
 *
 * A record is {u32 type, u32 length of the body, body}, packed and little-endian like the control
 * channel's bodies (wire/wire.h). IMAGE_RECORDS is the one table of them. Whoever reads an image
 * takes it for hostile: it was written by a kernel process, which a guest may have taken over.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

#define IMAGE_MAGIC   0x6c6c6563746f68ull /* "hotcell" */
#define IMAGE_VERSION 1u
#define IMAGE_DATA_MAX (64u << 10)	       /* of one DATA or XATTR */
#define IMAGE_RECORD_MAX (IMAGE_DATA_MAX + 8192u) /* with its head */

/* Fields a record can have, in the order in which they stand in its body. */
enum image_field {
	IMAGE_HAS_VERSION = 1, /* u64 magic, u32 version */
	IMAGE_HAS_NAME = 2,    /* str */
	IMAGE_HAS_ATTR = 4,    /* struct image_attr */
	IMAGE_HAS_LINK = 8,    /* u32 */
	IMAGE_HAS_SOURCE = 16, /* u32 root, str path */
	IMAGE_HAS_NUMBER = 32, /* u64 */
	IMAGE_HAS_DATA = 64,   /* u32 length, bytes */
};

/* IMAGE(number, NAME, fields) */
#define IMAGE_RECORDS(IMAGE)                                                                       \
	IMAGE(1, BEGIN, IMAGE_HAS_VERSION)                                                         \
	/* The file system mounted at `name`, which there must be already. */                      \
	IMAGE(2, MOUNT, IMAGE_HAS_NAME)                                                            \
	/* `name` in the directory that is open, "" for the root of the mount. A directory is open  \
	 * from then on. link: see LINK, 0 = this is its only name. root: 0 = it is all here, else    \
	 * a file of the template: (root, path) of the host. path: else a symbolic link's target. */ \
	IMAGE(3, NODE, IMAGE_HAS_NAME | IMAGE_HAS_ATTR | IMAGE_HAS_LINK | IMAGE_HAS_SOURCE)        \
	/* Another name of the link-th NODE that said it would have some. */                       \
	IMAGE(4, LINK, IMAGE_HAS_NAME | IMAGE_HAS_LINK)                                            \
	/* The template's file of that name was removed. */                                        \
	IMAGE(5, WHITEOUT, IMAGE_HAS_NAME)                                                         \
	/* The template's file from another place is still there. */                               \
	IMAGE(6, GRAFT, IMAGE_HAS_NAME | IMAGE_HAS_SOURCE)                                         \
	/* Of the last NODE: an extended attribute. */                                             \
	IMAGE(7, XATTR, IMAGE_HAS_NAME | IMAGE_HAS_DATA)                                           \
	/* Of the last NODE: bytes at offset `number`. Holes are left out. */                      \
	IMAGE(8, DATA, IMAGE_HAS_NUMBER | IMAGE_HAS_DATA)                                          \
	/* The directory is complete. */                                                           \
	IMAGE(9, UP, 0)                                                                            \
	/* number: of records before this one. */                                                  \
	IMAGE(10, END, IMAGE_HAS_NUMBER)

enum image_type {
#define IMAGE(number, name, fields) IMAGE_##name = number,
	IMAGE_RECORDS(IMAGE)
#undef IMAGE
};

struct image_attr {
	uint32_t mode; /* with the type */
	uint32_t uid, gid, nlink, rdev;
	uint64_t size;
	int64_t atime, mtime, ctime, btime; /* ns since the epoch */
};

struct image_record {
	uint32_t type; /* enum image_type */
	uint32_t version;
	uint32_t link, root;
	const char *name, *path;
	struct image_attr attr;
	uint64_t number;
	const void *data;
	uint32_t length; /* of data */
};

/* Appends a record; `o` fails when it does not fit. Fields that its type does not have are ignored. */
void image_put(struct wire_out *o, const struct image_record *r);

/*
 * The record that data[0..size) begins with. Its length, 0 = not complete yet, -EPROTO = no record, or
 * longer than IMAGE_RECORD_MAX. Strings and data of *ret point into `data`; names and paths are checked
 * for nothing but their form.
 */
int image_get(const uint8_t *data, size_t size, struct image_record *ret);
