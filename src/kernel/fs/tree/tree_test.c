/*
 * The tree file system over a directory of the host, without guests: accounting comes back to where
 * it was, and an allocation that fails anywhere leaves names and charges consistent.
 */
#include "check.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/core/limits.h"
#include "kernel/core/user.h"
#include "kernel/fs/namei.h"
#include "kernel/fs/tree/tree_internal.h"
#include "kernel/host/proc.h"

#define LOWER 1

static char place[] = "/tmp/tree-test.XXXXXX";
static struct superblock *sb;

static void host_put(const char *name, char fill, size_t size)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/lower/%s", place, name);
	FILE *f = fopen(path, "w");
	CHECK(f);
	for (size_t i = 0; i < size; i++)
		fputc(fill, f);
	CHECK_EQ(fclose(f), 0);
}

static int host_dir(const char *name)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", place, name);
	mkdir(path, 0755);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* A lower directory with a small file, a big one, a directory and a link. */
static void begin(void)
{
	CHECK(mkdtemp(place));
	CHECK_EQ(arena_init(MIB(64)), 0);
	CHECK_EQ(clock_init(), 0);
	CHECK_EQ(limits_init(), 0);
	CHECK_EQ(vfs_init(), 0);
	CHECK_EQ(host_ref_init(), 0);
	limit_set(LIMIT_DISK_BYTES, MIB(16));
	limit_set(LIMIT_DISK_INODES, 1000);
	host_proc_set_root(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	CHECK_EQ(host_root_set(HOST_ROOT_STORE, host_dir("store")), 0);
	CHECK_EQ(host_root_set(LOWER, host_dir("lower")), 0);
	close(host_dir("lower/sub"));
	host_put("small", 's', 100);
	host_put("big", 'b', 50000);
	host_put("sub/inner", 'i', 10);
	struct tree_options o = { .magic = OVERLAY_MAGIC_NUMBER,
				  .uid = 5,
				  .gid = 6,
				  .has_lower = true,
				  .lower_root = LOWER };
	CHECK_EQ(tree_sb_new(&o, &sb), 0);
	CHECK_EQ(mount_add(sb, NULL, 0, "overlay"), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	return remove(path);
}

static void end(void)
{
	CHECK_EQ(nftw(place, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static int find(const char *path, struct path *ret)
{
	return path_lookup(NULL, AT_FDCWD, path, 0, ret);
}

static bool exists(const char *path)
{
	struct path p;
	int r = find(path, &p);
	if (r == 0)
		path_put(&p);
	return r == 0;
}

static struct qstr qstr_of(const char *name)
{
	return (struct qstr){ name, (uint16_t)strlen(name) };
}

static int make(const char *name, uint32_t mode)
{
	return vfs_create(NULL, root_path(), qstr_of(name), mode, NULL);
}

static int write_at(const char *path, const char *bytes, uint64_t pos)
{
	struct path p;
	struct uio u;
	int r = find(path, &p);
	if (r < 0)
		return r;
	char copy[64];
	size_t size = strlen(bytes);
	memcpy(copy, bytes, size);
	uio_kernel(&u, copy, size);
	r = (int)tree_write(p.dentry->inode, &u, pos);
	path_put(&p);
	return r;
}

static char read_at(const char *path, uint64_t pos)
{
	struct path p;
	struct uio u;
	char c = '?';
	if (find(path, &p) < 0)
		return '!';
	uio_kernel(&u, &c, 1);
	CHECK_EQ(tree_read(p.dentry->inode, &u, pos), 1);
	path_put(&p);
	return c;
}

static int remove_name(const char *path)
{
	struct path p;
	int r = find(path, &p);
	if (r < 0)
		return r;
	r = tree_unlink(p.dentry->parent->inode, p.dentry);
	if (r == 0)
		dentry_remove(p.dentry);
	path_put(&p);
	return r;
}

static int move(const char *from, const char *to)
{
	struct path p;
	struct dentry *target;
	int r = find(from, &p);
	if (r < 0)
		return r;
	r = dentry_lookup(NULL, root_path().dentry, qstr_of(to), &target);
	if (r == 0) {
		struct inode *dir = p.dentry->parent->inode, *root = root_path().dentry->inode;
		r = tree_rename(dir, p.dentry, root, target, 0);
		/* The cache is dropped instead of moved: the next lookup asks the file system. */
		if (r == 0) {
			dentry_remove(target);
			dentry_remove(p.dentry);
		}
		dentry_put(target);
	}
	path_put(&p);
	return r;
}

static void forget_cache(void)
{
	while (dentry_shrink(100000) > 0)
		;
}

TEST(lower_files_are_read_and_evictable)
{
	begin();
	struct path p;
	CHECK_EQ(read_at("/small", 99), 's');
	CHECK_EQ(read_at("/big", 49999), 'b');
	CHECK_EQ(find("/sub/inner", &p), 0);
	CHECK_EQ(p.dentry->inode->uid, 5);
	CHECK_EQ(p.dentry->inode->gid, 6);
	path_put(&p);
	CHECK(!exists("/none"));
	forget_cache();
	CHECK_EQ(read_at("/sub/inner", 3), 'i');
	CHECK_EQ(limit_used(LIMIT_DISK_INODES), 0);
	CHECK_EQ(limit_used(LIMIT_DISK_BYTES), 0);
	end();
}

TEST(changes_stay_without_the_cache)
{
	begin();
	CHECK_EQ(write_at("/sub/inner", "X", 0), 1);
	CHECK_EQ(write_at("/big", "Y", 20000), 1);
	CHECK_EQ(remove_name("/small"), 0);
	CHECK_EQ(move("/sub", "moved"), 0);
	forget_cache();
	CHECK_EQ(read_at("/moved/inner", 0), 'X');
	CHECK_EQ(read_at("/moved/inner", 1), 'i');
	CHECK_EQ(read_at("/big", 20000), 'Y');
	CHECK_EQ(read_at("/big", 20001), 'b');
	CHECK(!exists("/small"));
	CHECK(!exists("/sub"));
	end();
}

TEST(charges_come_back)
{
	begin();
	CHECK_EQ(write_at("/big", "Y", 0), 1);
	CHECK_EQ(limit_used(LIMIT_DISK_BYTES), 53248);
	CHECK_EQ(make("f", S_IFREG | 0600), 0);
	CHECK_EQ(write_at("/f", "tiny", 0), 4);
	CHECK_EQ(limit_used(LIMIT_DISK_BYTES), 53248 + 4096);
	CHECK_EQ(write_at("/f", "far", 100000), 3);
	CHECK_EQ(limit_used(LIMIT_DISK_BYTES), 53248 + 8192);
	CHECK_EQ(limit_used(LIMIT_DISK_INODES), 2);
	CHECK_EQ(remove_name("/f"), 0);
	CHECK_EQ(remove_name("/big"), 0);
	CHECK_EQ(limit_used(LIMIT_DISK_BYTES), 0);
	CHECK_EQ(limit_used(LIMIT_DISK_INODES), 0);
	end();
}

TEST(limits_are_enospc)
{
	begin();
	limit_set(LIMIT_DISK_INODES, 2);
	CHECK_EQ(make("a", S_IFREG | 0600), 0);
	CHECK_EQ(make("b", S_IFREG | 0600), 0);
	CHECK_EQ(make("c", S_IFREG | 0600), -ENOSPC);
	CHECK_EQ(write_at("/small", "x", 0), -ENOSPC);
	CHECK_EQ(remove_name("/a"), 0);
	CHECK_EQ(write_at("/small", "x", 0), 1);
	limit_set(LIMIT_DISK_BYTES, 8192);
	CHECK_EQ(write_at("/big", "x", 0), -ENOSPC);
	CHECK_EQ(read_at("/big", 0), 'b');
	CHECK_EQ(write_at("/b", "x", 0), 1);
	CHECK_EQ(write_at("/b", "x", 2100), 1); /* the same page */
	CHECK_EQ(write_at("/b", "x", 5000), -ENOSPC);
	CHECK_EQ(read_at("/b", 0), 'x');
	end();
}

/* Everything that changes names or moves data. Errors are fine, half-done things are not. */
static void scenario(void)
{
	make("new", S_IFREG | 0600);
	write_at("/new", "data", 0);
	write_at("/new", "more", 3000);
	make("dir", S_IFDIR | 0700);
	write_at("/sub/inner", "X", 0);
	write_at("/big", "Y", 20000);
	move("/sub", "moved");
	move("/new", "dir2");
	remove_name("/small");
	remove_name("/dir2");
	remove_name("/moved/inner");
}

TEST(a_failing_allocation_anywhere)
{
	for (uint64_t n = 1; n < 150; n++) {
		fflush(stdout);
		pid_t pid = fork();
		if (pid == 0) {
			begin();
			arena_fail_after(n);
			scenario();
			arena_fail_after(0);
			forget_cache();
			/* A name is in exactly one place and its data is old or new, not torn. */
			CHECK(exists("/sub") != exists("/moved"));
			CHECK(!exists("/moved/inner") || strchr("iX", read_at("/moved/inner", 0)));
			CHECK_EQ(read_at("/big", 0), 'b');
			CHECK(strchr("bY", read_at("/big", 20000)));
			scenario();
			scenario();
			CHECK(!exists("/small") && !exists("/sub") && exists("/moved") && exists("/dir"));
			CHECK(!exists("/moved/inner"));
			end();
			_exit(0);
		}
		int status;
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		if (status != 0)
			printf("# with allocation %d failing\n", (int)n);
		CHECK_EQ(status, 0);
	}
}

CHECK_MAIN()
