/*
 * Images of files from a hostile writer. Whatever they are: nothing is lost or left behind. One that is
 * taken says the same when it is taken again from what it made.
 */
#include "fuzz.h"

#include <string.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/limits.h"
#include "kernel/fs/tree/tree_image.h"
#include "kernel/fs/tree/tree_internal.h"
#include "world.h"

#define IMAGE_MAX MIB(1)

struct image {
	uint8_t data[IMAGE_MAX];
	uint32_t length;
};

static struct inode *root(void)
{
	return root_path().dentry->inode;
}

static void empty_the_tree(void)
{
	struct tree_sb *tsb = root()->sb->priv;

	tree_dir_free(root());
	tree_xattr_free(root());
	tsb->loaded = false;
	while (dentry_shrink(UINT32_MAX) > 0)
		;
}

/* 1 = a whole image, 0 = not its end, or -errno. */
static int load(const uint8_t *data, size_t size)
{
	struct tree_load l = { 0 };
	struct image_record r;
	int n = 0, done = 0;

	while (done == 0 && (n = image_get(data, size, &r)) > 0) {
		FUZZ_CHECK((size_t)n <= size);
		done = tree_load_record(&l, &r);
		data += n;
		size -= (size_t)n;
	}
	tree_load_end(&l);
	return n < 0 ? n : done;
}

/* False: it does not fit. */
static bool save(struct image *ret)
{
	struct wire_out o = { ret->data, 0, sizeof(ret->data), false };
	struct tree_save s = { 0 };
	struct image_record r;
	int more;

	while ((more = tree_save_next(&s, &r)) > 0)
		image_put(&o, &r);
	FUZZ_CHECK(more == 0);
	tree_save_end(&s);
	ret->length = o.length;
	return !o.failed;
}

static void check_again(void)
{
	static struct image first, second;

	if (!save(&first))
		return;
	empty_the_tree();
	FUZZ_CHECK(load(first.data, first.length) == 1);
	FUZZ_CHECK(save(&second));
	FUZZ_CHECK(first.length == second.length);
	FUZZ_CHECK(memcmp(first.data, second.data, first.length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct image none;

	world_task();
	empty_the_tree();
	FUZZ_CHECK(save(&none)); /* what it needs once for all it has from now on */
	uint64_t objects = arena_objects(), used = world_used();
	if (load(data, size) == 1)
		check_again();
	empty_the_tree();
	root()->nlink = 2;
	FUZZ_CHECK(arena_objects() == objects && world_used() == used);
	return 0;
}
