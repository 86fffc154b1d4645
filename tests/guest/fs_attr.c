/* Modes, owners, times, extended attributes, statx, statfs. */
/* also as root */
/* cflags: -Wno-stringop-overflow -Wno-stringop-overread */
#include "check.h"
#include "fs_dir.h"

#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <time.h>
#include <utime.h>

TEST(change_mode)
{
	fs_enter();
	fs_put("f", "");
	CHECK_EQ(symlink("f", "l"), 0);
	CHECK_EQ(chmod("l", 0751), 0);
	CHECK_EQ(fs_stat("f").st_mode, S_IFREG | 0751);
	int fd = open("f", O_RDONLY);
	CHECK_EQ(fchmod(fd, 07777), 0);
	if (geteuid() == 0)
		CHECK_EQ(fs_stat("f").st_mode, S_IFREG | 07777);
	CHECK_ERRNO(chmod("no", 0600), ENOENT);
	CHECK_ERRNO(fchmod(99, 0600), EBADF);
	struct timespec before = fs_stat("f").st_ctim;
	CHECK_EQ(chmod("f", 0600), 0);
	struct timespec after = fs_stat("f").st_ctim;
	CHECK(after.tv_sec > before.tv_sec ||
	      (after.tv_sec == before.tv_sec && after.tv_nsec >= before.tv_nsec));
	fs_leave();
}

TEST(change_owner)
{
	if (geteuid() != 0)
		SKIP("needs root");
	fs_enter();
	fs_put("f", "");
	CHECK_EQ(symlink("f", "l"), 0);
	CHECK_EQ(chmod("f", 06755), 0);
	CHECK_EQ(chown("f", 1001, -1), 0);
	CHECK_EQ(fs_stat("f").st_uid, 1001);
	CHECK_EQ(fs_stat("f").st_gid, getegid());
	CHECK_EQ(fs_stat("f").st_mode, S_IFREG | 0755);
	CHECK_EQ(lchown("l", 7, 8), 0);
	CHECK_EQ(fs_stat("l").st_uid, 7);
	CHECK_EQ(fs_stat("f").st_uid, 1001);
	CHECK_EQ(chown("l", -1, 1001), 0);
	CHECK_EQ(fs_stat("f").st_gid, 1001);
	CHECK_EQ(fchownat(AT_FDCWD, "l", 9, 9, AT_SYMLINK_NOFOLLOW), 0);
	CHECK_EQ(fs_stat("l").st_gid, 9);
	fs_put("foreign", "");
	fs_put("suid", "");
	CHECK_EQ(chown("suid", 0, 1001), 0);
	CHECK_EQ(chmod("suid", 06777), 0);
	if (fs_as_user(1001, 1001)) {
		CHECK_ERRNO(chown("f", 1002, -1), EPERM);
		CHECK_ERRNO(chown("f", -1, 1002), EPERM);
		CHECK_EQ(chown("f", 1001, 1001), 0);
		CHECK_EQ(chown("f", -1, -1), 0);
		CHECK_ERRNO(chown("foreign", 1001, -1), EPERM);
		CHECK_ERRNO(chmod("foreign", 0777), EPERM);
		CHECK_EQ(chmod("f", 0600), 0);
		/* Writing to a set-user-id file takes the bits away. */
		int fd = open("suid", O_WRONLY);
		CHECK_EQ(write(fd, "x", 1), 1);
		CHECK_EQ(fs_stat("suid").st_mode, S_IFREG | 0777);
		_exit(0);
	}
	fs_leave();
}

static bool near_now(struct timespec ts)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return ts.tv_sec >= now.tv_sec - 60 && ts.tv_sec <= now.tv_sec + 60;
}

