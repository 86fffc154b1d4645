/* Making, linking, renaming and removing names. */
/* also as root */
#include "check.h"
#include "fs_dir.h"

#include <sys/sysmacros.h>

TEST(make_directories)
{
	fs_enter();
	CHECK_EQ(mkdir("d", 0777), 0);
	CHECK_EQ(fs_stat("d").st_mode, S_IFDIR | 0755);
	CHECK_ERRNO(mkdir("d", 0777), EEXIST);
	CHECK_ERRNO(mkdir(".", 0777), EEXIST);
	CHECK_ERRNO(mkdir("/", 0777), EEXIST);
	CHECK_ERRNO(mkdir("d/..", 0777), EEXIST);
	CHECK_ERRNO(mkdir("no/d", 0777), ENOENT);
	CHECK_EQ(mkdir("slash/", 0700), 0);
	fs_put("f", "");
	CHECK_ERRNO(mkdir("f", 0777), EEXIST);
	CHECK_ERRNO(mkdir("f/d", 0777), ENOTDIR);
	CHECK_EQ(symlink("target", "l"), 0);
	CHECK_ERRNO(mkdir("l", 0777), EEXIST);
	CHECK_EQ(mkdir("sticky", 01777), 0);
	CHECK_EQ(fs_stat("sticky").st_mode, S_IFDIR | 01755);
	fs_leave();
}

TEST(link_counts_of_directories)
{
	fs_enter();
	nlink_t before = fs_stat(".").st_nlink;
	CHECK_EQ(mkdir("d", 0755), 0);
	if (fs_stat(".").st_nlink == before)
		SKIP("this file system does not count");
	CHECK_EQ(fs_stat(".").st_nlink, before + 1);
	CHECK_EQ(fs_stat("d").st_nlink, 2);
	CHECK_EQ(mkdir("d/e", 0755), 0);
	CHECK_EQ(fs_stat("d").st_nlink, 3);
	CHECK_EQ(rename("d/e", "e"), 0);
	CHECK_EQ(fs_stat("d").st_nlink, 2);
	CHECK_EQ(rmdir("e"), 0);
	CHECK_EQ(fs_stat(".").st_nlink, before + 1);
	fs_leave();
}

TEST(remove_directories)
{
	fs_enter();
	CHECK_EQ(mkdir("d", 0755), 0);
	fs_put("d/f", "");
	CHECK_ERRNO(rmdir("d"), ENOTEMPTY);
	CHECK_ERRNO(rmdir("d/f"), ENOTDIR);
	CHECK_ERRNO(rmdir("no"), ENOENT);
	CHECK_ERRNO(rmdir("d/."), EINVAL);
	CHECK_ERRNO(rmdir("d/.."), ENOTEMPTY);
	CHECK_ERRNO(unlink("d"), EISDIR);
	CHECK_ERRNO(unlinkat(AT_FDCWD, "d/f", AT_REMOVEDIR), ENOTDIR);
	CHECK_ERRNO(unlinkat(AT_FDCWD, "d/f", 1), EINVAL);
	CHECK_EQ(unlink("d/f"), 0);
	CHECK_EQ(symlink("d", "l"), 0);
	CHECK_ERRNO(rmdir("l"), ENOTDIR);
	CHECK_ERRNO(rmdir("l/"), ENOTDIR);
	CHECK_EQ(rmdir("d/"), 0);
	CHECK(!fs_exists("d"));
	fs_leave();
}

TEST(remove_files)
{
	fs_enter();
	fs_put("f", "");
	CHECK_ERRNO(unlink("f/"), ENOTDIR);
	CHECK_ERRNO(unlink("."), EISDIR);
	CHECK_ERRNO(unlink("no"), ENOENT);
	CHECK_ERRNO(unlink("no/"), ENOENT);
	CHECK_EQ(symlink("f", "l"), 0);
	CHECK_EQ(unlink("l"), 0);
	CHECK_EQ(unlink("f"), 0);
	CHECK_ERRNO(unlink("f"), ENOENT);
	fs_leave();
}

