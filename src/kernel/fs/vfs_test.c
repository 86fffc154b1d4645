/*
 * The VFS core without guests: the cache stays within its bound, names move with their dentries,
 * descriptor tables survive failing allocations.
 */
#include "check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/core/limits.h"
#include "kernel/fs/file.h"
#include "kernel/fs/namei.h"
#include "kernel/fs/tree/tree.h"
#include "kernel/fs/vfs_internal.h"
#include "kernel/task/task.h"

static struct task *task;

/* A root of the tree file system, a second one mounted at /mnt, and a task of user 0. */
static void begin(void)
{
	struct superblock *sb;
	struct tree_options o = { .magic = TMPFS_MAGIC_NUMBER, .root_mode = 0755 };
	CHECK_EQ(arena_init(MIB(256)), 0);
	CHECK_EQ(clock_init(), 0);
	CHECK_EQ(limits_init(), 0);
	CHECK_EQ(vfs_init(), 0);
	limit_set(LIMIT_DISK_INODES, 100000);
	limit_set(LIMIT_FILES, 1000);
	CHECK_EQ(tree_sb_new(&o, &sb), 0);
	CHECK_EQ(mount_add(sb, NULL, 0, "root"), 0);
	CHECK_EQ(tree_sb_new(&o, &sb), 0);
	CHECK_EQ(mount_add(sb, "/deep/mnt", 0, "other"), 0);
	task = knew(struct task);
	task->proc = knew(struct process);
	task->cred = cred_new(0, 0);
	task->fs = knew(struct fs_context);
	task->fs->root = path_get(root_path());
	task->fs->cwd = path_get(root_path());
	task->files = fdtable_new();
	task->proc->rlimits[RLIMIT_NOFILE] = (struct rlimit){ 1024, 1024 };
}

static struct path find(const char *name)
{
	struct path p;
	CHECK_EQ(path_lookup(task, AT_FDCWD, name, LOOKUP_FOLLOW, &p), 0);
	return p;
}

static void make(const char *dir, const char *name, uint32_t mode)
{
	struct path p = find(dir);
	CHECK_EQ(vfs_create(task, p, (struct qstr){ name, (uint16_t)strlen(name) }, mode, NULL), 0);
	path_put(&p);
}

static const char *name_of(struct path p)
{
	static char text[PATH_MAX_BYTES];
	CHECK(path_format(p, root_path(), text, sizeof(text)) > 0);
	return text;
}

TEST(mounts_are_crossed_both_ways)
{
	begin();
	make("/deep/mnt", "dir", S_IFDIR | 0755);
	struct path p = find("/deep/mnt/dir");
	CHECK_STR(name_of(p), "/deep/mnt/dir");
	CHECK(p.mnt != root_path().mnt);
	path_put(&p);
	p = find("/deep/mnt/dir/../../mnt/..");
	CHECK_STR(name_of(p), "/deep");
	CHECK(p.mnt == root_path().mnt);
	path_put(&p);
	struct path none;
	CHECK_EQ(path_lookup(task, AT_FDCWD, "/deep/mnt/dir", LOOKUP_NO_XDEV, &none), -EXDEV);
	CHECK_EQ(path_lookup(task, AT_FDCWD, "deep/..", LOOKUP_BENEATH, &none), 0);
	path_put(&none);
	CHECK_EQ(path_lookup(task, AT_FDCWD, "deep/../..", LOOKUP_BENEATH, &none), -EXDEV);
}

TEST(negative_entries_are_bounded)
{
	begin();
	char name[32];
	struct path p;
	uint64_t at_limit = 0;
	for (int i = 0; i < 200000; i++) {
		snprintf(name, sizeof(name), "/deep/none%d", i);
		CHECK_EQ(path_lookup(task, AT_FDCWD, name, 0, &p), -ENOENT);
		if (i == 40000)
			at_limit = arena_used();
	}
	CHECK(vfs->lru_count <= DENTRY_CACHE_MAX + 64);
	CHECK(arena_used() <= at_limit);
	while (dentry_shrink(100000) > 0)
		;
	CHECK_EQ(vfs->lru_count, 0);
	p = find("/deep/mnt");
	CHECK(p.mnt != root_path().mnt);
	path_put(&p);
}

