/* also as root */
/* A file mapping puts a host descriptor into the guest process: nothing may use it but the mapping. */
#include "attack.h"

#include <sched.h>
#include <sys/resource.h>

enum { NATIVE, CHECKED, EMULATED, REFUSED };

/* The calls which take a descriptor or a path: none may ever be native. mmap is native for anonymous
 * memory only, which the test below sees. */
static const char *const with_descriptor_or_path[] = {
	"read", "write", "open", "close", "stat", "fstat", "lstat", "poll", "lseek", "ioctl", "pread64", "pwrite64", "readv", "writev", "access", "select",
	"dup", "dup2", "sendfile", "connect", "accept", "sendto", "recvfrom", "sendmsg", "recvmsg", "shutdown", "bind", "listen", "getsockname", "getpeername", "setsockopt",
	"getsockopt", "execve", "fcntl", "flock", "fsync", "fdatasync", "truncate", "ftruncate", "getdents", "chdir", "fchdir", "rename", "mkdir", "rmdir",
	"creat", "link", "unlink", "symlink", "readlink", "chmod", "fchmod", "chown", "fchown", "lchown", "utime", "mknod", "uselib", "statfs", "fstatfs", "pivot_root", "chroot",
	"mount", "umount2", "swapon", "readahead", "setxattr", "lsetxattr", "fsetxattr", "getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr", "removexattr",
	"lremovexattr", "fremovexattr", "epoll_ctl", "epoll_wait", "fadvise64", "utimes", "mq_open", "inotify_add_watch", "inotify_rm_watch", "openat", "mkdirat", "mknodat", "fchownat",
	"futimesat", "newfstatat", "unlinkat", "renameat", "linkat", "symlinkat", "readlinkat", "fchmodat", "faccessat", "pselect6", "ppoll", "splice", "tee", "sync_file_range",
	"vmsplice", "utimensat", "epoll_pwait", "signalfd", "fallocate", "timerfd_settime", "timerfd_gettime", "accept4", "signalfd4", "dup3", "preadv", "pwritev", "recvmmsg",
	"fanotify_mark", "name_to_handle_at", "open_by_handle_at", "syncfs", "sendmmsg", "setns", "finit_module", "renameat2", "kexec_file_load", "bpf", "execveat", "copy_file_range",
	"preadv2", "pwritev2", "statx", "io_uring_enter", "io_uring_register", "io_uring_setup", "pidfd_send_signal", "close_range", "openat2", "pidfd_getfd", "faccessat2",
	"process_madvise", "epoll_pwait2", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "landlock_add_rule", "process_mrelease", "cachestat",
	"fchmodat2", "pipe", "pipe2", "socket", "socketpair", "epoll_create", "epoll_create1", "eventfd", "eventfd2", "timerfd_create", "memfd_create", "inotify_init", "inotify_init1",
	"userfaultfd", "perf_event_open", "fanotify_init", "pidfd_open", "memfd_secret", "shmget", "shmat", "io_setup", "io_submit", "mq_timedsend", "mq_timedreceive", "remap_file_pages",
};

static const struct {
	const char *name;
	int class;
} rows[] = {
#define SYSCALL(name, number, class, handler, check, error, trace, note) { #name, class },
#include "../../src/kernel/abi/syscalls.def"
};

TEST(no_native_call_takes_a_descriptor_or_a_path)
{
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		if (rows[r].class != NATIVE)
			continue;
		for (size_t i = 0; i < sizeof(with_descriptor_or_path) / sizeof(char *); i++) {
			if (strcmp(rows[r].name, with_descriptor_or_path[i]) == 0)
				printf("# %s is native\n", rows[r].name);
			CHECK(strcmp(rows[r].name, with_descriptor_or_path[i]) != 0);
		}
	}
}

/* A read-only descriptor, mapped: the host's descriptor has its number now. */
static int mapped_file(char **ret_map)
{
	int fd = open("/usr/bin/env", O_RDONLY);
	CHECK(fd >= 0);
	*ret_map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(*ret_map != MAP_FAILED);
	return fd;
}

TEST(a_mapped_descriptor_is_still_ours_only)
{
	char *map, text[8];
	int fd = mapped_file(&map);
	CHECK_ERRNO(write(fd, "x", 1), EBADF);
	CHECK_ERRNO(ftruncate(fd, 0), EINVAL);
	CHECK_ERRNO(syscall(SYS_fallocate, fd, 0, 0, 4096), EBADF);
	CHECK_ERRNO(syscall(SYS_setns, fd, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_finit_module, fd, "", 0), EPERM);
	CHECK_ERRNO(syscall(SYS_bpf, 0, fd, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_io_uring_enter, fd, 1, 1, 0, 0, 0), ENOSYS);
	CHECK_EQ(pread(fd, text, 4, 0), 4);
	CHECK_EQ(memcmp(text, map, 4), 0);
	close(fd);
	CHECK_ERRNO(pread(fd, text, 4, 0), EBADF);
	CHECK_ERRNO(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0, EBADF);
	CHECK_EQ(map[1], 'E');
}

