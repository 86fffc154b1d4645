/* Names: links, renames, directories, temporary files, times, attributes. */
#include <dirent.h>
#include <linux/fs.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "tree_dir.h"

static nlink_t links(const char *name)
{
	struct stat st;
	CHECK_EQ(lstat(name, &st), 0);
	return st.st_nlink;
}

TEST(hard_links)
{
	enter_fresh();
	struct stat a, b;
	put_file("a", "data", 4);
	CHECK_EQ(link("a", "b"), 0);
	CHECK_EQ(stat("a", &a), 0);
	CHECK_EQ(stat("b", &b), 0);
	CHECK(a.st_ino == b.st_ino && a.st_dev == b.st_dev);
	CHECK_EQ(a.st_nlink, 2);
	put_file("b", "more data", 9);
	CHECK_EQ(stat("a", &a), 0);
	CHECK_EQ(a.st_size, 9);
	CHECK_EQ(unlink("a"), 0);
	CHECK_EQ(links("b"), 1);
	CHECK_ERRNO(link("b", "b"), EEXIST);
	CHECK_ERRNO(link("none", "c"), ENOENT);
	CHECK_ERRNO(link(".", "c"), EPERM);
}

TEST(directory_link_counts)
{
	enter_fresh();
	CHECK_EQ(mkdir("d", 0755), 0);
	nlink_t first = links("d");
	CHECK_EQ(mkdir("d/e", 0755), 0);
	CHECK_EQ(mkdir("d/f", 0755), 0);
	if (first == 2)
		CHECK_EQ(links("d"), 4);
	CHECK_ERRNO(rmdir("d"), ENOTEMPTY);
	CHECK_EQ(rmdir("d/e"), 0);
	CHECK_EQ(rename("d/f", "g"), 0);
	if (first == 2)
		CHECK_EQ(links("d"), 2);
	CHECK_ERRNO(unlink("d"), EISDIR);
	CHECK_EQ(rmdir("d"), 0);
	CHECK_ERRNO(rmdir("d"), ENOENT);
}

TEST(rename_rules)
{
	enter_fresh();
	char back[8] = "";
	put_file("a", "A", 1);
	put_file("b", "B", 1);
	CHECK_EQ(rename("a", "b"), 0);
	CHECK_EQ(get_file("b", back, 7), 1);
	CHECK_STR(back, "A");
	CHECK_ERRNO(access("a", F_OK), ENOENT);
	CHECK_EQ(mkdir("d", 0755), 0);
	CHECK_EQ(mkdir("e", 0755), 0);
	put_file("e/x", "x", 1);
	CHECK_ERRNO(rename("d", "e"), ENOTEMPTY);
	CHECK_ERRNO(rename("d", "b"), ENOTDIR);
	CHECK_ERRNO(rename("b", "d"), EISDIR);
	CHECK_ERRNO(rename("e", "e/inside"), EINVAL);
	CHECK_EQ(rename("e", "d"), 0);
	CHECK_EQ(access("d/x", F_OK), 0);
	CHECK_EQ(rename("d/x", "d/y"), 0);
	CHECK_EQ(rename("d/y", "d/y"), 0);
	CHECK_EQ(link("b", "c"), 0);
	CHECK_EQ(rename("b", "c"), 0); /* the same file: nothing happens */
	CHECK_EQ(access("b", F_OK), 0);
}

TEST(rename_flags)
{
	enter_fresh();
	char back[8] = "";
	put_file("a", "A", 1);
	CHECK_EQ(mkdir("d", 0755), 0);
	put_file("d/in", "I", 1);
	CHECK_ERRNO(renameat2(AT_FDCWD, "a", AT_FDCWD, "d", RENAME_NOREPLACE), EEXIST);
	CHECK_EQ(renameat2(AT_FDCWD, "a", AT_FDCWD, "n", RENAME_NOREPLACE), 0);
	CHECK_EQ(renameat2(AT_FDCWD, "n", AT_FDCWD, "d", RENAME_EXCHANGE), 0);
	CHECK_EQ(get_file("d", back, 7), 1);
	CHECK_STR(back, "A");
	CHECK_EQ(access("n/in", F_OK), 0);
	CHECK_ERRNO(renameat2(AT_FDCWD, "n", AT_FDCWD, "none", RENAME_EXCHANGE), ENOENT);
	CHECK_ERRNO(renameat2(AT_FDCWD, "d", AT_FDCWD, "n", RENAME_EXCHANGE | RENAME_NOREPLACE),
		    EINVAL);
}

TEST(rename_moves_a_directory_with_its_content)
{
	enter_fresh();
	CHECK_EQ(mkdir("a", 0755), 0);
	CHECK_EQ(mkdir("a/b", 0755), 0);
	CHECK_EQ(mkdir("t", 0755), 0);
	put_file("a/b/f", "x", 1);
	int dir = open("a/b", O_RDONLY | O_DIRECTORY);
	CHECK_EQ(rename("a", "t/moved"), 0);
	CHECK_EQ(access("t/moved/b/f", F_OK), 0);
	CHECK_EQ(faccessat(dir, "f", F_OK, 0), 0);
	CHECK_EQ(faccessat(dir, "../../../t", F_OK, 0), 0);
	CHECK_ERRNO(access("a", F_OK), ENOENT);
}

