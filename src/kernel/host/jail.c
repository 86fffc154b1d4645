/*
 * The jail. Assume that a guest takes over this process: what can it reach?
 *
 * The launcher has put us into new user, mount, pid, network, ipc, uts and cgroup namespaces, as
 * inner uid 0 = an unprivileged uid outside, with all capabilities over those namespaces. Here the
 * way is walked to the end:
 *
 *   1. prepare    before CONFIG came, while the launcher is still busy: a /proc that shows only our
 *                 own pid namespace and a tmpfs that holds one file, the stub, as detached mounts
 *                 that no path leads to; capabilities are bounded;
 *   2. sources    every directory that the sandbox may see becomes a detached mount tree of its
 *                 own (open_tree), read-only where it is: ".." ends at its root. Writable file data
 *                 gets a tmpfs, unless the launcher gave a directory;
 *   3. enter root our root becomes the tmpfs with the stub, read-only. The old root is gone, so is
 *                 every path to it;
 *   4. lock       no capabilities now or ever, no_new_privs, limits, seccomp.
 *
 * The guests' first process is made between 3 and 4: a new pid namespace takes CAP_SYS_ADMIN.
 */
#include "kernel/host/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/host/coverage.h"
#include "kernel/host/jail_filter.h"

static int fs_mount(const char *type, const char *const options[][2], unsigned attributes)
{
	int fs = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	int r = 0, fd;

	if (fs < 0)
		return -errno;
	for (int i = 0; options[i][0] && r == 0; i++)
		r = (int)syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, options[i][0], options[i][1],
				 0);
	if (r == 0)
		r = (int)syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	fd = r < 0 ? -1 : (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attributes);
	r = fd < 0 ? -errno : fd;
	close(fs);
	return r;
}

static int mount_tmpfs(const char *size, const char *inodes, unsigned attributes)
{
	const char *const options[][2] = {
		{ "size", size }, { "nr_inodes", inodes }, { "mode", "0700" }, { NULL, NULL }
	};
	return fs_mount("tmpfs", options, attributes);
}

int jail_open_store(uint64_t bytes, uint64_t inodes)
{
	char size[32], count[32];

	snprintf(size, sizeof(size), "%lu", (unsigned long)bytes);
	snprintf(count, sizeof(count), "%lu", (unsigned long)inodes);
	/* Not noexec: guests map programs that they wrote from here. */
	return mount_tmpfs(size, count, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

static int copy_stub(int root, int stub_fd)
{
	struct stat st;
	int r = 0;

	int x = openat(root, "x", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);
	if (x < 0)
		return -errno;
	if (fstat(stub_fd, &st) < 0 || sendfile(x, stub_fd, NULL, (size_t)st.st_size) != st.st_size)
		r = errno ? -errno : -EIO;
	close(x);
	/* The second name: see STUB_PATH_ADDR. */
	if (r == 0 && linkat(root, "x", root, "y", 0) < 0)
		r = -errno;
	return r;
}

static int mount_root(int stub_fd)
{
	int root = mount_tmpfs("1m", "16", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	int r = root < 0 ? root : copy_stub(root, stub_fd);

	close(stub_fd);
	if (r < 0 && root >= 0)
		close(root);
	return r < 0 ? r : root;
}

/* What exec would give or could be raised again; the guests' first process inherits that. */
static void bound_capabilities(void)
{
	prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
					 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
					 SECBIT_NO_CAP_AMBIENT_RAISE |
					 SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (int cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
}

/* The guests' first process inherits that, too. */
static void forbid_core_dumps(void)
{
	const struct rlimit never = { NO_CORE_DUMP, NO_CORE_DUMP };

	/* Fails where the caller's own hard limit is 0, and then that stays. */
	setrlimit(RLIMIT_CORE, &never);
}

int jail_prepare(int stub_fd, struct jail_mounts *ret)
{
	const char *const options[][2] = { { "subset", "pid" }, { NULL, NULL } };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	bound_capabilities();
	forbid_core_dumps();
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	int proc = fs_mount("proc", options,
			    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (proc < 0)
		return proc;
	int root = mount_root(stub_fd);
	if (root < 0) {
		close(proc);
		return root;
	}
	*ret = (struct jail_mounts){ .proc_fd = proc, .root_fd = root };
	return 0;
}

static bool same_file(int a, int b)
{
	struct stat x, y;
	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/*
 * The descriptor was opened in the launcher's mount namespace, from which open_tree() cannot clone.
 * The same place is found again by name in our copy of that namespace and compared.
 */
static int reopen_here(int fd)
{
	char link[64], path[4096];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return -errno;
	path[n] = '\0';
	int here = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	if (here < 0)
		return -errno;
	if (!same_file(fd, here)) {
		close(here);
		return -ESTALE;
	}
	return here;
}

int jail_source(int fd, bool detached, bool read_only, int *ret_fd)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
					       (read_only ? MOUNT_ATTR_RDONLY : 0u) };
	int tree = fd, here;

	if (!detached) {
		here = reopen_here(fd);
		if (here < 0)
			return here;
		tree = (int)syscall(SYS_open_tree, here, "",
				    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH |
					    AT_RECURSIVE);
		int saved = errno;
		close(here);
		if (tree < 0)
			return -saved;
		close(fd);
	}
	/* A detached tree comes from a privileged launcher, which has set its attributes. */
	if (!detached && syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
				 sizeof(attr)) < 0) {
		int saved = errno;
		close(tree);
		return -saved;
	}
	*ret_fd = tree;
	return 0;
}

int jail_enter_root(int root)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	int r = 0;

	/* pivot_root wants the new root mounted: on top of the old one, which then goes. */
	if (syscall(SYS_move_mount, root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
	    fchdir(root) < 0 || coverage_keep_directory(root) < 0 ||
	    syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0 ||
	    syscall(SYS_mount_setattr, root, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		r = -errno;
	close(root);
	return r;
}

void jail_drop_capabilities(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[2] = { 0 };

	syscall(SYS_capset, &header, none);
}

static void limit_self(void)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_NICE, &none);
	setrlimit(RLIMIT_RTPRIO, &none);
	setrlimit(RLIMIT_MSGQUEUE, &none);
}

int jail_lock(void)
{
	jail_drop_capabilities();
	limit_self();
	/* The launcher's standard error was for faults until here; descriptor 0 is /dev/null. */
	if (!JAIL_INSTRUMENTED)
		dup2(STDIN_FILENO, STDERR_FILENO);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return COVERAGE_BUILD ? 0 : jail_filter_install();
}
