/*
 * Scenarios of failing allocations: files. Every call may fail and nothing here minds; what a scenario
 * opened, made or mapped is cleared away by its caller (helper_faults.c). Nothing waits for ever.
 */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#define IGNORE(call) ((void)!(call))

static char faults_block[300000];

static inline void list_directory(const char *path)
{
	char buffer[4096];
	int fd = open(path, O_RDONLY | O_DIRECTORY);

	for (int i = 0; i < 100 && syscall(SYS_getdents64, fd, buffer, sizeof(buffer)) > 0; i++)
		;
	close(fd);
}

static inline void read_all(const char *path)
{
	char buffer[4096];
	int fd = open(path, O_RDONLY | O_NONBLOCK);

	for (int i = 0; i < 50 && read(fd, buffer, sizeof(buffer)) > 0; i++)
		;
	close(fd);
}

static inline void scenario_names(void)
{
	char path[64], target[256];
	struct stat st;
	struct statfs fs;

	mkdir("d", 0755);
	mkdir("d/e", 0755);
	mkdir("d/f", 0755);
	for (int i = 0; i < 12; i++) {
		snprintf(path, sizeof(path), "d/e/%d", i);
		close(open(path, O_CREAT | O_WRONLY, 0600));
	}
	link("d/e/1", "d/e/hard");
	symlink("../e", "d/f/link");
	IGNORE(readlink("d/f/link", target, sizeof(target)));
	stat("d/f/link/3", &st);
	rename("d/e/2", "d/e/two");
	rename("d/e/3", "d/e/4");
	rename("d/f", "d/e/f");
	syscall(SYS_renameat2, AT_FDCWD, "d/e/5", AT_FDCWD, "d/e/f", 2 /* RENAME_EXCHANGE */);
	syscall(SYS_renameat2, AT_FDCWD, "d/e/6", AT_FDCWD, "d/e/six", 4 /* RENAME_WHITEOUT */);
	mknod("d/fifo", S_IFIFO | 0600, 0);
	mknod("d/socket", S_IFSOCK | 0600, 0);
	list_directory("d/e");
	list_directory("/usr/lib");
	stat("d/e/absent", &st);
	statfs("d", &fs);
	IGNORE(chdir("d/e"));
	IGNORE(getcwd(target, sizeof(target)));
	IGNORE(chdir("../.."));
	unlink("d/e/hard");
	rmdir("d/e");
	setxattr("d/e/7", "user.one", faults_block, 100, 0);
	setxattr("d/e/7", "user.two", faults_block, 60000, 0);
	getxattr("d/e/7", "user.two", faults_block, sizeof(faults_block));
	listxattr("d/e/7", target, sizeof(target));
	removexattr("d/e/7", "user.one");
	chmod("d/e/8", 0644);
	truncate("d/e/8", 100000);
	utimensat(AT_FDCWD, "d/e/8", NULL, 0);
}

static inline void scenario_data(void)
{
	struct iovec iov[3] = { { faults_block, 100 }, { faults_block, 70000 }, { faults_block, 5 } };
	int fd = open("data", O_CREAT | O_RDWR, 0600), other = open("other", O_CREAT | O_RDWR, 0600);
	int unnamed = open(".", O_TMPFILE | O_RDWR, 0600);

	IGNORE(write(fd, "short", 5));
	IGNORE(write(fd, faults_block, 1500));
	IGNORE(pwrite(fd, faults_block, 100000, 3000));
	IGNORE(writev(fd, iov, 3));
	IGNORE(pread(fd, faults_block, sizeof(faults_block), 0));
	fallocate(fd, 0, 200000, 50000);
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 8192);
	IGNORE(copy_file_range(fd, &(loff_t){ 0 }, other, NULL, 50000, 0));
	IGNORE(sendfile(other, fd, &(off_t){ 0 }, 50000));
	IGNORE(ftruncate(fd, 10));
	IGNORE(write(unnamed, faults_block, 5000));
	linkat(AT_FDCWD, "/proc/self/fd/5", AT_FDCWD, "named", AT_SYMLINK_FOLLOW);
	syncfs(fd);
	fsync(fd);
	dup2(fd, 900);
	fcntl(fd, F_DUPFD, 2000);
}