TEST(removed_directory)
{
	enter_fresh();
	CHECK_EQ(mkdir("d", 0755), 0);
	int dir = open("d", O_RDONLY | O_DIRECTORY);
	CHECK_EQ(rmdir("d"), 0);
	CHECK_ERRNO(openat(dir, "f", O_CREAT | O_WRONLY, 0600), ENOENT);
	CHECK_ERRNO(mkdirat(dir, "e", 0755), ENOENT);
	CHECK_EQ(mkdir("d", 0755), 0);
	CHECK_ERRNO(faccessat(dir, "f", F_OK, 0), ENOENT);
}

TEST(symbolic_links)
{
	enter_fresh();
	char back[64];
	struct stat st;
	CHECK_EQ(symlink("target/of/it", "s"), 0);
	CHECK_EQ(readlink("s", back, sizeof(back)), 12);
	CHECK(memcmp(back, "target/of/it", 12) == 0);
	CHECK_EQ(readlink("s", back, 3), 3);
	CHECK_EQ(lstat("s", &st), 0);
	CHECK_EQ(st.st_size, 12);
	CHECK(S_ISLNK(st.st_mode));
	CHECK_ERRNO(stat("s", &st), ENOENT);
	CHECK_ERRNO(symlink("x", "s"), EEXIST);
	CHECK_ERRNO(symlink("", "e"), ENOENT);
	CHECK_ERRNO(readlink(".", back, 10), EINVAL);
	CHECK_EQ(symlink("loop", "loop"), 0);
	CHECK_ERRNO(open("loop", O_RDONLY), ELOOP);
	CHECK_ERRNO(open("s", O_RDONLY | O_NOFOLLOW), ELOOP);
}

TEST(temporary_file_gets_a_name)
{
	enter_fresh();
	char path[64], back[8] = "";
	struct stat st;
	int fd = open(".", O_TMPFILE | O_RDWR, 0600);
	if (fd < 0 && errno == EOPNOTSUPP)
		SKIP("no O_TMPFILE here");
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, "tmp", 3), 3);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK_EQ(st.st_nlink, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	CHECK_EQ(linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW), 0);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK_EQ(st.st_nlink, 1);
	CHECK_EQ(get_file("named", back, 7), 3);
	CHECK_STR(back, "tmp");
	int excl = open(".", O_TMPFILE | O_RDWR | O_EXCL, 0600);
	CHECK(excl >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", excl);
	CHECK_ERRNO(linkat(AT_FDCWD, path, AT_FDCWD, "other", AT_SYMLINK_FOLLOW), ENOENT);
	CHECK_ERRNO(open(".", O_TMPFILE | O_RDONLY, 0600), EINVAL);
}

TEST(fifo_and_node_types)
{
	enter_fresh();
	struct stat st;
	CHECK_EQ(mkfifo("p", 0640), 0);
	CHECK_EQ(stat("p", &st), 0);
	CHECK(S_ISFIFO(st.st_mode));
	CHECK_EQ(mknod("r", S_IFREG | 0600, 0), 0);
	CHECK_EQ(stat("r", &st), 0);
	CHECK(S_ISREG(st.st_mode) && st.st_size == 0);
	CHECK_ERRNO(mkfifo("p", 0600), EEXIST);
}

TEST(readdir_types_and_removal_while_reading)
{
	enter_fresh();
	char name[16];
	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		put_file(name, "", 0);
	}
	CHECK_EQ(mkdir("dir", 0755), 0);
	CHECK_EQ(symlink("x", "link"), 0);
	DIR *d = opendir(".");
	struct dirent *e;
	int files = 0, others = 0;
	while ((e = readdir(d)) != NULL) {
		struct stat st;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		CHECK_EQ(lstat(e->d_name, &st), 0);
		CHECK_EQ(st.st_ino, e->d_ino);
		if (!strcmp(e->d_name, "dir") || !strcmp(e->d_name, "link")) {
			CHECK_EQ(e->d_type, *e->d_name == 'd' ? DT_DIR : DT_LNK);
			others++;
			continue;
		}
		CHECK_EQ(e->d_type, DT_REG);
		CHECK_EQ(unlink(e->d_name), 0);
		files++;
	}
	CHECK_EQ(files, 500);
	CHECK_EQ(others, 2);
	rewinddir(d);
	int left = 0;
	while (readdir(d))
		left++;
	CHECK_EQ(left, 4);
}

