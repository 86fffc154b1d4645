/*
 * Images without a guest: taken and put back with allocations that fail anywhere, and what a template
 * that has changed meanwhile does to one.
 */
#include "check.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/core/limits.h"
#include "kernel/core/user.h"
#include "kernel/fs/tree/tree_image.h"
#include "kernel/fs/tree/tree_internal.h"
#include "kernel/host/proc.h"

#define LOWER 1

static char place[] = "/tmp/image-test.XXXXXX";
static struct superblock *sb;
static uint8_t image[KIB(256)];
static uint32_t image_length;

static char *host_path(const char *name)
{
	static char path[128];
	snprintf(path, sizeof(path), "%s/%s", place, name);
	return path;
}

static int host_dir(const char *name)
{
	mkdir(host_path(name), 0755);
	return open(host_path(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void host_put(const char *name, size_t size)
{
	FILE *f = fopen(host_path(name), "w");
	CHECK(f);
	for (size_t i = 0; i < size; i++)
		fputc('h', f);
	CHECK_EQ(fclose(f), 0);
}

/* An overlay of a lower directory with a file and a directory that has one, in a fresh kernel. */
static void begin(void)
{
	struct tree_options o = { .magic = OVERLAY_MAGIC_NUMBER,
				  .has_lower = true,
				  .lower_root = LOWER };
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
	CHECK_EQ(tree_sb_new(&o, &sb), 0);
	CHECK_EQ(mount_add(sb, NULL, 0, "overlay"), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	return remove(path);
}

static struct qstr qstr_of(const char *name)
{
	return (struct qstr){ name, (uint16_t)strlen(name) };
}

static struct inode *find(const char *path)
{
	struct path p;
	if (path_lookup(NULL, AT_FDCWD, path, 0, &p) < 0)
		return NULL;
	struct inode *inode = p.dentry->inode; /* held by its name, as long as nothing is evicted */
	path_put(&p);
	return inode;
}

static void write_to(const char *path, size_t size, uint64_t pos)
{
	static char bytes[8192];
	struct uio u;
	memset(bytes, 'w', sizeof(bytes));
	uio_kernel(&u, bytes, size);
	CHECK_EQ(tree_write(find(path), &u, pos), (ssize_t)size);
}

/* Something of everything: own, changed, renamed and removed, small and large. */
static void change(void)
{
	struct inode *root = sb->root->inode;
	struct dentry *d;
	struct inode *dir;
	CHECK_EQ(tree_add_dir(root, "new", 0750, 1, 2, &dir), 0);
	CHECK_EQ(vfs_create(NULL, root_path(), qstr_of("file"), S_IFREG | 0640, NULL), 0);
	write_to("/file", 100, 0);
	CHECK_EQ(vfs_create(NULL, root_path(), qstr_of("large"), S_IFREG | 0600, NULL), 0);
	write_to("/large", 8192, 0);
	write_to("/large", 8192, 300000);
	CHECK_EQ(tree_add_symlink(dir, "link", "../file"), 0);
	CHECK_EQ(dentry_lookup(NULL, root_path().dentry, qstr_of("hard"), &d), 0);
	CHECK_EQ(tree_link(root, d, find("/large")), 0);
	dentry_put(d);
	CHECK_EQ(tree_setxattr(find("/file"), "user.x", "value", 5, 0), 0);
	write_to("/sub/inner", 1, 3);
	const struct iattr attr = { .valid = ATTR_MODE, .mode = 0611 };
	CHECK_EQ(inode_ops(find("/kept"))->setattr(find("/kept"), &attr), 0);
	CHECK_EQ(dentry_lookup(NULL, root_path().dentry, qstr_of("gone"), &d), 0);
	CHECK_EQ(tree_unlink(root, d), 0);
	dentry_remove(d);
	dentry_put(d);
}

static int save(void)
{
	struct wire_out o = { image, 0, sizeof(image), false };
	struct tree_save s = { 0 };
	struct image_record r;
	int more;

	while ((more = tree_save_next(&s, &r)) > 0)
		image_put(&o, &r);
	tree_save_end(&s);
	CHECK(!o.failed);
	image_length = o.length;
	return more;
}

static int load(uint64_t *ret_missing)
{
	struct tree_load l = { 0 };
	struct image_record r;
	uint32_t at = 0;
	int done = 0, n;

	while (done == 0 && (n = image_get(image + at, image_length - at, &r)) > 0) {
		at += (uint32_t)n;
		done = tree_load_record(&l, &r);
	}
	*ret_missing = l.missing;
	tree_load_end(&l);
	return done;
}

/* Runs fn in a process of its own, whose arena is new; what it has in `image` comes back. */
static void in_a_kernel(void (*fn)(uint64_t n), uint64_t n)
{
	int pipes[2], status;
	CHECK_EQ(pipe(pipes), 0);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		close(pipes[0]);
		begin();
		fn(n);
		FILE *f = fdopen(pipes[1], "w");
		CHECK_EQ(fwrite(image, 1, image_length, f), image_length);
		CHECK_EQ(fclose(f), 0);
		_exit(0);
	}
	close(pipes[1]);
	FILE *f = fdopen(pipes[0], "r");
	image_length = (uint32_t)fread(image, 1, sizeof(image), f);
	fclose(f);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (status != 0)
		printf("# with %d\n", (int)n);
	CHECK_EQ(status, 0);
}

static void host_begin(void)
{
	CHECK(mkdtemp(place));
	close(host_dir("lower"));
	close(host_dir("store"));
	close(host_dir("lower/sub"));
	host_put("lower/kept", 50);
	host_put("lower/gone", 50);
	host_put("lower/sub/inner", 50);
}

static void host_end(void)
{
	CHECK_EQ(nftw(place, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void take(uint64_t n)
{
	change();
	if (n)
		arena_fail(n, 1);
	int r = save();
	arena_fail(0, 0);
	CHECK(r == 0 || (r == -ENOMEM && n));
	if (r < 0)
		CHECK_EQ(save(), 0);
}

static void check_content(void)
{
	CHECK_EQ(find("/file")->size, 100);
	CHECK_EQ(find("/file")->mode, S_IFREG | 0640);
	CHECK_EQ(tree_getxattr(find("/file"), "user.x", NULL, 0), 5);
	CHECK_EQ(find("/large")->size, 308192);
	CHECK(find("/large")->blocks * 512 < 100000);
	CHECK(find("/large") == find("/hard") && find("/large")->nlink == 2);
	CHECK_EQ(find("/new")->uid, 1);
	CHECK(S_ISLNK(find("/new/link")->mode));
	CHECK_EQ(find("/sub/inner")->size, 50);
	CHECK_EQ(find("/kept")->mode, S_IFREG | 0611);
	CHECK_EQ(find("/kept")->size, 50);
	CHECK(!find("/gone"));
}

static void put_back(uint64_t n)
{
	uint64_t missing;
	if (n)
		arena_fail(n, 1);
	int r = load(&missing);
	arena_fail(0, 0);
	if (r == 1) {
		CHECK_EQ(missing, 0);
		check_content();
	} else {
		CHECK(n && (r == -ENOMEM || r == -ENOSPC));
	}
}

TEST(an_allocation_that_fails_anywhere)
{
	host_begin();
	in_a_kernel(take, 0);
	uint32_t length = image_length;
	for (uint64_t n = 1; n < 20; n++) {
		in_a_kernel(take, n);
		CHECK_EQ(image_length, length);
	}
	for (uint64_t n = 0; n < 120; n++)
		in_a_kernel(put_back, n);
	host_end();
}

static void put_back_on_another_template(uint64_t n)
{
	uint64_t missing;
	CHECK_EQ(load(&missing), 1);
	CHECK_EQ(missing, 1);
	CHECK(!find("/kept")); /* it is a directory now, and was never ours */
	CHECK_EQ(find("/sub/inner")->size, 50);
	CHECK_EQ(find("/file")->size, 100);
	CHECK(!find("/gone"));
}

TEST(a_template_that_has_changed)
{
	host_begin();
	in_a_kernel(take, 0);
	CHECK_EQ(unlink(host_path("lower/kept")), 0);
	close(host_dir("lower/kept"));
	CHECK_EQ(unlink(host_path("lower/sub/inner")), 0);
	CHECK_EQ(rmdir(host_path("lower/sub")), 0);
	in_a_kernel(put_back_on_another_template, 0);
	host_end();
}

CHECK_MAIN()
