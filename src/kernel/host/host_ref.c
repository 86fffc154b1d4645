/*
 * Theory of operation
 *
 * A struct host_ref (arena) names a host file; the descriptor is in a table of its own
 * (host/slot.h) and may be closed and opened again at any time, but for passed descriptors, memfds
 * and pinned paths. Here is how each kind of reference is made, opened and dropped.
 *
 * Confinement: every path goes through openat2 with RESOLVE_BENEATH, NO_SYMLINKS, NO_MAGICLINKS.
 *
 * host-syscalls: openat2 openat close unlinkat prlimit64 fcntl memfd_create fstat newfstatat umask
 * host-syscalls: rt_sigaction rt_sigreturn
 */
#include "kernel/host/host_ref.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/host/proc.h"
#include "kernel/host/process.h"
#include "kernel/host/slot.h"

#define FD_RESERVE 32u /* what is open for neither files nor processes */
#define FD_LEAST 16u
#define PATH_LIMIT 4096u

static int roots[HOST_ROOT_MAX];
static bool store_unbounded;

struct host_ref_root {
	uint64_t next_store_id;
};
static struct host_ref_root *state;

/* EPIPE is for the guest whose write it was. Not SIG_IGN, which an exec of the stub would inherit. */
static void no_sigpipe(int sig)
{
}

int host_ref_init(void)
{
	struct rlimit lim;

	state = arena_root(ROOT_HOSTREF, sizeof(*state));
	if (!state)
		return -ENOMEM;
	for (unsigned i = 0; i < HOST_ROOT_MAX; i++)
		roots[i] = -EBADF;
	umask(0); /* modes are the guest's, already masked */
	sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = no_sigpipe, .sa_flags = SA_RESTART }, NULL);
	if (getrlimit(RLIMIT_NOFILE, &lim) < 0)
		return -errno;
	if (lim.rlim_cur < lim.rlim_max) {
		lim.rlim_cur = lim.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &lim) < 0)
			return -errno;
	}
	uint64_t half = lim.rlim_cur > FD_RESERVE ? (lim.rlim_cur - FD_RESERVE) / 2 : 0;
	slots_limit(MAX(half, FD_LEAST));
	host_process_limit(MAX(half, FD_LEAST));
	return 0;
}

int host_root_set(unsigned root, int fd)
{
	if (root >= HOST_ROOT_MAX)
		return -EINVAL;
	if (roots[root] >= 0)
		close(roots[root]);
	roots[root] = fd;
	return 0;
}

void host_store_set_unbounded(bool unbounded)
{
	store_unbounded = unbounded;
}

bool host_store_unbounded(void)
{
	return store_unbounded;
}

/* ---- opening ---- */

