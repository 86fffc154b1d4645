/*
 * What a kernel process that was taken over can do with a guest process.
 *
 * Guests have a filter of their own. But whatever that turns into a notification the kernel process
 * may let pass, and with ptrace it chooses the registers. So a guest in its hands can execute every
 * call that the filter does not refuse itself. Here this is done with pid 1 of the guests: no call may
 * lead anywhere that the namespaces, the empty root and the filter's own refusals should keep closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "kernel/abi/stub.h"
#include "kernel/host/notify.h"
#include "probe.h"

#define GUEST 2	   /* in our own pid namespace: what we started first */
#define ROOM  6144 /* below its stack pointer, on the stub's stack */

static int listener = -1;
static struct user_regs_struct regs;
static unsigned let_pass;

static void find_listener(void)
{
	uint64_t id = 0;

	for (int fd = 0; fd < 256 && listener < 0; fd++) {
		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) < 0 && errno == ENOENT)
			listener = fd;
	}
}

static void let_everything_pass(void)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };
	struct notification n;

	if (poll(&p, 1, 5) > 0 && host_notify_receive(&n) == 1) {
		let_pass++;
		host_notify_continue(n.id);
	}
}

static bool wait_for_stop(void)
{
	int status;

	for (int i = 0; i < 1000; i++) {
		int r = wait4(GUEST, &status, __WALL | WNOHANG, NULL);
		if (r == GUEST)
			return WIFSTOPPED(status);
		let_everything_pass();
	}
	return false;
}

/* Until the stub has made its own call and waits: then it is taken. */
static bool take_guest(void)
{
	struct notification n = { 0 };

	find_listener();
	while (n.nr != STUB_CALL_NR) {
		if (host_notify_receive(&n) != 1)
			return false;
		if (n.nr != STUB_CALL_NR)
			host_notify_continue(n.id);
	}
	return ptrace(PTRACE_SEIZE, GUEST, NULL, (void *)PTRACE_O_TRACESYSGOOD) == 0 &&
	       ptrace(PTRACE_INTERRUPT, GUEST, NULL, NULL) == 0 && wait_for_stop() &&
	       ptrace(PTRACE_GETREGS, GUEST, NULL, &regs) == 0;
}

/* The guest makes a call; returns its result. */
static long drive(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	struct user_regs_struct r = regs;

	let_pass = 0;
	r.rip -= 2;
	r.orig_rax = (uint64_t)-1;
	r.rax = (uint64_t)nr;
	r.rdi = a;
	r.rsi = b;
	r.rdx = c;
	r.r10 = d;
	r.r8 = r.r9 = 0;
	if (ptrace(PTRACE_SETREGS, GUEST, NULL, &r) < 0)
		return 0;
	for (int i = 0; i < 2; i++) {
		if (ptrace(PTRACE_SYSCALL, GUEST, NULL, NULL) < 0 || !wait_for_stop())
			return 0;
	}
	return ptrace(PTRACE_GETREGS, GUEST, NULL, &r) < 0 ? 0 : (long)r.rax;
}

/* Puts bytes where the guest's pointers may point. */
static uint64_t put(unsigned slot, const void *data, size_t size)
{
	uint64_t at = regs.rsp - ROOM + slot * 256u;
	struct iovec local = { (void *)(uintptr_t)data, size }, remote = { (void *)at, size };

	if (process_vm_writev(GUEST, &local, 1, &remote, 1, 0) == (ssize_t)size)
		return at;
	note(false, "write-to-a-guest");
	return 0;
}

static uint64_t text(unsigned slot, const char *s)
{
	return put(slot, s, strlen(s) + 1);
}

/* ---- */

enum { NATIVE, CHECKED, EMULATED, REFUSED };

static const struct {
	const char *name, *check;
	int number, class, error;
} rows[] = {
#define SYSCALL(name, number, class, handler, check, error, trace, note)                           \
	{ #name, #check, number, class, error },
#include "kernel/abi/syscalls.def"
#undef SYSCALL
};

static void try_refused(void)
{
	char name[64];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].class != REFUSED)
			continue;
		snprintf(name, sizeof(name), "guest-%s", rows[i].name);
		bool wall = strcmp(rows[i].check, "CHECK_FILTER") == 0;
		long r = drive(rows[i].number, (uint64_t)-1, (uint64_t)-1, (uint64_t)-1,
			       (uint64_t)-1);
		note(wall ? r == -rows[i].error && let_pass == 0 : r < 0, name);
	}
	/* Calls that are younger than the table, and any other number. */
	for (long nr = 468; nr < 1024; nr += 5)
		note(drive(nr, 0, 0, 0, 0) == -ENOSYS && let_pass == 0, "guest-unknown");
}