/* The template's files: a copy on the first write. */
static inline void scenario_lower(void)
{
	static const char *const names[] = { "/usr/bin/env", "/usr/lib/os-release", "/usr/share/doc" };

	for (size_t i = 0; i < 3; i++) {
		int fd = open(names[i], O_RDWR | O_APPEND);
		IGNORE(write(fd, "x", 1));
		close(fd);
		chmod(names[i], 0755);
		setxattr(names[i], "user.x", "y", 1, 0);
	}
	read_all("/etc/passwd");
	list_directory("/etc");
	list_directory("/dev");
	read_all("/usr/share/common-licenses/GPL-3");
}

static inline void scenario_memory(void)
{
	int fd = open("mapped", O_CREAT | O_RDWR, 0600), program = open("/usr/bin/env", O_RDONLY);
	int memory = (int)syscall(SYS_memfd_create, "faults", 2 /* MFD_ALLOW_SEALING */);

	IGNORE(ftruncate(fd, 20000));
	IGNORE(ftruncate(memory, 20000));
	IGNORE(write(memory, faults_block, 9000));
	char *a = mmap(NULL, 20000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char *b = mmap(NULL, 20000, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	char *c = mmap(NULL, 20000, PROT_READ, MAP_PRIVATE, program, 0);
	if (a != MAP_FAILED)
		a[5000] = 1;
	if (b != MAP_FAILED)
		b[5000] = 1;
	read_all("/proc/self/maps");
	fcntl(memory, F_ADD_SEALS, F_SEAL_GROW);
	if (a != MAP_FAILED)
		munmap(a, 20000);
	if (b != MAP_FAILED)
		munmap(b, 20000);
	if (c != MAP_FAILED)
		munmap(c, 20000);
}

static inline void scenario_proc(void)
{
	static const char *const files[] = {
		"/proc/self/status", "/proc/self/stat", "/proc/self/cmdline", "/proc/self/environ", "/proc/self/limits",
		"/proc/self/mountinfo", "/proc/self/mounts", "/proc/self/cgroup", "/proc/self/io", "/proc/self/fdinfo/0",
		"/proc/self/smaps", "/proc/self/auxv", "/proc/self/comm", "/proc/self/statm", "/proc/self/task/self/stat",
		"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version",
		"/proc/locks", "/proc/net/tcp", "/proc/net/unix", "/proc/net/dev", "/proc/filesystems",
		"/proc/sys/kernel/hostname", "/proc/sysvipc/shm", "/proc/vmstat", "/proc/partitions",
		"/sys/fs/cgroup/memory.max", "/sys/devices/system/cpu/online",
	};
	static const char *const directories[] = { "/proc", "/proc/self", "/proc/self/fd", "/proc/self/task",
						   "/proc/self/fdinfo", "/proc/sys/kernel", "/sys/devices/system/cpu" };
	char target[4096];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		read_all(files[i]);
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
		list_directory(directories[i]);
	IGNORE(readlink("/proc/self/exe", target, sizeof(target)));
	IGNORE(readlink("/proc/self/fd/0", target, sizeof(target)));
	IGNORE(readlink("/proc/self/cwd", target, sizeof(target)));
}

static inline void scenario_watches(void)
{
	char events[4096];
	int in = inotify_init1(IN_NONBLOCK);

	mkdir("w", 0755);
	inotify_add_watch(in, "w", IN_ALL_EVENTS);
	int fd = open("w/file", O_CREAT | O_RDWR, 0600);
	inotify_add_watch(in, "w/file", IN_ALL_EVENTS);
	inotify_add_watch(in, "/usr/bin/env", IN_ALL_EVENTS);
	IGNORE(write(fd, "x", 1));
	rename("w/file", "w/other");
	IGNORE(read(in, events, sizeof(events)));
	unlink("w/other");
	close(fd);
	rmdir("w");
	IGNORE(read(in, events, sizeof(events)));
}

static inline void scenario_locks(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_start = 10, .l_len = 10 };
	int fd = open("locked", O_CREAT | O_RDWR, 0600), other = open("locked", O_RDWR);

	fcntl(fd, F_SETLK, &lock);
	lock.l_type = F_UNLCK;
	lock.l_start = 13;
	lock.l_len = 2;
	fcntl(fd, F_SETLK, &lock); /* splits it */
	lock.l_type = F_RDLCK;
	fcntl(other, F_OFD_SETLK, &lock);
	fcntl(other, F_OFD_GETLK, &lock);
	flock(fd, LOCK_SH | LOCK_NB);
	flock(other, LOCK_SH | LOCK_NB);
	flock(fd, LOCK_EX | LOCK_NB);
	read_all("/proc/locks");
}
