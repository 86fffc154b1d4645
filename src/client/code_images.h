/* Images of results, saved as files that are new: figure-1.png, figure-2.png, and so on. */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* What a program inside may fill a directory of this machine with, in one run of the command. */
#define IMAGES_MAX	1000
#define IMAGES_SIZE_MAX (UINT64_C(1) << 30)

struct image_kind {
	const char *field;     /* of a result */
	const char *extension; /* of the file */
	int text;	       /* as it is; else base64 */
};

/* Best first; NULL behind the last. */
const struct image_kind *image_kind_at(size_t i);

struct images {
	const char *directory; /* NULL = the current one */
	unsigned int number;   /* of the last file */
	unsigned int count;
	uint64_t size;
};

/*
 * Saves one of that kind. The name has the first number that is free from the last one on (`next` 0:
 * from the last one itself, for another form of the same image); no file that is there is touched, nor
 * a link followed. *ret_name is how the user reaches it. `data` is changed. -errno, nothing is left.
 */
int images_save(struct images *m, const struct image_kind *kind, int next, char *data, size_t size,
		char ret_name[PATH_MAX], struct error *err);
