/* For helper_stall.c: locks, reads and writes of much, large and deep directories, links. */
#pragma once

#include "stall.h"

static int locks_fd = -1;
static void prepare_locks(void)
{
	locks_fd = open("locks", O_RDWR | O_CREAT, 0600);
	for (long i = 0; i < 200000; i++) {
		struct flock lock = { .l_type = F_WRLCK, .l_start = i * 2, .l_len = 1 };
		if (fcntl(locks_fd, F_SETLK, &lock) < 0)
			break;
	}
}

static void attack_locks(void)
{
	struct flock all = { .l_type = F_UNLCK };
	for (int i = 0; i < 10; i++) {
		struct flock lock = { .l_type = F_RDLCK, .l_start = i * 2, .l_len = 1 };
		fcntl(locks_fd, F_SETLK, &lock);
	}
	fcntl(locks_fd, F_SETLK, &all);
}

static char *huge;
static struct iovec vectors[1024];
static void prepare_vectors(void)
{
	huge = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(huge, 1, 2 << 20);
	for (int i = 0; i < 1024; i++)
		vectors[i] = (struct iovec){ huge, 2 << 20 };
}

static void attack_read_zero(void)
{
	int fd = open("/dev/zero", O_RDONLY);
	IGNORE(readv(fd, vectors, 1024));
	close(fd);
}

static void attack_read_random(void)
{
	int fd = open("/dev/urandom", O_RDONLY);
	IGNORE(readv(fd, vectors, 100));
	close(fd);
}

static int sparse = -1;
static void prepare_sparse(void)
{
	prepare_vectors();
	sparse = open("sparse", O_RDWR | O_CREAT, 0600);
	IGNORE(ftruncate(sparse, 1ll << 40));
}

static void attack_read_sparse(void)
{
	IGNORE(preadv(sparse, vectors, 1024, 0));
}

static void attack_copy_sparse(void)
{
	int out = open("copy", O_RDWR | O_CREAT, 0600);
	IGNORE(copy_file_range(sparse, NULL, out, NULL, 1ull << 40, 0));
	IGNORE(lseek(sparse, 0, SEEK_DATA));
	close(out);
}

static void attack_write_file(void)
{
	int fd = open("written", O_RDWR | O_CREAT, 0600);
	IGNORE(pwritev(fd, vectors, 200, 0)); /* 400 MB */
	IGNORE(ftruncate(fd, 0));
	close(fd);
}

static void attack_fallocate(void)
{
	int fd = open("allocated", O_RDWR | O_CREAT, 0600);
	fallocate(fd, 0, 0, 400 << 20);
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 400 << 20);
	close(fd);
}

static void prepare_names(void)
{
	/* Hard links: names that no limit of inodes holds back. */
	char name[300];
	mkdir("names", 0755);
	close(open("names/file", O_CREAT | O_WRONLY, 0600));
	memset(name, 'n', 250);
	for (int i = 0; i < 60000; i++) {
		snprintf(name, sizeof(name), "names/%0100d", i);
		if (link("names/file", name) < 0)
			break;
	}
}

static void attack_getdents(void)
{
	int fd = open("names", O_RDONLY | O_DIRECTORY);
	while (syscall(SYS_getdents64, fd, block, sizeof(block)) > 0)
		;
	IGNORE(lseek(fd, 0, SEEK_SET));
	IGNORE(syscall(SYS_getdents64, fd, block, sizeof(block)));
	close(fd);
	rename("names", "renamed");
	rename("renamed", "names");
	rmdir("names");
}

static void prepare_deep(void)
{
	char home[4096];
	IGNORE(getcwd(home, sizeof(home)));
	mkdir("deep", 0755);
	IGNORE(chdir("deep"));
	for (int i = 0; i < 30000; i++)
		if (mkdir("d", 0755) < 0 || chdir("d") < 0)
			break;
}

static void attack_deep(void)
{
	char path[8192];
	IGNORE(syscall(SYS_getcwd, path, sizeof(path)));
	IGNORE(readlink("/proc/self/cwd", path, sizeof(path)));
	mkdir("last", 0755);
	rename("last", "../last");
	IGNORE(chdir("/"));
}

static void prepare_links(void)
{
	char target[4096];
	mkdir("l", 0755);
	for (int i = 0; i < 40; i++) {
		char name[32];
		size_t length = 0;
		while (length + 20 < sizeof(target))
			length += (size_t)sprintf(target + length, "./l/../");
		sprintf(target + length, "link%d", i + 1);
		snprintf(name, sizeof(name), "link%d", i);
		IGNORE(symlink(target, name));
		length = 0;
		while (length + 40 < sizeof(target))
			length += (size_t)sprintf(target + length, "/proc/self/task/../../../");
		sprintf(target + length, "tmp/proclink%d", i + 1);
		snprintf(name, sizeof(name), "/tmp/proclink%d", i);
		IGNORE(symlink(target, name));
	}
}

static void attack_links(void)
{
	struct stat st;
	for (int i = 0; i < 5; i++) {
		stat("link0", &st);
		stat("/tmp/proclink0", &st);
	}
}
