/*
 * The probe of the jail: runs in the kernel process's place, after it has locked itself up.
 *
 * Each check is an attempt to get out. With the filter, a call that is not in the list does not come
 * back: SIGSYS. Here the signal is caught and noted. The result goes out as the reason of the
 * sandbox's end: "jail probe: N attempts, all failed", or the names of those that did not fail.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/io_uring.h>
#include <linux/memfd.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/util.h"
#include "kernel/control/control.h"
#include "kernel/host/jail.h"
#include "probe.h"

static unsigned attempts;
static char escapes[200];
static volatile sig_atomic_t trapped;

void note(bool failed, const char *what)
{
	size_t length = strlen(escapes);

	attempts++;
	if (!failed)
		snprintf(escapes + length, sizeof(escapes) - length, " %s", what);
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	trapped = 1;
	uc->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
}

static bool traps(long nr, long a, long b, long c)
{
	trapped = 0;
	(void)syscall(nr, a, b, c, 0, 0, 0);
	return trapped;
}

/* ---- files ---- */

/* The root holds the stub under its two names and nothing else, and is not writable. */
static void try_root(void)
{
	static const char *const names[] = { "/proc", "/etc/passwd", "/dev/null", "/tmp", "/home",
					     "/../etc/passwd", "/proc/1/root/etc/passwd", "/sys",
					     "/x/../../etc/passwd", "/run" };
	char entries[4096];
	unsigned count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		note(openat(AT_FDCWD, names[i], O_PATH) < 0, names[i]);
	int root = openat(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY);
	long n = syscall(SYS_getdents64, root, entries, sizeof(entries));
	for (long at = 0; at < n; count++)
		at += *(uint16_t *)(void *)(entries + at + 16);
	note(count == 4, "root-is-empty"); /* with . and .. */
	note(openat(AT_FDCWD, "/new", O_CREAT | O_WRONLY, 0600) < 0, "create-in-root");
	note(openat(AT_FDCWD, "/x", O_WRONLY) < 0, "write-stub");
	note(unlinkat(AT_FDCWD, "/x", 0) < 0, "remove-stub");
	close(root);
}

static bool same(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_ino == y.st_ino &&
	       x.st_dev == y.st_dev;
}

/* From each directory that is open, up. */
static void try_up(void)
{
	for (int fd = 0; fd < 256; fd++) {
		struct stat st;
		if (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode))
			continue;
		int up = openat(fd, "../../../..", O_PATH);
		/* The way up ends at the root of that very tree, or there is none. */
		bool stays = up < 0;
		if (up >= 0) {
			int again = openat(up, "..", O_PATH);
			stays = same(up, again);
			close(again);
		}
		note(stays, "up");
		if (up >= 0)
			close(up);
	}
}

/* The template, wherever it is: the descriptor below which there is a /etc/passwd. */
static void try_template(void)
{
	for (int fd = 0; fd < 256; fd++) {
		struct stat st;
		if (fstatat(fd, "etc/passwd", &st, 0) < 0)
			continue;
		note(openat(fd, "hotcell-probe", O_CREAT | O_WRONLY, 0600) < 0, "write-template");
		note(openat(fd, "etc/passwd", O_WRONLY) < 0, "write-passwd");
		note(openat(fd, "etc/shadow", O_RDONLY) < 0, "read-shadow");
		note(mkdirat(fd, "tmp/hotcell-probe", 0700) < 0, "mkdir-template");
		note(openat(fd, "proc/1/root", O_PATH) < 0, "proc-of-the-host");
		note(openat(fd, "dev/kmsg", O_RDONLY) < 0, "kmsg");
		note(openat(fd, "dev/mem", O_RDONLY) < 0, "mem");
		note(openat(fd, "dev/sda", O_RDONLY) < 0, "disk");
	}
}