static void try_namespaces(void)
{
	static const uint32_t flags[] = { CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWNET,   CLONE_NEWPID,
					  CLONE_NEWIPC,	 CLONE_NEWUTS, CLONE_NEWCGROUP };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		note(drive(SYS_unshare, flags[i], 0, 0, 0) == -EPERM && !let_pass, "guest-unshare");
		note(drive(SYS_clone, flags[i] | SIGCHLD, 0, 0, 0) == -EPERM && !let_pass,
		     "guest-clone");
		note(drive(SYS_clone, 0xffffffff00000000ull | flags[i], 0, 0, 0) == -EPERM &&
			     !let_pass,
		     "guest-clone-high");
	}
}

static void try_sockets(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(22) };

	for (uint64_t family = 0; family < 64; family++) {
		if (family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
		    family == AF_NETLINK)
			continue;
		note(drive(SYS_socket, family, SOCK_DGRAM, 0, 0) < 0, "guest-family");
		note(family == AF_PACKET || !let_pass, "guest-family-passed");
		note(drive(SYS_socketpair, family, SOCK_DGRAM, 0, regs.rsp - ROOM) < 0,
		     "guest-pair");
	}
	note(drive(SYS_socket, AF_INET, SOCK_RAW, IPPROTO_ICMP, 0) < 0, "guest-raw");
	long fd = drive(SYS_socket, AF_INET, SOCK_STREAM, 0, 0);
	note(fd >= 0 && let_pass == 1, "guest-lets-pass"); /* that it works at all */
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	note(drive(SYS_connect, (uint64_t)fd, put(0, &to, sizeof(to)), sizeof(to), 0) ==
		     -ENETUNREACH,
	     "guest-loopback");
	to.sin_addr.s_addr = htonl(0xa9fea9fe);
	note(drive(SYS_connect, (uint64_t)fd, put(0, &to, sizeof(to)), sizeof(to), 0) ==
		     -ENETUNREACH,
	     "guest-network");
}

static void try_files(void)
{
	static const char *const names[] = { "/etc/passwd",
					     "/proc/self/root",
					     "/proc",
					     "/dev/null",
					     "/tmp",
					     "/usr",
					     "../../../../etc/passwd",
					     "/x/../etc/passwd",
					     "/sys",
					     "/home" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		note(drive(SYS_openat, (uint64_t)AT_FDCWD, text(0, names[i]), O_PATH, 0) < 0,
		     names[i]);
		note(drive(SYS_execve, text(0, names[i]), 0, 0, 0) < 0, names[i]);
	}
	uint64_t root = text(0, "/"), new = text(1, "/new"), stub = text(2, "/x"),
		 none = text(3, "tmpfs");
	note(drive(SYS_openat, (uint64_t)AT_FDCWD, new, O_CREAT | O_WRONLY, 0600) < 0,
	     "guest-create");
	note(drive(SYS_openat, (uint64_t)AT_FDCWD, stub, O_WRONLY, 0) < 0, "guest-write-stub");
	note(drive(SYS_unlink, stub, 0, 0, 0) < 0, "guest-remove-stub");
	note(drive(SYS_mkdir, new, 0700, 0, 0) < 0, "guest-mkdir");
	note(drive(SYS_mknod, new, S_IFBLK | 0600, 0x800, 0) < 0, "guest-mknod");
	note(drive(SYS_chmod, stub, 04777, 0, 0) < 0, "guest-chmod");
	note(drive(SYS_chroot, root, 0, 0, 0) < 0, "guest-chroot");
	note(drive(SYS_pivot_root, root, root, 0, 0) < 0, "guest-pivot");
	note(drive(SYS_mount, none, root, none, 0) < 0, "guest-mount");
	note(drive(SYS_umount2, root, MNT_DETACH, 0, 0) < 0, "guest-umount");
}

static void try_rights(void)
{
	note(drive(SYS_setresuid, 1000, 1000, 1000, 0) < 0, "guest-setuid");
	note(drive(SYS_setgroups, 1, text(0, "\1\1\1\1"), 0, 0) < 0, "guest-setgroups");
	note(drive(SYS_sethostname, text(0, "probe"), 5, 0, 0) < 0, "guest-hostname");
	note(drive(SYS_setpriority, 0, 0, (uint64_t)-10, 0) < 0, "guest-hurry");
	note(drive(SYS_ioperm, 0x80, 1, 1, 0) < 0, "guest-ports");
	for (uint64_t pid = 2; pid < 4000; pid += 37)
		note(drive(SYS_kill, pid, SIGKILL, 0, 0) == -ESRCH, "guest-kill");
	/* An exec of the stub is all that is left, and changes nothing. */
	note(drive(SYS_prctl, 38 /* PR_SET_NO_NEW_PRIVS */, 0, 0, 0) < 0, "guest-new-privs");
}

void try_guest(void)
{
	if (!take_guest()) {
		note(false, "take-a-guest");
		return;
	}
	note(drive(SYS_getpid, 0, 0, 0, 0) == 1, "drive-a-guest");
	try_refused();
	try_namespaces();
	try_sockets();
	try_files();
	try_rights();
}
