#include "launch/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"

#define ID_COUNT 4294967295u

/* Adds the line "from to count"; empty ranges are left out. */
static void map_line(struct text *t, uint64_t from, uint64_t to, uint64_t count)
{
	if (count)
		text_printf(t, "%lu %lu %lu\n", (unsigned long)from, (unsigned long)to,
			    (unsigned long)count);
}

/* Everything as it is, but a and b swapped. */
static void swap_map(char *buffer, size_t size, uint32_t a, uint32_t b)
{
	struct text t = { buffer, size, 0, false };
	buffer[0] = '\0';
	if (a == b) {
		map_line(&t, 0, 0, ID_COUNT);
		return;
	}
	uint32_t low = MIN(a, b), high = MAX(a, b);
	map_line(&t, 0, 0, low);
	map_line(&t, low, high, 1);
	map_line(&t, (uint64_t)low + 1, (uint64_t)low + 1, high - low - 1);
	map_line(&t, high, low, 1);
	map_line(&t, (uint64_t)high + 1, (uint64_t)high + 1, ID_COUNT - 1 - high);
}

static int write_map(pid_t pid, const char *which, uint32_t a, uint32_t b)
{
	char path[64], map[256];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, which);
	swap_map(map, sizeof(map), a, b);
	return io_write_file(AT_FDCWD, path, map);
}

/* Waits to be killed; a parent that is killed itself, even before we began, ends us, too. */
static int hold_namespace(void *parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == *(const pid_t *)parent)
		pause();
	_exit(0);
}

/* A user namespace exists as long as someone holds it: a sleeping child makes it, we open it. The
 * child shares our memory, because copying that would take longer than all the rest. */
static int open_namespace(const struct idmap_ids *ids, int *ret_fd, struct error *err)
{
	static char stack[16384] __attribute__((aligned(16)));
	pid_t self = getpid();
	pid_t pid = clone(hold_namespace, stack + sizeof(stack), CLONE_VM | CLONE_NEWUSER | SIGCHLD,
			  &self);
	if (pid < 0)
		return error_set(err, errno, "new user namespace");
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	int r = write_map(pid, "uid_map", ids->owner_uid, ids->uid);
	if (r == 0)
		r = write_map(pid, "gid_map", ids->owner_gid, ids->gid);
	int fd = r < 0 ? r : open(path, O_RDONLY | O_CLOEXEC);
	int saved = r < 0 ? -r : errno;
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (fd < 0)
		return error_set(err, saved, "id map of a user namespace");
	*ret_fd = fd;
	return 0;
}

/* Submounts come along where all of them can be mapped, else the mount alone. */
static int clone_tree(int path_fd, int namespace_fd, bool read_only, int recursive)
{
	AUTO_CLOSE int tree =
		(int)syscall(SYS_open_tree, path_fd, "",
			     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | recursive);
	if (tree < 0)
		return -errno;
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP | MOUNT_ATTR_NOSUID |
					       MOUNT_ATTR_NODEV |
					       (read_only ? MOUNT_ATTR_RDONLY : 0u),
				   .userns_fd = (uint64_t)namespace_fd };
	if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | recursive, &attr, sizeof(attr)) <
	    0)
		return -errno;
	return take_fd(&tree);
}

int idmap_open(int path_fd, const struct idmap_ids *ids, bool read_only, int *ret_fd,
	       struct error *err)
{
	AUTO_CLOSE int namespace_fd = -EBADF;
	int r = open_namespace(ids, &namespace_fd, err);
	if (r < 0)
		return r;
	int tree = clone_tree(path_fd, namespace_fd, read_only, AT_RECURSIVE);
	if (tree < 0)
		tree = clone_tree(path_fd, namespace_fd, read_only, 0);
	if (tree < 0)
		return error_set(err, -tree, "idmapped mount");
	*ret_fd = tree;
	return 0;
}