/* What the caller mounted: directories that hold a file of this name (tests/escape/jail.py). */
static void try_read_only_mount(int dir)
{
	char link[64];
	int fd = openat(dir, "file", O_RDONLY);

	note(fd >= 0, "read-a-mounted-file");
	note(openat(dir, "file", O_WRONLY) < 0, "write-ro");
	note(openat(dir, "file", O_RDONLY | O_TRUNC) < 0, "truncate-ro");
	note(openat(dir, "new", O_CREAT | O_WRONLY, 0600) < 0, "create-ro");
	note(fchmodat(dir, "file", 0777, 0) < 0, "chmod-ro");
	note(unlinkat(dir, "file", 0) < 0, "unlink-ro");
	note(syscall(SYS_renameat2, dir, "file", dir, "file2", 0) < 0, "rename-ro");
	note(linkat(dir, "file", dir, "file2", 0) < 0, "link-ro");
	note(symlinkat("/", dir, "file2") < 0, "symlink-ro");
	note(utimensat(dir, "file", NULL, 0) < 0, "touch-ro");
	note(ftruncate(fd, 0) < 0 && fallocate(fd, 0, 0, 8192) < 0, "resize-ro");
	note(fsetxattr(fd, "user.probe", "1", 1, 0) < 0, "xattr-ro");
	/* What leads out lies on the host; from here it leads nowhere, or to our own root. */
	note(openat(dir, "out/secret", O_RDONLY) < 0, "absolute-link");
	note(openat(dir, "up/secret", O_RDONLY) < 0, "relative-link");
	note(openat(dir, "../secret", O_RDONLY) < 0, "dot-dot");
	note(openat(dir, "device", O_RDONLY) < 0, "device");
	/* The same file again through /proc, with more rights than it was opened with. */
	for (int proc = 0; proc < 256; proc++) {
		snprintf(link, sizeof(link), "self/fd/%d", fd);
		int again = openat(proc, link, O_RDWR);
		note(again < 0, "reopen-ro");
		snprintf(link, sizeof(link), "self/fd/%d/../secret", dir);
		note(openat(proc, link, O_RDONLY) < 0, "proc-up");
		note(openat(proc, "self/root/etc/passwd", O_RDONLY) < 0, "proc-root");
		note(openat(proc, "2/root/etc/passwd", O_RDONLY) < 0, "guest-root");
		note(openat(proc, "sysrq-trigger", O_WRONLY) < 0, "sysrq");
		note(openat(proc, "sys/kernel/core_pattern", O_WRONLY) < 0, "sysctl");
	}
	close(fd);
}

/* Files may be made here; none that runs with its owner's rights for others of the host. */
static void try_writable_mount(int dir)
{
	int fd = openat(dir, "set-id", O_CREAT | O_EXCL | O_RDWR, 04755);

	if (fd >= 0) {
		note(pwrite(fd, "#!/bin/sh\n", 10, 0) == 10, "write-rw");
		struct stat st;
		note(fstat(fd, &st) == 0 && !(st.st_mode & S_ISUID), "set-id-file");
		close(fd);
	}
	note(mknodat(dir, "node", S_IFBLK | 0600, 0x800) < 0, "node-rw");
	note(openat(dir, "../secret", O_RDONLY) < 0, "dot-dot-rw");
	note(unlinkat(dir, "..", AT_REMOVEDIR) < 0, "remove-root-rw");
	note(syscall(SYS_renameat2, dir, "file", dir, "../moved", 0) < 0 || faccessat(dir, "moved", F_OK, 0) == 0,
	     "rename-up");
}

static void try_mounts(void (*read_only)(int), void (*writable)(int))
{
	struct stat st;

	for (int fd = 0; fd < 256; fd++) {
		if (fstatat(fd, "hotcell-probe-ro", &st, 0) == 0)
			read_only(fd);
		else if (fstatat(fd, "hotcell-probe-rw", &st, 0) == 0)
			writable(fd);
	}
}

/* ---- processes ---- */

static void try_processes(void)
{
	/* Our own namespace begins with us: no number leads further out. */
	for (int pid = 100; pid < 5000; pid += 7) {
		errno = 0;
		if (kill(pid, SIGKILL) == 0 || errno != ESRCH)
			note(false, "kill");
	}
	note(true, "kill");
	note(syscall(SYS_pidfd_open, 4000, 0) < 0, "pidfd");
	note(ptrace(PTRACE_SEIZE, 4000, NULL, NULL) < 0, "ptrace");
	struct rlimit64 limit = { 1, 1 };
	note(syscall(SYS_prlimit64, 4000, RLIMIT_CPU, &limit, NULL) < 0, "prlimit");
	char byte;
	struct iovec local = { &byte, 1 }, remote = { (void *)0x400000, 1 };
	note(syscall(SYS_process_vm_readv, 4000, &local, 1, &remote, 1, 0) < 0, "vm_readv");
}