TEST(hard_links)
{
	fs_enter();
	fs_put("f", "one");
	CHECK_EQ(link("f", "g"), 0);
	CHECK_EQ(fs_stat("f").st_nlink, 2);
	CHECK_EQ(fs_stat("f").st_ino, fs_stat("g").st_ino);
	fs_put("g", "two");
	CHECK_STR(fs_get("f"), "two");
	CHECK_ERRNO(link("f", "g"), EEXIST);
	CHECK_ERRNO(link("f", "h/"), ENOENT);
	CHECK_ERRNO(link("no", "h"), ENOENT);
	CHECK_EQ(mkdir("d", 0755), 0);
	CHECK_ERRNO(link("d", "e"), EPERM);
	CHECK_EQ(unlink("f"), 0);
	CHECK_EQ(fs_stat("g").st_nlink, 1);
	CHECK_STR(fs_get("g"), "two");
	CHECK_EQ(symlink("g", "l"), 0);
	CHECK_EQ(link("l", "m"), 0);
	CHECK(S_ISLNK(fs_stat("m").st_mode));
	CHECK_EQ(linkat(AT_FDCWD, "l", AT_FDCWD, "n", AT_SYMLINK_FOLLOW), 0);
	CHECK(S_ISREG(fs_stat("n").st_mode));
	CHECK_ERRNO(link("/proc/self/status", "p"), EXDEV);
	int fd = open("g", O_RDONLY);
	if (geteuid() == 0)
		CHECK_EQ(linkat(fd, "", AT_FDCWD, "o", AT_EMPTY_PATH), 0);
	fs_leave();
}

TEST(hard_links_to_files_of_others)
{
	static const struct {
		mode_t mode;
		int error;
	} files[] = { { 0644, EPERM }, { 0666, 0 },	 { 0622, EPERM },
		      { 04777, EPERM }, { 02777, EPERM }, { 02766, 0 } };

	if (geteuid() != 0)
		SKIP("needs root");
	if (fs_get("/proc/sys/fs/protected_hardlinks")[0] != '1')
		SKIP("this host allows them");
	fs_enter();
	CHECK_EQ(chmod(".", 01777), 0);
	CHECK_EQ(symlink("0", "l"), 0);
	CHECK_EQ(mkfifo("p", 0), 0);
	CHECK_EQ(chmod("p", 0666), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char name[8], other[8];
		snprintf(name, sizeof(name), "%zu", i);
		snprintf(other, sizeof(other), "%zu.n", i);
		fs_put(name, "");
		CHECK_EQ(chmod(name, files[i].mode), 0);
		CHECK_EQ(setresuid(1000, 1000, 0), 0);
		if (files[i].error)
			CHECK_ERRNO(link(name, other), files[i].error);
		else
			CHECK_EQ(link(name, other), 0);
		CHECK_EQ(setresuid(0, 0, 0), 0);
		CHECK_EQ(chown(name, 1000, 1000), 0);
		CHECK_EQ(chmod(name, files[i].mode), 0);
		CHECK_EQ(setresuid(1000, 1000, 0), 0);
		snprintf(other, sizeof(other), "%zu.o", i);
		CHECK_EQ(link(name, other), 0);
		CHECK_EQ(setresuid(0, 0, 0), 0);
	}
	CHECK_EQ(setresuid(1000, 1000, 0), 0);
	CHECK_ERRNO(link("l", "m"), EPERM);
	CHECK_ERRNO(link("p", "q"), EPERM);
	CHECK_EQ(setresuid(0, 0, 0), 0);
	fs_leave();
}

TEST(symbolic_links)
{
	fs_enter();
	char target[16];
	memset(target, '#', sizeof(target));
	CHECK_EQ(symlink("some/target", "l"), 0);
	CHECK_EQ(fs_stat("l").st_size, 11);
	CHECK_EQ(fs_stat("l").st_mode, S_IFLNK | 0777);
	CHECK_EQ(readlink("l", target, 4), 4);
	CHECK_EQ(memcmp(target, "some#", 5), 0);
	CHECK_ERRNO(readlink("l", target, 0), EINVAL);
	CHECK_ERRNO(readlink(".", target, 4), EINVAL);
	CHECK_ERRNO(readlink("no", target, 4), ENOENT);
	CHECK_ERRNO(readlink("", target, 4), ENOENT);
	CHECK_ERRNO(symlink("x", "l"), EEXIST);
	CHECK_ERRNO(symlink("x", "m/"), ENOENT);
	fs_leave();
}

