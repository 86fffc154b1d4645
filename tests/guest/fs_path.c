/* Path resolution: links, dots, slashes, lengths, openat2. path_resolution(7). */
/* also as root */
#include "check.h"
#include "fs_dir.h"

#include <linux/openat2.h>
#include <sys/syscall.h>

static int open2(int dirfd, const char *name, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags, .resolve = resolve };
	return (int)syscall(SYS_openat2, dirfd, name, &how, sizeof(how));
}

TEST(dots_and_slashes)
{
	fs_enter();
	CHECK_EQ(mkdir("d", 0755), 0);
	CHECK_EQ(mkdir("d/e", 0755), 0);
	fs_put("d/f", "hello");
	CHECK_STR(fs_get("d/e/../f"), "hello");
	CHECK_STR(fs_get(".//d/./e/..//f"), "hello");
	CHECK_ERRNO(open("d/f/", O_RDONLY), ENOTDIR);
	CHECK_ERRNO(open("d/f/.", O_RDONLY), ENOTDIR);
	CHECK_ERRNO(open("d/f/..", O_RDONLY), ENOTDIR);
	CHECK_ERRNO(open("d/x/../f", O_RDONLY), ENOENT);
	CHECK_ERRNO(open("", O_RDONLY), ENOENT);
	struct stat a, b;
	CHECK_EQ(stat("/..", &a), 0);
	CHECK_EQ(stat("/", &b), 0);
	CHECK_EQ(a.st_ino, b.st_ino);
	CHECK_EQ(stat("d/", &a), 0);
	CHECK_EQ(stat("d//.", &b), 0);
	CHECK_EQ(a.st_ino, b.st_ino);
	fs_leave();
}

TEST(symlinks)
{
	fs_enter();
	char target[64];
	struct stat st;
	CHECK_EQ(mkdir("d", 0755), 0);
	fs_put("d/f", "x");
	CHECK_EQ(symlink("d", "l"), 0);
	CHECK_EQ(symlink("f", "d/m"), 0);
	CHECK_STR(fs_get("l/f"), "x");
	CHECK_STR(fs_get("l/m"), "x");
	CHECK_EQ(readlink("l", target, sizeof(target)), 1);
	CHECK_ERRNO(readlink("l/", target, sizeof(target)), EINVAL);
	CHECK_EQ(lstat("l", &st), 0);
	CHECK(S_ISLNK(st.st_mode));
	CHECK_EQ(lstat("l/", &st), 0);
	CHECK(S_ISDIR(st.st_mode));
	CHECK_ERRNO(open("l", O_RDONLY | O_NOFOLLOW), ELOOP);
	CHECK_ERRNO(open("l", O_RDONLY | O_NOFOLLOW | O_DIRECTORY), ENOTDIR);
	int fd = open("l", O_PATH | O_NOFOLLOW);
	CHECK(fd >= 0);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK(S_ISLNK(st.st_mode));
	CHECK_EQ(readlinkat(fd, "", target, sizeof(target)), 1);
	CHECK_ERRNO(symlink("", "e"), ENOENT);
	CHECK_EQ(symlink("nowhere", "dangling"), 0);
	CHECK_ERRNO(stat("dangling", &st), ENOENT);
	CHECK_ERRNO(open("dangling", O_CREAT | O_EXCL | O_WRONLY, 0644), EEXIST);
	fd = open("dangling", O_CREAT | O_WRONLY, 0644);
	CHECK(fd >= 0);
	CHECK(fs_exists("nowhere"));
	fs_leave();
}

TEST(link_loops)
{
	fs_enter();
	char from[16], to[16];
	struct stat st;
	CHECK_EQ(symlink("b", "a"), 0);
	CHECK_EQ(symlink("a", "b"), 0);
	CHECK_ERRNO(stat("a", &st), ELOOP);
	CHECK_ERRNO(open("a/x", O_RDONLY), ELOOP);
	fs_put("n0", "end");
	for (int i = 1; i <= 41; i++) {
		snprintf(from, sizeof(from), "n%d", i);
		snprintf(to, sizeof(to), "n%d", i - 1);
		CHECK_EQ(symlink(to, from), 0);
	}
	CHECK_EQ(stat("n40", &st), 0);
	CHECK_ERRNO(stat("n41", &st), ELOOP);
	fs_leave();
}

TEST(lengths)
{
	fs_enter();
	char name[5000];
	memset(name, 'a', sizeof(name));
	name[255] = 0;
	CHECK_EQ(mkdir(name, 0755), 0);
	name[255] = 'a';
	name[256] = 0;
	CHECK_ERRNO(mkdir(name, 0755), ENAMETOOLONG);
	CHECK_ERRNO(open(name, O_RDONLY), ENAMETOOLONG);
	name[256] = 'a';
	memset(name, '/', 4095);
	name[4095] = 0;
	CHECK_EQ(access(name, F_OK), 0);
	memset(name, '/', 4096);
	name[4096] = 0;
	CHECK_ERRNO(access(name, F_OK), ENAMETOOLONG);
	CHECK_ERRNO(access((char *)8, F_OK), EFAULT);
	fs_leave();
}