TEST(a_read_only_mapping_stays_read_only)
{
	char *map;
	mapped_file(&map);
	CHECK_ERRNO(mprotect(map, 4096, PROT_READ | PROT_WRITE), EACCES);
	char *moved = mremap(map, 4096, 4096, MREMAP_MAYMOVE, NULL);
	CHECK(moved != MAP_FAILED);
	CHECK_ERRNO(mprotect(moved, 4096, PROT_WRITE), EACCES);
	char *twice = mremap(moved, 0, 4096, MREMAP_MAYMOVE, NULL);
	if (twice != MAP_FAILED)
		CHECK_ERRNO(mprotect(twice, 4096, PROT_WRITE), EACCES);
	CHECK(madvise(moved, 4096, MADV_REMOVE) < 0);
	CHECK(syscall(SYS_remap_file_pages, moved, 4096, 0, 0, 0) < 0);
	/* Reading from a pipe into it is a write by the kernel process on our behalf. */
	int ends[2];
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(write(ends[1], "evil", 4), 4);
	CHECK_ERRNO(read(ends[0], moved, 4), EFAULT);
	CHECK_ERRNO(syscall(SYS_getcwd, moved, 4096), EFAULT);
	CHECK(memcmp(moved, "\177ELF", 4) == 0);
}

TEST(a_private_mapping_does_not_reach_the_file)
{
	int fd = open("/usr/bin/env", O_RDONLY), ends[2];
	char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0), text[8];
	CHECK(map != MAP_FAILED);
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(write(ends[1], "evil", 4), 4);
	CHECK_EQ(read(ends[0], map, 4), 4);
	CHECK_EQ(madvise(map, 4096, MADV_DONTNEED), 0);
	CHECK_EQ(memcmp(map, "\177ELF", 4), 0);
	CHECK_EQ(pread(fd, text, 4, 0), 4);
	CHECK_EQ(memcmp(text, "\177ELF", 4), 0);
}

TEST(write_only_files_are_not_mapped)
{
	int fd = open("out", O_WRONLY | O_CREAT, 0600);
	CHECK_EQ(ftruncate(fd, 4096), 0);
	CHECK_ERRNO(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0, EACCES);
	int dir = open(".", O_RDONLY | O_DIRECTORY), path = open("out", O_PATH), ends[2];
	CHECK_EQ(pipe(ends), 0);
	CHECK_ERRNO(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, dir, 0) == MAP_FAILED ? -1 : 0, ENODEV);
	CHECK_ERRNO(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, path, 0) == MAP_FAILED ? -1 : 0, EBADF);
	CHECK_ERRNO(mmap(NULL, 4096, PROT_READ, MAP_SHARED, ends[0], 0) == MAP_FAILED ? -1 : 0, ENODEV);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 77, 0) == MAP_FAILED);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, -4096) == MAP_FAILED);
}

static volatile bool flipping;
static int victim_fd;

static void *flip_descriptor(void *other)
{
	int fd = *(int *)other;
	while (flipping) {
		dup2(fd, victim_fd);
		close(victim_fd);
		int again = open("mine", O_RDWR);
		if (again != victim_fd && again >= 0)
			close(again);
	}
	return NULL;
}

TEST(a_descriptor_that_changes_during_mmap)
{
	/* A thread swaps the descriptor between our own writable file and a read-only one of the template: a
	 * writable shared mapping must never be of the latter. */
	pthread_t thread;
	int template = open("/usr/bin/env", O_RDONLY);
	int mine = open("mine", O_RDWR | O_CREAT, 0600);
	CHECK_EQ(ftruncate(mine, 8192), 0);
	victim_fd = dup(mine);
	flipping = true;
	CHECK_EQ(pthread_create(&thread, NULL, flip_descriptor, &template), 0);
	for (int i = 0; i < 4000; i++) {
		char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, victim_fd, 0);
		if (map == MAP_FAILED)
			continue;
		CHECK(memcmp(map, "\177ELF", 4) != 0);
		munmap(map, 4096);
	}
	flipping = false;
	pthread_join(thread, NULL);
	check_alive();
}

TEST(many_mapped_descriptors)
{
	struct rlimit limit;
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	int fd = open("/usr/bin/env", O_RDONLY), highest = -1;
	for (int to = 100; to < (int)limit.rlim_cur && to < 60000; to += 97) {
		if (dup2(fd, to) != to)
			break;
		void *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, to, 0);
		CHECK(map != MAP_FAILED);
		highest = to;
	}
	CHECK(highest > 900);
	check_alive();
}

CHECK_MAIN()