TEST(set_times)
{
	fs_enter();
	fs_put("f", "");
	struct timespec ts[2] = { { 1000000, 123456789 }, { 2000000, 987654321 } };
	CHECK_EQ(utimensat(AT_FDCWD, "f", ts, 0), 0);
	struct stat st = fs_stat("f");
	CHECK_EQ(st.st_atim.tv_sec, 1000000);
	CHECK_EQ(st.st_atim.tv_nsec, 123456789);
	CHECK_EQ(st.st_mtim.tv_sec, 2000000);
	CHECK_EQ(st.st_mtim.tv_nsec, 987654321);
	CHECK(near_now(st.st_ctim));
	ts[0].tv_nsec = UTIME_OMIT;
	ts[1].tv_nsec = UTIME_NOW;
	CHECK_EQ(utimensat(AT_FDCWD, "f", ts, 0), 0);
	CHECK_EQ(fs_stat("f").st_atim.tv_sec, 1000000);
	CHECK(near_now(fs_stat("f").st_mtim));
	ts[1].tv_nsec = 1000000000;
	CHECK_ERRNO(utimensat(AT_FDCWD, "f", ts, 0), EINVAL);
	struct timeval tv[2] = { { 5, 6 }, { 7, 8 } };
	CHECK_EQ(utimes("f", tv), 0);
	CHECK_EQ(fs_stat("f").st_mtim.tv_sec, 7);
	CHECK_EQ(fs_stat("f").st_mtim.tv_nsec, 8000);
	struct utimbuf u = { 9, 10 };
	CHECK_EQ(utime("f", &u), 0);
	CHECK_EQ(fs_stat("f").st_mtim.tv_sec, 10);
	CHECK_EQ(fs_stat("f").st_mtim.tv_nsec, 0);
	ts[0] = (struct timespec){ -5, 0 };
	ts[1] = (struct timespec){ -5, 500000000 };
	int fd = open("f", O_RDONLY);
	CHECK_EQ(futimens(fd, ts), 0);
	CHECK_EQ(fs_stat("f").st_mtim.tv_sec, -5);
	CHECK_EQ(fs_stat("f").st_mtim.tv_nsec, 500000000);
	CHECK_EQ(symlink("f", "l"), 0);
	ts[0] = ts[1] = (struct timespec){ 42, 0 };
	CHECK_EQ(utimensat(AT_FDCWD, "l", ts, AT_SYMLINK_NOFOLLOW), 0);
	CHECK_EQ(fs_stat("l").st_mtim.tv_sec, 42);
	CHECK_EQ(fs_stat("f").st_mtim.tv_sec, -5);
	CHECK_EQ(utime("f", NULL), 0);
	CHECK(near_now(fs_stat("f").st_mtim));
	fs_leave();
}

TEST(times_follow_changes)
{
	fs_enter();
	struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
	fs_put("f", "text");
	CHECK_EQ(mkdir("d", 0755), 0);
	CHECK_EQ(utimensat(AT_FDCWD, "f", old, 0), 0);
	int fd = open("f", O_RDWR);
	CHECK_EQ(write(fd, "x", 1), 1);
	CHECK(near_now(fs_stat("f").st_mtim));
	CHECK_EQ(utimensat(AT_FDCWD, "f", old, 0), 0);
	CHECK_EQ(ftruncate(fd, 1), 0);
	CHECK(near_now(fs_stat("f").st_mtim));
	CHECK_EQ(utimensat(AT_FDCWD, "d", old, 0), 0);
	fs_put("d/f", "");
	CHECK(near_now(fs_stat("d").st_mtim));
	CHECK_EQ(utimensat(AT_FDCWD, "d", old, 0), 0);
	CHECK_EQ(rename("d/f", "d/g"), 0);
	CHECK(near_now(fs_stat("d").st_mtim));
	CHECK_EQ(utimensat(AT_FDCWD, "d", old, 0), 0);
	CHECK_EQ(unlink("d/g"), 0);
	CHECK(near_now(fs_stat("d").st_mtim));
	CHECK_EQ(fs_stat("f").st_atim.tv_sec, 1000);
	char c;
	CHECK_EQ(pread(fd, &c, 1, 0), 1);
	fs_leave();
}

TEST(times_of_others)
{
	if (geteuid() != 0)
		SKIP("needs root");
	fs_enter();
	fs_put("open", "");
	CHECK_EQ(chmod("open", 0666), 0);
	fs_put("closed", "");
	if (fs_as_user(1001, 1001)) {
		struct timespec ts[2] = { { 1, 0 }, { 1, 0 } };
		CHECK_ERRNO(utimensat(AT_FDCWD, "open", ts, 0), EPERM);
		CHECK_EQ(utimensat(AT_FDCWD, "open", NULL, 0), 0);
		CHECK_ERRNO(utimensat(AT_FDCWD, "closed", NULL, 0), EACCES);
		ts[0].tv_nsec = UTIME_NOW;
		ts[1].tv_nsec = UTIME_OMIT;
		CHECK_ERRNO(utimensat(AT_FDCWD, "open", ts, 0), EPERM);
		_exit(0);
	}
	fs_leave();
}