TEST(long_targets)
{
	fs_enter();
	char target[4096];
	CHECK_EQ(mkdir("d", 0755), 0);
	fs_put("d/f", "deep");
	for (int i = 0; i < 4090; i += 2)
		memcpy(target + i, "./", 3);
	strcpy(target + 4090, "d");
	for (int i = 0; i < 8; i++) {
		char name[8];
		snprintf(name, sizeof(name), "l%d", i);
		CHECK_EQ(symlink(target, name), 0);
		strcpy(target + 4090, name);
	}
	CHECK_STR(fs_get("l7/f"), "deep");
	fs_leave();
}

TEST(relative_to_descriptors)
{
	fs_enter();
	CHECK_EQ(mkdir("d", 0755), 0);
	fs_put("d/f", "at");
	int dir = open("d", O_RDONLY | O_DIRECTORY), file = open("d/f", O_RDONLY);
	CHECK(dir >= 0 && file >= 0);
	CHECK_EQ(faccessat(dir, "f", R_OK, 0), 0);
	CHECK_ERRNO(faccessat(file, "f", R_OK, 0), ENOTDIR);
	CHECK_ERRNO(faccessat(99, "f", R_OK, 0), EBADF);
	CHECK_EQ(faccessat(99, "/", R_OK, 0), 0);
	struct stat st;
	CHECK_EQ(fstatat(file, "", &st, AT_EMPTY_PATH), 0);
	CHECK(S_ISREG(st.st_mode));
	CHECK_ERRNO(fstatat(file, "", &st, 0), ENOENT);
	CHECK_EQ(renameat(dir, "f", AT_FDCWD, "g"), 0);
	CHECK_STR(fs_get("g"), "at");
	fs_leave();
}

TEST(cwd_survives)
{
	fs_enter();
	char cwd[256], want[256];
	CHECK_EQ(mkdir("d", 0755), 0);
	CHECK_EQ(chdir("d"), 0);
	CHECK(getcwd(cwd, sizeof(cwd)) != NULL);
	snprintf(want, sizeof(want), "%s/d", fs_home);
	CHECK_STR(cwd, want);
	snprintf(want, sizeof(want), "%s/e", fs_home);
	CHECK_EQ(rename("../d", "../e"), 0);
	CHECK(getcwd(cwd, sizeof(cwd)) != NULL);
	CHECK_STR(cwd, want);
	CHECK_EQ(syscall(SYS_getcwd, cwd, 3), -1);
	CHECK_EQ(errno, ERANGE);
	CHECK_EQ(rmdir(want), 0);
	CHECK_ERRNO(syscall(SYS_getcwd, cwd, sizeof(cwd)), ENOENT);
	CHECK_ERRNO(open("x", O_CREAT | O_WRONLY, 0644), ENOENT);
	CHECK_EQ(access("..", F_OK), 0);
	fs_leave();
}

