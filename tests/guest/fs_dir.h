/* A directory of its own for each test of the file calls, below TMPDIR if that is set (another file
 * system): entered first, removed last. */
#pragma once

#include <ftw.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>

static char fs_home[128];

__attribute__((unused)) static void fs_enter(void)
{
	const char *base = getenv("TMPDIR");
	if (!base)
		base = access("/tmp", W_OK) == 0 ? "/tmp" : ".";
	snprintf(fs_home, sizeof(fs_home), "%s/fs_test.XXXXXX", base);
	CHECK(mkdtemp(fs_home) != NULL);
	CHECK_EQ(chmod(fs_home, 0755), 0);
	CHECK_EQ(chdir(fs_home), 0);
	umask(022);
}

static int fs_remove(const char *name, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	(void)type;
	return remove(name);
}

__attribute__((unused)) static void fs_leave(void)
{
	CHECK_EQ(chdir("/"), 0);
	CHECK_EQ(nftw(fs_home, fs_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* Makes or replaces a file with this content. */
__attribute__((unused)) static void fs_put(const char *name, const char *text)
{
	int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, text, strlen(text)), (long)strlen(text));
	CHECK_EQ(close(fd), 0);
}

/* The content of a file, at most 255 bytes, in a static buffer. */
__attribute__((unused)) static const char *fs_get(const char *name)
{
	static char text[256];
	int fd = open(name, O_RDONLY);
	CHECK(fd >= 0);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	CHECK(n >= 0);
	text[n] = 0;
	close(fd);
	return text;
}

__attribute__((unused)) static bool fs_exists(const char *name)
{
	struct stat st;
	return lstat(name, &st) == 0;
}

__attribute__((unused)) static struct stat fs_stat(const char *name)
{
	struct stat st;
	CHECK_EQ(lstat(name, &st), 0);
	return st;
}

/* Forks: true in a child that is this user with no other groups (end it with _exit(0)); the parent
 * waits for its success and gets false. Needs root. */
__attribute__((unused)) static bool fs_as_user(uid_t uid, gid_t gid)
{
	int status;
	fflush(stdout);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK_EQ(setgroups(0, NULL), 0);
		CHECK_EQ(setresgid(gid, gid, gid), 0);
		CHECK_EQ(setresuid(uid, uid, uid), 0);
		return true;
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	return false;
}