TEST(attributes_of_users)
{
	fs_enter();
	char value[64], list[256];
	fs_put("f", "");
	if (setxattr("f", "user.a", "one", 3, 0) < 0 && errno == EOPNOTSUPP)
		SKIP("no user attributes here");
	CHECK_EQ(setxattr("f", "user.bb", "three", 5, XATTR_CREATE), 0);
	CHECK_ERRNO(setxattr("f", "user.bb", "x", 1, XATTR_CREATE), EEXIST);
	CHECK_ERRNO(setxattr("f", "user.no", "x", 1, XATTR_REPLACE), ENODATA);
	CHECK_EQ(getxattr("f", "user.a", value, sizeof(value)), 3);
	CHECK_EQ(memcmp(value, "one", 3), 0);
	CHECK_EQ(getxattr("f", "user.bb", NULL, 0), 5);
	CHECK_ERRNO(getxattr("f", "user.bb", value, 2), ERANGE);
	CHECK_ERRNO(getxattr("f", "user.no", value, 2), ENODATA);
	ssize_t n = listxattr("f", list, sizeof(list));
	int seen = 0;
	for (ssize_t at = 0; at < n; at += (ssize_t)strlen(list + at) + 1)
		seen += !strcmp(list + at, "user.a") || !strcmp(list + at, "user.bb");
	CHECK_EQ(seen, 2);
	int fd = open("f", O_RDWR);
	CHECK_EQ(fsetxattr(fd, "user.a", "", 0, XATTR_REPLACE), 0);
	CHECK_EQ(fgetxattr(fd, "user.a", value, sizeof(value)), 0);
	CHECK_EQ(fremovexattr(fd, "user.a"), 0);
	CHECK_ERRNO(removexattr("f", "user.a"), ENODATA);
	CHECK_ERRNO(setxattr("f", "nothing.a", "x", 1, 0), EOPNOTSUPP);
	CHECK_ERRNO(setxattr("f", "", "x", 1, 0), ERANGE);
	CHECK_ERRNO(setxattr("f", "user.a", "x", 1, 4), EINVAL);
	CHECK_ERRNO(setxattr("f", "user.a", list, 65537, 0), E2BIG);
	CHECK_EQ(symlink("f", "l"), 0);
	CHECK_ERRNO(lsetxattr("l", "user.a", "x", 1, 0), EPERM);
	CHECK_EQ(rename("f", "g"), 0);
	CHECK_EQ(getxattr("g", "user.bb", value, sizeof(value)), 5);
	fs_leave();
}

TEST(statx_reports)
{
	fs_enter();
	struct statx sx;
	fs_put("f", "12345");
	struct stat st = fs_stat("f");
	CHECK_EQ(statx(AT_FDCWD, "f", 0, STATX_ALL, &sx), 0);
	CHECK_EQ(sx.stx_mask & STATX_BASIC_STATS, STATX_BASIC_STATS);
	CHECK_EQ(sx.stx_size, 5);
	CHECK_EQ(sx.stx_ino, st.st_ino);
	CHECK_EQ(sx.stx_mode, st.st_mode);
	CHECK_EQ(sx.stx_uid, st.st_uid);
	CHECK_EQ(sx.stx_mtime.tv_sec, st.st_mtim.tv_sec);
	CHECK_EQ(sx.stx_mtime.tv_nsec, st.st_mtim.tv_nsec);
	CHECK_EQ(makedev(sx.stx_dev_major, sx.stx_dev_minor), st.st_dev);
	int fd = open("f", O_RDONLY);
	CHECK_EQ(statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &sx), 0);
	CHECK_EQ(sx.stx_size, 5);
	CHECK_ERRNO(statx(AT_FDCWD, "f", 0, 0x80000000u, &sx), EINVAL);
	CHECK_ERRNO(statx(AT_FDCWD, "f", 1, 0, &sx), EINVAL);
	CHECK_ERRNO(statx(AT_FDCWD, "no", 0, 0, &sx), ENOENT);
	CHECK_ERRNO(syscall(SYS_statx, AT_FDCWD, "f", 0, 0, 8), EFAULT);
	fs_leave();
}

TEST(statfs_reports)
{
	fs_enter();
	struct statfs a, b;
	CHECK_EQ(statfs(".", &a), 0);
	CHECK(a.f_bsize > 0 && a.f_blocks > 0 && a.f_bfree <= a.f_blocks);
	CHECK_EQ(a.f_namelen, 255);
	int fd = open(".", O_RDONLY);
	CHECK_EQ(fstatfs(fd, &b), 0);
	CHECK_EQ(a.f_type, b.f_type);
	CHECK_EQ(statfs("/proc", &b), 0);
	CHECK_EQ(b.f_type, 0x9fa0);
	CHECK_ERRNO(statfs("no", &b), ENOENT);
	int p[2];
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(fstatfs(p[0], &b), 0);
	CHECK_EQ(b.f_type, 0x50495045);
	fs_leave();
}

CHECK_MAIN()
