#include "launch/config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "interpreter/language.h"
#include "launch/beside.h"

#define DEFAULT_USER	"user"
#define DEFAULT_USER_ID 1000

void launch_config_init(struct launch_config *c)
{
	memset(c, 0, sizeof(*c));
	c->wire.user = DEFAULT_USER;
	c->wire.user_uid = c->wire.user_gid = DEFAULT_USER_ID;
}

int launch_config_mount(struct launch_config *c, uint32_t kind, const char *guest,
			const char *target, int fd, bool detached, struct error *err)
{
	struct wire_config *w = &c->wire;
	AUTO_CLOSE int owned = fd;
	/* The last descriptor is kept free for the trace. */
	if (w->mount_count >= WIRE_FDS_MAX || c->fd_count >= WIRE_FDS_MAX - 1)
		return error_set(err, 0, "too many mounts");
	char *copy = c->guest_paths[w->mount_count];
	if (strlen(guest) >= sizeof(c->guest_paths[0]))
		return error_set(err, ENAMETOOLONG, "mount at %.100s", guest);
	memcpy(copy, guest, strlen(guest) + 1);
	w->mounts[w->mount_count++] = (struct wire_mount){
		.kind = kind,
		.has_fd = fd >= 0,
		.detached = detached,
		.guest = copy,
		.target = target ? target : "",
	};
	if (fd >= 0)
		c->fds[c->fd_count++] = take_fd(&owned);
	return 0;
}

/* ---- the template "host" ---- */

static int add_link(struct launch_config *c, const char *path, struct error *err)
{
	char *target = c->targets[c->target_count];
	ssize_t n = readlink(path, target, sizeof(c->targets[0]) - 1);
	if (n <= 0)
		return n < 0 ? error_set(err, errno, "read link %s", path) : 0;
	target[n] = '\0';
	c->target_count++;
	return launch_config_mount(c, WIRE_MOUNT_SYMLINK, path, target, -EBADF, false, err);
}

static int add_path(struct launch_config *c, uint32_t kind, const char *path, struct error *err)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : error_set(err, errno, "open %s", path);
	return launch_config_mount(c, kind, path, NULL, fd, false, err);
}

/* Whether anybody may walk the path to this directory. */
static bool is_reachable(int directory)
{
	struct stat st, parent;
	AUTO_CLOSE int at = openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	while (at >= 0 && fstat(at, &st) == 0 && (st.st_mode & S_IXOTH)) {
		int up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = up;
		if (up >= 0 && fstat(up, &parent) == 0 && parent.st_ino == st.st_ino &&
		    parent.st_dev == st.st_dev)
			return true;
	}
	return false;
}

/* A detached copy of the mount, not even writable for a broken kernel process. -errno. */
static int clone_read_only(int directory)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
					       MOUNT_ATTR_NODEV };
	AUTO_CLOSE int tree =
		(int)syscall(SYS_open_tree, directory, "",
			     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	if (tree < 0 ||
	    syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return -errno;
	return take_fd(&tree);
}

/*
 * The drivers of the code interpreter. A kernel process walks to a directory by its path, as the
 * unprivileged user that it is when root is the caller, and these may lie in root's home: so root
 * hands over a mount. Where root may not make one, what not everybody can reach is left out.
 */
static int add_guest(struct launch_config *c, struct error *err)
{
	AUTO_CLOSE int fd = -EBADF;
	int r = beside_open("guest", O_PATH | O_DIRECTORY, &fd, err);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	int tree = geteuid() == 0 ? clone_read_only(fd) : -EPERM;
	if (tree < 0 && geteuid() == 0 && !is_reachable(fd))
		return 0;
	bool detached = tree >= 0;
	return launch_config_mount(c, WIRE_MOUNT_SYSTEM, INTERPRETER_GUEST_DIR, NULL,
				   detached ? tree : take_fd(&fd), detached, err);
}

int launch_config_host(struct launch_config *c, struct error *err)
{
	static const char *const tops[] = {
		"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"
	};
	int r = add_path(c, WIRE_MOUNT_TEMPLATE, "/usr", err);
	for (size_t i = 0; i < ARRAY_SIZE(tops) && r == 0; i++) {
		struct stat st;
		if (lstat(tops[i], &st) < 0)
			continue;
		if (S_ISLNK(st.st_mode))
			r = add_link(c, tops[i], err);
		else
			r = add_path(c, WIRE_MOUNT_TEMPLATE, tops[i], err);
	}
	if (r == 0)
		r = add_path(c, WIRE_MOUNT_ETC, "/etc", err);
	if (r == 0)
		r = add_path(c, WIRE_MOUNT_VAR_LIB_DPKG, "/var/lib/dpkg", err);
	return r < 0 ? r : add_guest(c, err);
}

/* ---- sending ---- */

int launch_config_send(struct channel *channel, const struct launch_config *c, struct error *err)
{
	static uint8_t body[128 << 10]; /* WIRE_FDS_MAX mounts with paths of at most 4 KiB */
	struct wire_out o = { body, 0, sizeof(body), false };
	wire_put_config(&o, &c->wire);
	if (o.failed)
		return error_set(err, E2BIG, "configuration of the sandbox");
	int r = channel_send(channel, WIRE_CONFIG, 0, body, o.length, c->fds, c->fd_count);
	return r < 0 ? error_set(err, -r, "send the configuration to the kernel process") : 0;
}

void launch_config_close(struct launch_config *c)
{
	for (uint32_t i = 0; i < c->fd_count; i++)
		close(c->fds[i]);
	c->fd_count = 0;
}