TEST(moved_dentries_keep_their_children)
{
	begin();
	make("/", "a", S_IFDIR | 0755);
	make("/a", "b", S_IFDIR | 0755);
	make("/", "c", S_IFDIR | 0755);
	struct path b = find("/a/b"), c = find("/c");
	CHECK_EQ(dentry_move(b.dentry, c.dentry, (struct qstr){ "new", 3 }), 0);
	CHECK_STR(name_of(b), "/c/new");
	CHECK(dentry_is_below(b.dentry, c.dentry));
	CHECK(dentry_find(c.dentry, (struct qstr){ "new", 3 }) == b.dentry);
	struct path a = find("/a");
	CHECK(!dentry_find(a.dentry, (struct qstr){ "b", 1 }));
	dentry_exchange(a.dentry, b.dentry);
	CHECK_STR(name_of(b), "/a");
	CHECK_STR(name_of(a), "/c/new");
	dentry_remove(b.dentry);
	CHECK_STR(name_of(b), "/a (deleted)");
	path_put(&a);
	path_put(&b);
	path_put(&c);
}

static struct file *new_file(void)
{
	struct path p = find("/deep");
	struct file *f = file_new(FOPS_DIR, p, p.dentry->inode, 0);
	path_put(&p);
	return f;
}

TEST(descriptors_take_the_lowest_number)
{
	begin();
	for (int i = 0; i < 100; i++)
		CHECK_EQ(fd_install(task, new_file(), 0, i & 1), i);
	CHECK_EQ(limit_used(LIMIT_FILES), 100);
	CHECK_EQ(fd_close(task, 7), 0);
	CHECK_EQ(fd_close(task, 3), 0);
	CHECK_EQ(fd_install(task, new_file(), 5, false), 7);
	CHECK_EQ(fd_install(task, new_file(), 0, false), 3);
	CHECK_EQ(fd_install(task, new_file(), 0, false), 100);
	struct fdtable *copy = fdtable_copy(task->files);
	CHECK(copy);
	CHECK_EQ(copy->count, 101);
	fdtable_close_on_exec(task->files, task);
	CHECK_EQ(task->files->count, 53);
	CHECK(fd_file(task, 8) && !fd_file(task, 9));
	CHECK_EQ(limit_used(LIMIT_FILES), 101);
	fdtable_put(task->files, task);
	fdtable_put(copy, task);
	CHECK_EQ(limit_used(LIMIT_FILES), 0);
}

TEST(failing_allocations_leave_the_table_whole)
{
	begin();
	int done = 0;
	for (uint64_t n = 1; n < 400 && done < 60; n++) {
		arena_fail_after(n % 7 + 1);
		struct path p = { 0 };
		struct file *f = NULL;
		if (path_lookup(task, AT_FDCWD, "/deep/mnt/some/thing", 0, &p) == 0)
			path_put(&p);
		if (path_lookup(task, AT_FDCWD, "/deep", 0, &p) == 0) {
			f = file_new(FOPS_DIR, p, p.dentry->inode, 0);
			path_put(&p);
		}
		if (f && fd_install(task, f, (int)(n * 37 % 1000), false) < 0)
			file_put(f);
		else if (f)
			done++;
		struct fdtable *copy = fdtable_copy(task->files);
		fdtable_put(copy, task);
		arena_fail_after(0);
		CHECK_EQ(task->files->count, limit_used(LIMIT_FILES));
	}
	fdtable_put(task->files, task);
	CHECK_EQ(limit_used(LIMIT_FILES), 0);
}

/* Not a check: the cost of the walk that every stat() pays, as a comment of the TAP output. */
TEST(cost_of_a_cached_walk)
{
	begin();
	struct timespec a, b;
	make("/deep/mnt", "one", S_IFDIR | 0755);
	make("/deep/mnt/one", "two", S_IFDIR | 0755);
	make("/deep/mnt/one/two", "file.txt", S_IFREG | 0644);
	struct path p = find("/deep/mnt/one/two/file.txt");
	path_put(&p);
	clock_gettime(CLOCK_MONOTONIC, &a);
	const int rounds = 200000;
	for (int i = 0; i < rounds; i++) {
		path_lookup(task, AT_FDCWD, "/deep/mnt/one/two/file.txt", LOOKUP_FOLLOW, &p);
		path_put(&p);
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("# five components: %ld ns\n",
	       (long)((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec) / rounds);
}

CHECK_MAIN()