TEST(openat2_scopes)
{
	fs_enter();
	if (open2(AT_FDCWD, ".", O_RDONLY, 0) < 0 && errno == ENOSYS)
		SKIP("no openat2");
	CHECK_EQ(mkdir("d", 0755), 0);
	CHECK_EQ(mkdir("d/sub", 0755), 0);
	fs_put("d/f", "in");
	fs_put("out", "out");
	CHECK_EQ(symlink("../out", "d/up"), 0);
	CHECK_EQ(symlink("/f", "d/abs"), 0);
	CHECK_EQ(symlink("../f", "d/sub/ok"), 0);
	int dir = open("d", O_PATH | O_DIRECTORY);
	CHECK(open2(dir, "f", O_RDONLY, RESOLVE_BENEATH) >= 0);
	CHECK(open2(dir, "sub/../f", O_RDONLY, RESOLVE_BENEATH) >= 0);
	CHECK(open2(dir, "sub/ok", O_RDONLY, RESOLVE_BENEATH) >= 0);
	CHECK_ERRNO(open2(dir, "../out", O_RDONLY, RESOLVE_BENEATH), EXDEV);
	CHECK_ERRNO(open2(dir, "up", O_RDONLY, RESOLVE_BENEATH), EXDEV);
	CHECK_ERRNO(open2(dir, "abs", O_RDONLY, RESOLVE_BENEATH), EXDEV);
	CHECK_ERRNO(open2(dir, "/f", O_RDONLY, RESOLVE_BENEATH), EXDEV);
	CHECK(open2(dir, "/f", O_RDONLY, RESOLVE_IN_ROOT) >= 0);
	CHECK(open2(dir, "abs", O_RDONLY, RESOLVE_IN_ROOT) >= 0);
	CHECK(open2(dir, "../../f", O_RDONLY, RESOLVE_IN_ROOT) >= 0);
	CHECK_ERRNO(open2(dir, "up", O_RDONLY, RESOLVE_IN_ROOT), ENOENT);
	CHECK_ERRNO(open2(dir, "sub/ok", O_RDONLY, RESOLVE_NO_SYMLINKS), ELOOP);
	CHECK(open2(dir, "f", O_RDONLY, RESOLVE_NO_SYMLINKS) >= 0);
	CHECK_ERRNO(open2(AT_FDCWD, "/proc/self/fd/0", O_RDONLY | O_PATH, RESOLVE_NO_MAGICLINKS),
		    ELOOP);
	CHECK_ERRNO(open2(AT_FDCWD, "/proc/self/status", O_RDONLY, RESOLVE_NO_XDEV), EXDEV);
	CHECK_ERRNO(open2(dir, "f", O_RDONLY, RESOLVE_IN_ROOT | RESOLVE_BENEATH), EINVAL);
	CHECK_ERRNO(open2(dir, "f", O_RDONLY, 1u << 30), EINVAL);
	struct open_how how[2] = { { .flags = O_RDONLY }, { .flags = 1 } };
	CHECK_ERRNO(syscall(SYS_openat2, dir, "f", how, 48), E2BIG);
	how[1].flags = 0;
	CHECK(syscall(SYS_openat2, dir, "f", how, 48) >= 0);
	CHECK_ERRNO(syscall(SYS_openat2, dir, "f", how, 8), EINVAL);
	fs_leave();
}

TEST(magic_links)
{
	fs_enter();
	fs_put("f", "magic");
	int fd = open("f", O_RDONLY);
	char name[64], target[256], want[256];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	CHECK_STR(fs_get(name), "magic");
	snprintf(want, sizeof(want), "%s/f", fs_home);
	ssize_t n = readlink(name, target, sizeof(target) - 1);
	CHECK(n > 0);
	target[n] = 0;
	CHECK_STR(target, want);
	CHECK_EQ(unlink("f"), 0);
	CHECK_STR(fs_get(name), "magic");
	n = readlink(name, target, sizeof(target) - 1);
	target[n] = 0;
	strcat(want, " (deleted)");
	CHECK_STR(target, want);
	CHECK_EQ(mkdir("d", 0755), 0);
	fs_put("d/g", "through cwd");
	CHECK_EQ(chdir("d"), 0);
	CHECK_STR(fs_get("/proc/self/cwd/g"), "through cwd");
	fs_leave();
}

TEST(search_permission)
{
	if (geteuid() != 0)
		SKIP("needs root");
	fs_enter();
	CHECK_EQ(mkdir("d", 0700), 0);
	CHECK_EQ(mkdir("d/e", 0755), 0);
	fs_put("d/e/f", "x");
	CHECK_EQ(mkdir("x", 0711), 0);
	fs_put("x/f", "x");
	if (fs_as_user(1001, 1001)) {
		CHECK_ERRNO(open("d/e/f", O_RDONLY), EACCES);
		CHECK_ERRNO(open("d/nothing", O_RDONLY), EACCES);
		CHECK(open("x/f", O_RDONLY) >= 0);
		CHECK_ERRNO(open("x", O_RDONLY), EACCES);
		CHECK_ERRNO(chdir("d"), EACCES);
		CHECK_EQ(chdir("x"), 0);
		_exit(0);
	}
	fs_leave();
}

TEST(chroot_confines)
{
	if (geteuid() != 0)
		SKIP("needs root");
	fs_enter();
	char cwd[64];
	CHECK_EQ(mkdir("r", 0755), 0);
	CHECK_EQ(mkdir("r/d", 0755), 0);
	fs_put("r/f", "root");
	CHECK_EQ(symlink("/f", "r/d/l"), 0);
	int outside = open("/", O_RDONLY | O_DIRECTORY);
	CHECK_EQ(chroot("r"), 0);
	CHECK_EQ(chdir("/"), 0);
	CHECK_STR(fs_get("/f"), "root");
	CHECK_STR(fs_get("/../../f"), "root");
	CHECK_STR(fs_get("d/l"), "root");
	CHECK(getcwd(cwd, sizeof(cwd)) != NULL);
	CHECK_STR(cwd, "/");
	/* A descriptor of a directory outside leads out. */
	CHECK_EQ(fchdir(outside), 0);
	CHECK_EQ(chroot("."), 0);
	fs_leave();
}

CHECK_MAIN()