/* ---- the network, and other machinery of the host ---- */

static bool connects(int family, const void *address, socklen_t size)
{
	int fd = socket(family, SOCK_STREAM, 0);
	bool done = fd >= 0 && connect(fd, address, size) == 0;

	if (fd >= 0)
		close(fd);
	return done;
}

static void try_network(void)
{
	static const uint16_t ports[] = { 22, 25, 53, 80, 111, 443, 631, 2375, 6379, 8080 };
	struct sockaddr_un bus = { .sun_family = AF_UNIX, .sun_path = "/run/dbus/system_bus_socket" };

	for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
		struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(ports[i]) };
		to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		note(!connects(AF_INET, &to, sizeof(to)), "loopback");
		to.sin_addr.s_addr = htonl(0xa9fea9fe);
		note(!connects(AF_INET, &to, sizeof(to)), "metadata-service");
	}
	note(!connects(AF_UNIX, &bus, sizeof(bus)), "dbus");
	note(socket(AF_PACKET, SOCK_RAW, 0) < 0, "packet-socket");
	note(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) < 0, "raw-socket");
}

/* What takes a capability that we do not have, in this namespace or the first one. */
static void try_privileges(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct caps[2] = { 0 };

	note(syscall(SYS_capget, &header, caps) == 0 && !caps[0].effective && !caps[0].permitted &&
		     !caps[0].inheritable && !caps[1].effective && !caps[1].permitted,
	     "capabilities");
	for (int cap = 0; cap <= 40; cap++)
		note(prctl(PR_CAPBSET_READ, cap, 0, 0, 0) <= 0, "bounding-set");
	caps[0].effective = caps[0].permitted = 1u << CAP_SYS_ADMIN;
	note(syscall(SYS_capset, &header, caps) < 0, "capset");
	note(mount("none", "/", "tmpfs", 0, NULL) < 0, "mount");
	note(umount2("/", MNT_DETACH) < 0, "umount");
	note(chroot("/") < 0, "chroot");
	note(syscall(SYS_pivot_root, "/", "/") < 0, "pivot_root");
	note(syscall(SYS_fsopen, "tmpfs", 0) < 0, "fsopen");
	note(syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE) < 0, "open_tree");
	note(mknodat(AT_FDCWD, "/disk", S_IFBLK | 0600, 0x800) < 0, "mknod");
	note(sethostname("probe", 5) < 0, "sethostname");
	note(syscall(SYS_unshare, CLONE_NEWNS) < 0, "unshare");
	note(syscall(SYS_bpf, 0, NULL, 0) < 0, "bpf");
	note(syscall(SYS_init_module, "", 0, "") < 0, "init_module");
	note(syscall(SYS_reboot, 0xfee1dead, 672274793, 0, NULL) < 0, "reboot");
	note(syscall(SYS_swapoff, "/swap") < 0, "swapoff");
	note(syscall(SYS_iopl, 3) < 0, "iopl");
	note(syscall(SYS_settimeofday, NULL, "\0\0\0\0\0\0\0") < 0, "settimeofday");
	note(setresuid(1000, 1000, 1000) < 0, "setresuid");
	note(syscall(SYS_setgroups, 1, "\0\0\0") < 0, "setgroups");
	note(setpriority(PRIO_PROCESS, 0, -10) < 0, "hurry");
	note(syscall(SYS_getppid) == 0, "parent");
	note(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, "no_new_privs");
}

void jail_probe_unfiltered(void)
{
	jail_drop_capabilities();
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	try_root();
	try_up();
	try_template();
	try_mounts(try_read_only_mount, try_writable_mount);
	try_processes();
	try_network();
	try_privileges();
}

/* ---- the filter ---- */

static const uint16_t listed[] = {
#define JAIL_SYSCALL(name) SYS_##name,
#include "jail_syscalls.inc"
#undef JAIL_SYSCALL
	SYS_rt_sigreturn,
	SYS_restart_syscall,
};