TEST(times)
{
	enter_fresh();
	struct stat a, b;
	put_file("f", "x", 1);
	struct timespec t[2] = { { 1000, 5 }, { -2000, 999999999 } };
	CHECK_EQ(utimensat(AT_FDCWD, "f", t, 0), 0);
	CHECK_EQ(stat("f", &a), 0);
	CHECK(a.st_atim.tv_sec == 1000 && a.st_atim.tv_nsec == 5);
	CHECK(a.st_mtim.tv_sec == -2000 && a.st_mtim.tv_nsec == 999999999);
	t[0].tv_nsec = UTIME_OMIT;
	t[1].tv_nsec = UTIME_NOW;
	CHECK_EQ(utimensat(AT_FDCWD, "f", t, 0), 0);
	CHECK_EQ(stat("f", &b), 0);
	CHECK_EQ(b.st_atim.tv_sec, 1000);
	CHECK(b.st_mtim.tv_sec > 1600000000);
	usleep(20000);
	put_file("f", "yy", 2);
	CHECK_EQ(stat("f", &a), 0);
	CHECK(a.st_mtim.tv_sec > b.st_mtim.tv_sec ||
	      (a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec > b.st_mtim.tv_nsec));
	CHECK_EQ(stat(".", &a), 0);
	usleep(20000);
	put_file("g", "", 0);
	CHECK_EQ(stat(".", &b), 0);
	CHECK(a.st_mtim.tv_sec != b.st_mtim.tv_sec || a.st_mtim.tv_nsec != b.st_mtim.tv_nsec);
}

TEST(extended_attributes)
{
	enter_fresh();
	char back[64];
	put_file("f", "x", 1);
	if (setxattr("f", "user.one", "1", 1, 0) < 0 && errno == EOPNOTSUPP)
		SKIP("no user attributes here");
	CHECK_EQ(setxattr("f", "user.two", "zwei", 4, XATTR_CREATE), 0);
	CHECK_ERRNO(setxattr("f", "user.two", "x", 1, XATTR_CREATE), EEXIST);
	CHECK_ERRNO(setxattr("f", "user.three", "x", 1, XATTR_REPLACE), ENODATA);
	CHECK_EQ(getxattr("f", "user.two", back, sizeof(back)), 4);
	CHECK(memcmp(back, "zwei", 4) == 0);
	CHECK_EQ(getxattr("f", "user.two", NULL, 0), 4);
	CHECK_ERRNO(getxattr("f", "user.two", back, 2), ERANGE);
	CHECK_ERRNO(getxattr("f", "user.none", back, 2), ENODATA);
	ssize_t n = listxattr("f", back, sizeof(back));
	CHECK(n >= 18);
	CHECK(memmem(back, (size_t)n, "user.one", 9) && memmem(back, (size_t)n, "user.two", 9));
	CHECK_EQ(removexattr("f", "user.one"), 0);
	CHECK_ERRNO(removexattr("f", "user.one"), ENODATA);
	CHECK_ERRNO(setxattr("f", "nonsense.name", "x", 1, 0), EOPNOTSUPP);
	CHECK_EQ(symlink("f", "s"), 0);
	CHECK_ERRNO(lsetxattr("s", "user.x", "x", 1, 0), EPERM);
	CHECK_EQ(rename("f", "g"), 0);
	CHECK_EQ(getxattr("g", "user.two", back, sizeof(back)), 4);
}

TEST(statfs_is_plausible)
{
	struct statfs st;
	CHECK_EQ(statfs("/tmp", &st), 0);
	CHECK(st.f_bsize >= 512 && st.f_blocks >= st.f_bfree && st.f_bfree > 0);
	CHECK_EQ(st.f_namelen, 255);
	CHECK_EQ(statfs("/dev/shm", &st), 0);
	CHECK_EQ(st.f_type, 0x01021994);
}

TEST(names_up_to_the_limit)
{
	enter_fresh();
	char name[300];
	memset(name, 'n', sizeof(name));
	name[255] = '\0';
	put_file(name, "x", 1);
	CHECK_EQ(access(name, F_OK), 0);
	name[255] = 'n';
	name[256] = '\0';
	CHECK_ERRNO(open(name, O_CREAT | O_WRONLY, 0600), ENAMETOOLONG);
	CHECK_ERRNO(access(name, F_OK), ENAMETOOLONG);
	CHECK_ERRNO(mkdir(name, 0700), ENAMETOOLONG);
}

TEST(no_entry_in_a_file)
{
	enter_fresh();
	put_file("f", "x", 1);
	CHECK_ERRNO(open("f/x", O_RDONLY), ENOTDIR);
	CHECK_ERRNO(mkdir("f/x", 0700), ENOTDIR);
	CHECK_ERRNO(open("f/", O_RDONLY), ENOTDIR);
	CHECK_ERRNO(rename("f", "g/"), ENOTDIR);
	CHECK_ERRNO(mkdir(".", 0700), EEXIST);
	CHECK_ERRNO(open("", O_RDONLY), ENOENT);
}

CHECK_MAIN()