TEST(nodes)
{
	fs_enter();
	CHECK_EQ(mknod("f", S_IFREG | 0600, 0), 0);
	CHECK_EQ(mknod("g", 0600, 0), 0);
	CHECK(S_ISREG(fs_stat("g").st_mode));
	CHECK_EQ(mkfifo("p", 0666), 0);
	CHECK_EQ(fs_stat("p").st_mode, S_IFIFO | 0644);
	CHECK_EQ(mknod("s", S_IFSOCK | 0600, 0), 0);
	CHECK(S_ISSOCK(fs_stat("s").st_mode));
	CHECK_ERRNO(mknod("d", S_IFDIR | 0700, 0), EPERM);
	CHECK_ERRNO(mknod("d", S_IFLNK | 0700, 0), EINVAL);
	CHECK_ERRNO(mkfifo("p", 0600), EEXIST);
	if (geteuid() != 0)
		CHECK_ERRNO(mknod("c", S_IFCHR | 0600, makedev(1, 3)), EPERM);
	fs_leave();
}

TEST(rename_files)
{
	fs_enter();
	fs_put("a", "A");
	fs_put("b", "B");
	ino_t ino = fs_stat("a").st_ino;
	int fd = open("b", O_RDONLY);
	CHECK_EQ(rename("a", "b"), 0);
	CHECK(!fs_exists("a"));
	CHECK_EQ(fs_stat("b").st_ino, ino);
	CHECK_STR(fs_get("b"), "A");
	char c = 0;
	CHECK_EQ(read(fd, &c, 1), 1);
	CHECK_EQ(c, 'B');
	CHECK_ERRNO(rename("no", "x"), ENOENT);
	CHECK_ERRNO(rename("b", "no/x"), ENOENT);
	CHECK_ERRNO(rename("b", "x/"), ENOTDIR);
	CHECK_ERRNO(rename("b/", "x"), ENOTDIR);
	CHECK_ERRNO(rename("b", "."), EBUSY);
	CHECK_ERRNO(rename(".", "x"), EBUSY);
	CHECK_EQ(rename("b", "b"), 0);
	CHECK_EQ(link("b", "c"), 0);
	CHECK_EQ(rename("b", "c"), 0);
	CHECK(fs_exists("b") && fs_exists("c"));
	CHECK_ERRNO(rename("b", "/proc/x"), EXDEV);
	CHECK_EQ(symlink("b", "l"), 0);
	CHECK_EQ(rename("l", "c"), 0);
	CHECK(S_ISLNK(fs_stat("c").st_mode));
	fs_leave();
}

TEST(rename_directories)
{
	fs_enter();
	CHECK_EQ(mkdir("d", 0755), 0);
	CHECK_EQ(mkdir("d/sub", 0755), 0);
	CHECK_EQ(mkdir("e", 0755), 0);
	fs_put("f", "");
	fs_put("e/g", "deep");
	CHECK_ERRNO(rename("d", "d/sub/x"), EINVAL);
	CHECK_ERRNO(rename("d", "d/x"), EINVAL);
	CHECK_ERRNO(rename("d/sub", "d"), ENOTEMPTY);
	CHECK_ERRNO(rename("d", "e"), ENOTEMPTY);
	CHECK_ERRNO(rename("d", "f"), ENOTDIR);
	CHECK_ERRNO(rename("f", "d"), EISDIR);
	CHECK_EQ(rename("e", "d/sub"), 0);
	CHECK_STR(fs_get("d/sub/g"), "deep");
	CHECK_STR(fs_get("d/sub/../sub/g"), "deep");
	CHECK_EQ(rename("d/", "h/"), 0);
	CHECK_STR(fs_get("h/sub/g"), "deep");
	struct stat up, h;
	CHECK_EQ(stat("h/sub/..", &up), 0);
	CHECK_EQ(stat("h", &h), 0);
	CHECK_EQ(up.st_ino, h.st_ino);
	CHECK(!fs_exists("d/sub"));
	fs_leave();
}