static int open_beneath(int dir, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	if (flags & O_PATH)
		how.flags = flags | O_CLOEXEC;
	int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

static char *format_id(char *dst, uint64_t id)
{
	static const char hex[] = "0123456789abcdef";

	for (int i = 15; i >= 0; i--, id >>= 4)
		dst[i] = hex[id & 15];
	dst[16] = '\0';
	return dst;
}

static int root_fd(unsigned root)
{
	return root < HOST_ROOT_MAX ? roots[root] : -EBADF;
}

/* A directory that may be searched but not read still serves for lookups. */
static int open_directory(const struct host_ref *ref)
{
	const char *path = ref->path[0] ? ref->path : ".";
	int fd = open_beneath(root_fd(ref->root), path, O_RDONLY | O_DIRECTORY);
	struct stat st;

	if (fd == -EACCES)
		fd = open_beneath(root_fd(ref->root), path, O_PATH | O_DIRECTORY);
	if (fd < 0 || !ref->id)
		return fd;
	if (fstat(fd, &st) == 0 && st.st_ino == ref->id)
		return fd;
	close(fd);
	return -ENOENT;
}

static int open_ref_once(const struct host_ref *ref, int which)
{
	uint64_t flags = which == FD_WRITE ? O_RDWR : O_RDONLY;
	char name[17];

	switch (ref->kind) {
	case HOST_REF_PATH:
		/* "" is the root itself, which may be a single mounted file. */
		if (ref->directory)
			return open_directory(ref);
		if (!ref->path[0])
			return host_proc_reopen(root_fd(ref->root), (int)flags);
		return open_beneath(root_fd(ref->root), ref->path, flags);
	case HOST_REF_STORE:
		return open_beneath(roots[HOST_ROOT_STORE], format_id(name, ref->id), flags);
	default:
		return -ESTALE;
	}
}

static int open_ref(const struct host_ref *ref, int which)
{
	slots_make_room();
	int fd = open_ref_once(ref, which);
	if (fd == -EMFILE || fd == -ENFILE) {
		for (int i = 0; i < 64 && slots_evict_one(); i++)
			;
		fd = open_ref_once(ref, which);
	}
	return fd;
}

/* A memfd's read-only view: another open of the same file. */
static int reopen_memfd(struct slot *s)
{
	int fd = host_proc_reopen(s->fd[FD_WRITE], O_RDONLY);
	/* Without a usable /proc the only descriptor there is has to do. */
	if (fd < 0)
		return s->fd[FD_WRITE];
	slot_set_fd(s, FD_READ, fd);
	return fd;
}

static int passed_fd(struct slot *s, bool writable)
{
	int mode = fcntl(s->fd[FD_READ], F_GETFL);
	if (mode < 0)
		return -errno;
	if (writable && (mode & O_ACCMODE) != O_RDWR)
		return -EACCES;
	return s->fd[FD_READ];
}

static int ref_fd(struct host_ref *ref, int which)
{
	struct slot *s = slot_of(ref);

	if (s && s->fd[which] >= 0) {
		slot_touch(s);
		return s->fd[which];
	}
	if (ref->kind == HOST_REF_MEMFD)
		return s ? reopen_memfd(s) : -ESTALE;
	if (ref->kind != HOST_REF_PATH && ref->kind != HOST_REF_STORE)
		return -ESTALE;
	/* Off the list while opening, which may evict. */
	if (s)
		slot_hold(s);
	int fd = open_ref(ref, which);
	if (fd < 0) {
		if (s)
			slot_release(s);
		return fd;
	}
	if (!s)
		s = slot_new(ref, ref->pinned);
	if (!s) {
		close(fd);
		return -ENFILE;
	}
	slot_release(s);
	ref->slot = slot_number(s);
	slot_set_fd(s, which, fd);
	return fd;
}

int host_ref_fd(struct host_ref *ref)
{
	struct slot *s;

	switch (ref->kind) {
	case HOST_REF_PASSED:
		s = slot_of(ref);
		return s ? s->fd[FD_READ] : -ESTALE;
	case HOST_REF_STORE:
	case HOST_REF_MEMFD:
		return ref_fd(ref, FD_WRITE);
	case HOST_REF_PATH:
		return ref_fd(ref, ref->writable && !ref->directory ? FD_WRITE : FD_READ);
	default:
		return -ESTALE;
	}
}

int host_ref_fd_mode(struct host_ref *ref, bool writable)
{
	if (ref->kind == HOST_REF_PASSED) {
		struct slot *s = slot_of(ref);
		return s ? passed_fd(s, writable) : -ESTALE;
	}
	if (writable && ref->kind == HOST_REF_PATH && !ref->writable)
		return -EACCES;
	ref->lent = true;
	return ref_fd(ref, writable ? FD_WRITE : FD_READ);
}

int host_ref_open_path(const struct host_ref *ref)
{
	if (ref->kind != HOST_REF_PATH)
		return -EINVAL;
	if (!ref->path[0] && !ref->directory)
		return host_proc_reopen(root_fd(ref->root), O_PATH);
	return open_beneath(root_fd(ref->root), ref->path[0] ? ref->path : ".", O_PATH | O_NOFOLLOW);
}

int host_ref_open_parent(const struct host_ref *ref, const char **ret_name)
{
	char parent[PATH_LIMIT];

	if (ref->kind != HOST_REF_PATH || !ref->path[0])
		return -EINVAL;
	const char *slash = strrchr(ref->path, '/');
	size_t length = slash ? (size_t)(slash - ref->path) : 0;
	if (length >= sizeof(parent))
		return -ENAMETOOLONG;
	memcpy(parent, ref->path, length);
	parent[length] = '\0';
	*ret_name = slash ? slash + 1 : ref->path;
	return open_beneath(root_fd(ref->root), length ? parent : ".", O_PATH | O_DIRECTORY);
}

/* ---- making and dropping ---- */

int host_store_create(struct host_ref *ret)
{
	char name[17];
	int fd = -EEXIST;

	slots_make_room();
	while (fd == -EEXIST) {
		*ret = (struct host_ref){ .kind = HOST_REF_STORE,
					  .writable = true,
					  .id = ++state->next_store_id };
		fd = openat(roots[HOST_ROOT_STORE], format_id(name, ret->id),
			    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			fd = -errno;
		if ((fd == -EMFILE || fd == -ENFILE) && slots_evict_one())
			fd = -EEXIST;
	}
	if (fd < 0) {
		*ret = (struct host_ref){ 0 };
		return fd;
	}
	struct slot *s = slot_new(ret, false);
	if (!s) {
		close(fd);
		return 0; /* opened again when used */
	}
	slot_release(s);
	slot_set_fd(s, FD_WRITE, fd);
	ret->slot = slot_number(s);
	return 0;
}

/* Gives an open descriptor to a pinned reference; closed when there is no room. */
static int pin_fd(struct host_ref *ref, int fd, int which)
{
	struct slot *s = slot_new(ref, true);

	if (!s) {
		close(fd);
		return -ENFILE;
	}
	slot_set_fd(s, which, fd);
	ref->slot = slot_number(s);
	return 0;
}

int host_ref_create(struct host_ref *dir, const char *name, uint32_t mode, struct host_ref *ret)
{
	int dir_fd = strchr(name, '/') ? -EINVAL : host_ref_fd(dir);
	int err = dir_fd < 0 ? dir_fd : host_ref_child(ret, dir, name);

	if (err < 0)
		return err;
	ret->writable = true;
	ret->pinned = true;
	/* Set-id bits stay inside: see host_chmod(). */
	int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			(mode_t)(mode & 0777));
	err = fd < 0 ? -errno : pin_fd(ret, fd, FD_WRITE);
	if (err < 0)
		host_ref_drop(ret);
	return err;
}

int host_ref_open_at(struct host_ref *dir, const char *name, bool writable, struct host_ref *ret)
{
	slots_make_room();
	int dir_fd = strchr(name, '/') ? -EINVAL : host_ref_fd(dir);
	int err = dir_fd < 0 ? dir_fd : host_ref_child(ret, dir, name);

	if (err < 0)
		return err;
	ret->writable = writable;
	ret->pinned = true;
	int fd = open_beneath(dir_fd, name, writable ? O_RDWR : O_RDONLY);
	err = fd < 0 ? fd : pin_fd(ret, fd, writable ? FD_WRITE : FD_READ);
	if (err < 0)
		host_ref_drop(ret);
	return err;
}

int host_memfd_create(unsigned flags, struct host_ref *ret)
{
	slots_make_room();
	int fd = memfd_create("guest", flags | MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret = (struct host_ref){ .kind = HOST_REF_MEMFD, .writable = true, .pinned = true };
	int err = pin_fd(ret, fd, FD_WRITE);
	if (err < 0)
		*ret = (struct host_ref){ 0 };
	return err;
}

int host_ref_passed(int fd, struct host_ref *ret)
{
	struct stat st;

	int err = fstat(fd, &st) < 0 ? -errno : 0;
	struct slot *s = err < 0 ? NULL : slot_new(NULL, true);
	if (!s) {
		close(fd);
		return err < 0 ? err : -ENFILE;
	}
	*ret = (struct host_ref){ .kind = HOST_REF_PASSED,
				  .directory = S_ISDIR(st.st_mode),
				  .pinned = true,
				  .slot = slot_number(s) };
	slot_set_fd(s, FD_READ, fd);
	return 0;
}

int host_ref_path(struct host_ref *ret, unsigned root, const char *path)
{
	*ret = (struct host_ref){ .kind = HOST_REF_PATH, .root = (uint16_t)root };
	ret->path = kstrdup(path);
	if (!ret->path) {
		*ret = (struct host_ref){ 0 };
		return -ENOMEM;
	}
	return 0;
}

int host_ref_child(struct host_ref *ret, const struct host_ref *dir, const char *name)
{
	size_t dir_length = strlen(dir->path);
	size_t name_length = strlen(name);
	size_t total = dir_length + name_length + 2;

	if (total > PATH_LIMIT)
		return -ENAMETOOLONG;
	char *path = kmalloc(total);
	if (!path)
		return -ENOMEM;
	if (dir_length > 0) {
		memcpy(path, dir->path, dir_length);
		path[dir_length++] = '/';
	}
	memcpy(path + dir_length, name, name_length + 1);
	*ret = (struct host_ref){ .kind = HOST_REF_PATH,
				  .root = dir->root,
				  .writable = dir->writable,
				  .path = path };
	return 0;
}

void host_ref_move(struct host_ref *to, struct host_ref *from)
{
	struct slot *s = slot_of(from);

	*to = *from;
	*from = (struct host_ref){ 0 };
	if (s && s->owner)
		s->owner = to;
}

void host_ref_close(struct host_ref *ref)
{
	struct slot *s = slot_of(ref);

	if (s)
		slot_free(s);
	ref->slot = 0;
}

bool host_store_lent(struct host_ref *ref)
{
	if (ref->kind != HOST_REF_STORE || !ref->lent || !store_unbounded)
		return false;
	host_ref_close(ref);
	int fd = open_ref(ref, FD_WRITE);
	if (fd < 0)
		return fd != -ENOENT;
	/* Only a file that nobody else has open gets a lease; a file system without leases says EINVAL. */
	bool lent = fcntl(fd, F_SETLEASE, F_WRLCK) < 0 && (errno == EAGAIN || errno == EBUSY);
	close(fd);
	return lent;
}

void host_ref_drop(struct host_ref *ref)
{
	char name[17];

	host_ref_close(ref);
	if (ref->kind == HOST_REF_STORE)
		unlinkat(roots[HOST_ROOT_STORE], format_id(name, ref->id), 0);
	if (ref->kind == HOST_REF_PATH)
		kfree(ref->path);
	*ref = (struct host_ref){ 0 };
}

int host_stat(unsigned root, const char *path, struct stat *ret)
{
	int base = root_fd(root);

	if (base < 0)
		return base;
	if (!path[0])
		return fstat(base, ret) < 0 ? -errno : 0;
	if (!strchr(path, '/') && strcmp(path, "..") != 0)
		return fstatat(base, path, ret, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
	int fd = open_beneath(base, path, O_PATH | O_NOFOLLOW);
	if (fd < 0)
		return fd;
	int err = fstat(fd, ret) < 0 ? -errno : 0;
	close(fd);
	return err;
}
