/*
 * Pieces of the control side without a channel: what paths mean, and the walk over a tree, also with
 * failing allocations.
 */
#include "check.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/util.h"
#include "kernel/control/tree_walk.h"
#include "kernel/control/users.h"
#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/core/limits.h"
#include "kernel/fs/tree/tree.h"
#include "kernel/fs/vfs_internal.h"

TEST(what_a_path_means)
{
	static const struct {
		const char *home, *path, *want;
	} rows[] = {
		{ "/home/u", "", "/home/u" },
		{ "/home/u", "~", "/home/u" },
		{ "/home/u", "~/", "/home/u" },
		{ "/home/u", "~/a", "/home/u/a" },
		{ "/home/u", "a//b/./c/", "/home/u/a/b/c" },
		{ "/home/u", "..", "/home" },
		{ "/home/u", "../../../..", "/" },
		{ "/home/u", "/", "/" },
		{ "/home/u", "//x/../y", "/y" },
		{ "/home/u", "a~", "/home/u/a~" },
		{ "/home/u", "/~", "/~" },
		{ "/", "x", "/x" },
		{ "/", "", "/" },
		{ "", "x", "/x" },
		{ "/home/u", "...", "/home/u/..." },
	};
	char path[64];
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_EQ(home_path(rows[i].home, rows[i].path, path, sizeof(path)), 0);
		CHECK_STR(path, rows[i].want);
	}
	CHECK_EQ(home_path("/home/u", "~x", path, sizeof(path)), -EINVAL);
	CHECK_EQ(home_path("/home/u", "~x/y", path, sizeof(path)), -EINVAL);
}

TEST(paths_fit_or_are_refused)
{
	char path[9] = "";
	CHECK_EQ(home_path("/h", "abcde", path, 9), 0);
	CHECK_STR(path, "/h/abcde");
	CHECK_EQ(home_path("/h", "abcdef", path, 9), -ENAMETOOLONG);
	CHECK_EQ(home_path("/too/long", "", path, 9), -ENAMETOOLONG);
	CHECK_EQ(home_path("/h", "/", path, 1), -ENAMETOOLONG);
	CHECK_EQ(home_path("/", "", path, 2), 0);
	CHECK_STR(path, "/");
}

static void begin(void)
{
	struct tree_options o = { .magic = TMPFS_MAGIC_NUMBER, .root_mode = 0755 };
	struct superblock *sb;
	CHECK_EQ(arena_init(MIB(64)), 0);
	CHECK_EQ(clock_init(), 0);
	CHECK_EQ(limits_init(), 0);
	CHECK_EQ(vfs_init(), 0);
	CHECK_EQ(tree_sb_new(&o, &sb), 0);
	CHECK_EQ(mount_add(sb, NULL, 0, "root"), 0);
}

static struct path make(struct path dir, const char *name, uint32_t mode)
{
	struct path p;
	struct qstr q = { name, (uint16_t)strlen(name) };
	CHECK_EQ(vfs_create(NULL, dir, q, mode, &p), 0);
	return p;
}

TEST(a_walk_is_in_order_and_needs_no_more_than_its_memory)
{
	char name[16], last[16] = "";
	struct tree_walk w = { 0 };
	uint32_t count = 0;

	begin();
	struct path dir = make(root_path(), "d", S_IFDIR | 0755);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "%u", i * 7919 % 1000);
		struct path p = make(dir, name, S_IFREG | 0644);
		path_put(&p);
	}
	uint64_t used = arena_used();
	CHECK_EQ(tree_walk_push(&w, root_path()), 0);
	CHECK_STR(tree_walk_next(&w), "d");
	CHECK_EQ(tree_walk_push(&w, dir), 0);
	CHECK(path_equal(tree_walk_dir(&w), dir));
	for (const char *next; (next = tree_walk_next(&w)); count++) {
		CHECK(strcmp(last, next) < 0);
		snprintf(last, sizeof(last), "%s", next);
	}
	CHECK_EQ(count, 1000);
	tree_walk_pop(&w);
	CHECK(!tree_walk_next(&w));
	tree_walk_free(&w);
	tree_walk_free(&w);
	CHECK(arena_used() <= used + PAGE_SIZE * 16); /* slabs are kept, not leaked */
	path_put(&dir);
}

TEST(a_walk_without_memory_is_refused_and_leaves_nothing)
{
	struct path dir;
	int r = -ENOMEM;

	begin();
	dir = make(root_path(), "d", S_IFDIR | 0755);
	for (unsigned i = 0; i < 200; i++) {
		char name[16];
		snprintf(name, sizeof(name), "%u", i);
		struct path p = make(dir, name, S_IFREG | 0644);
		path_put(&p);
	}
	for (uint64_t n = 1; n < 100 && r < 0; n++) {
		struct tree_walk w = { 0 };
		arena_fail_after(n);
		r = tree_walk_push(&w, dir);
		arena_fail_after(0);
		CHECK(r == 0 || r == -ENOMEM);
		CHECK_EQ(w.depth, r == 0 ? 1 : 0);
		tree_walk_free(&w);
		CHECK_EQ(dir.dentry->refs, 1 + 200); /* ours, and one for each child in the cache */
	}
	CHECK_EQ(r, 0);
	path_put(&dir);
}

CHECK_MAIN()