TEST(rename_flags)
{
	fs_enter();
	fs_put("a", "A");
	fs_put("b", "B");
	CHECK_EQ(mkdir("d", 0755), 0);
	fs_put("d/x", "X");
	if (renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_NOREPLACE) < 0 && errno == EINVAL)
		SKIP("no rename flags here");
	CHECK_ERRNO(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_NOREPLACE), EEXIST);
	CHECK_EQ(renameat2(AT_FDCWD, "a", AT_FDCWD, "c", RENAME_NOREPLACE), 0);
	CHECK_EQ(renameat2(AT_FDCWD, "b", AT_FDCWD, "c", RENAME_EXCHANGE), 0);
	CHECK_STR(fs_get("b"), "A");
	CHECK_STR(fs_get("c"), "B");
	CHECK_EQ(renameat2(AT_FDCWD, "b", AT_FDCWD, "d", RENAME_EXCHANGE), 0);
	CHECK_STR(fs_get("b/x"), "X");
	CHECK_STR(fs_get("d"), "A");
	CHECK_ERRNO(renameat2(AT_FDCWD, "b", AT_FDCWD, "no", RENAME_EXCHANGE), ENOENT);
	CHECK_ERRNO(renameat2(AT_FDCWD, "b", AT_FDCWD, "b/x", RENAME_EXCHANGE), EINVAL);
	CHECK_ERRNO(renameat2(AT_FDCWD, "b/x", AT_FDCWD, "b", RENAME_EXCHANGE), EINVAL);
	CHECK_ERRNO(renameat2(AT_FDCWD, "b", AT_FDCWD, "c", RENAME_EXCHANGE | RENAME_NOREPLACE),
		    EINVAL);
	CHECK_ERRNO(renameat2(AT_FDCWD, "b", AT_FDCWD, "c", 1u << 10), EINVAL);
	fs_leave();
}

TEST(sticky_directories)
{
	if (geteuid() != 0)
		SKIP("needs root");
	fs_enter();
	CHECK_EQ(mkdir("t", 0755), 0);
	CHECK_EQ(chmod("t", 01777), 0);
	fs_put("t/root", "");
	fs_put("t/mine", "");
	CHECK_EQ(chmod("t/root", 0666), 0);
	CHECK_EQ(chown("t/mine", 1001, 1001), 0);
	CHECK_EQ(mkdir("closed", 0755), 0);
	fs_put("closed/f", "");
	CHECK_EQ(chmod("closed/f", 0666), 0);
	if (fs_as_user(1001, 1001)) {
		CHECK_ERRNO(unlink("t/root"), EPERM);
		CHECK_ERRNO(rename("t/root", "t/x"), EPERM);
		CHECK_ERRNO(rename("t/mine", "t/root"), EPERM);
		CHECK_EQ(rename("t/mine", "t/mine2"), 0);
		CHECK_EQ(unlink("t/mine2"), 0);
		CHECK_ERRNO(unlink("closed/f"), EACCES);
		CHECK_ERRNO(mkdir("closed/d", 0755), EACCES);
		CHECK_ERRNO(rename("closed/f", "t/f"), EACCES);
		CHECK_ERRNO(symlink("x", "closed/l"), EACCES);
		_exit(0);
	}
	fs_leave();
}

TEST(setgid_directories)
{
	if (geteuid() != 0)
		SKIP("needs root");
	fs_enter();
	CHECK_EQ(mkdir("d", 0755), 0);
	CHECK_EQ(chown("d", 0, 1001), 0);
	CHECK_EQ(chmod("d", 02777), 0);
	CHECK_EQ(mkdir("d/sub", 0755), 0);
	CHECK_EQ(fs_stat("d/sub").st_gid, 1001);
	CHECK_EQ(fs_stat("d/sub").st_mode, S_IFDIR | 02755);
	fs_put("d/f", "");
	CHECK_EQ(fs_stat("d/f").st_gid, 1001);
	CHECK_EQ(fs_stat("d/f").st_mode, S_IFREG | 0644);
	if (fs_as_user(1002, 1002)) {
		int fd = open("d/g", O_CREAT | O_WRONLY, 02775);
		CHECK(fd >= 0);
		CHECK_EQ(fs_stat("d/g").st_gid, 1001);
		CHECK_EQ(fs_stat("d/g").st_mode & S_ISGID, 0);
		_exit(0);
	}
	fs_leave();
}

CHECK_MAIN()