static bool is_listed(unsigned nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(listed); i++) {
		if (listed[i] == nr)
			return true;
	}
	return false;
}

static void try_all_calls(void)
{
	char name[24];

	for (unsigned nr = 0; nr < 1024; nr++) {
		/* uretprobe and uprobe pass every filter: Linux 6.14. */
		if (is_listed(nr) || nr == 335 || nr == 336)
			continue;
		snprintf(name, sizeof(name), "call-%u", nr);
		note(traps(nr, -1, -1, -1), name);
		note(traps(nr | 0x40000000, -1, -1, -1), name);
	}
}

static void try_arguments(void)
{
	note(traps(SYS_ioctl, 0, TIOCSTI, 0), "TIOCSTI");
	note(traps(SYS_ioctl, 0, TCGETS, 0), "TCGETS");
	note(traps(SYS_ptrace, PTRACE_TRACEME, 0, 0), "traceme");
	note(traps(SYS_ptrace, PTRACE_POKEDATA, 1, 0), "poke");
	note(traps(SYS_ptrace, PTRACE_ATTACH, 1, 0), "attach");
	note(traps(SYS_mmap, 0, 4096, PROT_EXEC), "map-code");
	note(traps(SYS_mprotect, (long)(uintptr_t)listed & -4096, 4096, PROT_EXEC), "make-code");
	note(traps(SYS_execve, (long)(uintptr_t)"/x", 0, 0), "execve");
	note(traps(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0), "clone");
	note(traps(SYS_socket, AF_UNIX, SOCK_STREAM, 0), "socket");
	note(traps(SYS_seccomp, 0, 0, 0), "seccomp");
	static const int commands[] = { F_DUPFD, F_SETFD, F_SETFL, F_SETLK, F_SETLKW, F_OFD_SETLK, F_SETOWN,
					F_SETSIG, F_SETOWN_EX, F_NOTIFY, F_SETPIPE_SZ };
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		note(traps(SYS_fcntl, 0, commands[i], 0), "fcntl");
	note(traps(SYS_memfd_create, (long)(uintptr_t)"huge", MFD_HUGETLB, 0), "huge-pages");
	note(traps(SYS_fchmodat, 0, (long)(uintptr_t)"x", 04755), "set-user-id");
	note(traps(SYS_mkdirat, 0, (long)(uintptr_t)"x", 04755), "set-user-id-directory");
	note(traps(SYS_sched_setscheduler, 0, SCHED_FIFO, 0), "real-time");
	note(traps(SYS_sched_setscheduler, 0, 6, 0), "deadline");
}

static void try_limits(void)
{
	static const int which[] = { RLIMIT_NPROC, RLIMIT_CORE, RLIMIT_RTPRIO, RLIMIT_NICE, RLIMIT_MSGQUEUE };

	for (size_t i = 0; i < ARRAY_SIZE(which); i++) {
		struct rlimit64 limit;
		if (syscall(SYS_prlimit64, 2, which[i], NULL, &limit) < 0 || limit.rlim_max == RLIM64_INFINITY) {
			note(false, "a-guest-without-limit");
			continue;
		}
		limit.rlim_cur = ++limit.rlim_max;
		note(syscall(SYS_prlimit64, 2, which[i], &limit, NULL) < 0, "raise-a-limit");
	}
	note(setpriority(PRIO_PROCESS, 2, -5) < 0, "hurry-guest");
	/* A tracer must not be able to switch the guests' filter off. */
	note(ptrace(PTRACE_SEIZE, 2, NULL, (void *)(1ul << 21)) < 0, "suspend-seccomp");
}

_Noreturn void jail_probe_locked(void)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER };
	char result[256];

	sigaction(SIGSYS, &action, NULL);
	try_root();
	try_up();
	try_template();
	try_processes();
	try_all_calls();
	try_arguments();
	try_limits();
	try_guest();
	if (escapes[0])
		snprintf(result, sizeof(result), "jail probe: did not fail:%s", escapes);
	else
		snprintf(result, sizeof(result), "jail probe: %u attempts, all failed", attempts);
	control_fail(0, result);
}
