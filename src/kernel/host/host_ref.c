/*
 * Theory of operation
 *
 * A struct host_ref (arena) names a host file; this module keeps the descriptor, in a fixed table
 * outside the arena so that a restored arena simply finds nothing open.
 *
 *   host_ref.slot ---> slots[slot - 1] { fd[READ], fd[WRITE], owner ---> host_ref }
 *                        |  linked by index, most recently used first
 *
 * A slot belongs to a reference only if its `owner` points back: stale numbers of a restored arena
 * are harmless. Each slot has up to two descriptors: one O_RDONLY, one O_RDWR, because what is
 * injected into a guest for mmap must not allow more than the guest's own descriptor.
 * Passed descriptors, memfds and pinned paths are in slots that are on no LRU list.
 *
 * Bounds: SLOT_MAX slots, and open descriptors below the soft RLIMIT_NOFILE minus a reserve for
 * everything else (seccomp listener, pidfds, sockets). Past that the least recently used is closed.
 *
 * Confinement: every path goes through openat2 with RESOLVE_BENEATH, NO_SYMLINKS, NO_MAGICLINKS.
 *
 * host-syscalls: openat2 openat close unlinkat prlimit64 fcntl memfd_create fstat newfstatat umask fchmod
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

#define SLOT_MAX 4096u
#define FD_RESERVE 256u
#define PATH_LIMIT 4096u

enum { FD_READ, FD_WRITE };

struct slot {
	int fd[2]; /* -EBADF = not open */
	struct host_ref *owner;
	uint32_t next, prev; /* index + 1; 0 = none */
	bool used;
	bool pinned;
	bool on_lru;
};

static int roots[HOST_ROOT_MAX];
static bool store_unbounded;
static struct slot slots[SLOT_MAX];
static uint32_t lru_head, lru_tail; /* index + 1 */
static uint32_t free_head;	    /* index + 1, linked by next */
static uint32_t never_used;	    /* slots from here on were never taken */
static uint32_t open_count, open_limit;
static uint32_t pinned_count; /* slots that are never evicted */

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
	rlim_t usable = lim.rlim_cur > FD_RESERVE + 16 ? lim.rlim_cur - FD_RESERVE : 16;
	open_limit = usable > SLOT_MAX * 2 ? SLOT_MAX * 2 : (uint32_t)usable;
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

/* ---- slots ---- */

static void lru_unlink(struct slot *s)
{
	if (!s->on_lru)
		return;
	if (s->prev)
		slots[s->prev - 1].next = s->next;
	else
		lru_head = s->next;
	if (s->next)
		slots[s->next - 1].prev = s->prev;
	else
		lru_tail = s->prev;
	s->next = s->prev = 0;
	s->on_lru = false;
}

static void lru_push(struct slot *s)
{
	uint32_t number = (uint32_t)(s - slots) + 1;

	s->prev = 0;
	s->next = lru_head;
	if (lru_head)
		slots[lru_head - 1].prev = number;
	else
		lru_tail = number;
	lru_head = number;
	s->on_lru = true;
}

static void slot_close_fd(struct slot *s, int which)
{
	if (s->fd[which] < 0)
		return;
	close(s->fd[which]);
	s->fd[which] = -EBADF;
	open_count--;
}

static void slot_free(struct slot *s)
{
	lru_unlink(s);
	slot_close_fd(s, FD_READ);
	slot_close_fd(s, FD_WRITE);
	if (s->owner)
		s->owner->slot = 0;
	s->owner = NULL;
	s->used = false;
	pinned_count -= s->pinned;
	s->next = free_head;
	free_head = (uint32_t)(s - slots) + 1;
}

/* Closes the least recently used slot; false when there is none. */
static bool evict_one(void)
{
	if (!lru_tail)
		return false;
	slot_free(&slots[lru_tail - 1]);
	return true;
}

/* A part of the table stays for what can be closed and opened again, or nothing would work. */
static struct slot *slot_new(struct host_ref *owner, bool pinned)
{
	struct slot *s;

	if (pinned && pinned_count >= MIN(open_limit, SLOT_MAX) / 4 * 3)
		return NULL;
	if (!free_head && never_used == SLOT_MAX && !evict_one())
		return NULL;
	if (free_head) {
		s = &slots[free_head - 1];
		free_head = s->next;
	} else {
		s = &slots[never_used++];
	}
	*s = (struct slot){ .fd = { -EBADF, -EBADF }, .owner = owner, .used = true, .pinned = pinned };
	pinned_count += pinned;
	return s;
}

/* The reference's own slot, NULL when it has none (any more). */
static struct slot *slot_of(struct host_ref *ref)
{
	if (ref->slot == 0 || ref->slot > SLOT_MAX)
		return NULL;
	struct slot *s = &slots[ref->slot - 1];
	if (!s->used)
		return NULL;
	/* A passed descriptor's reference may have been copied: its slot has no owner. */
	if (ref->kind == HOST_REF_PASSED)
		return s->owner ? NULL : s;
	return s->owner == ref ? s : NULL;
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

	if (fd == -EACCES)
		fd = open_beneath(root_fd(ref->root), path, O_PATH | O_DIRECTORY);
	return fd;
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
	while (open_count >= open_limit && evict_one())
		;
	int fd = open_ref_once(ref, which);
	if (fd == -EMFILE || fd == -ENFILE) {
		for (int i = 0; i < 64 && evict_one(); i++)
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
	s->fd[FD_READ] = fd;
	open_count++;
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
		if (s->on_lru && lru_head != ref->slot) {
			lru_unlink(s);
			lru_push(s);
		}
		return s->fd[which];
	}
	if (ref->kind == HOST_REF_MEMFD)
		return s ? reopen_memfd(s) : -ESTALE;
	if (ref->kind != HOST_REF_PATH && ref->kind != HOST_REF_STORE)
		return -ESTALE;
	/* Off the list while opening, which may evict. */
	if (s)
		lru_unlink(s);
	int fd = open_ref(ref, which);
	if (fd < 0) {
		if (s && !s->pinned)
			lru_push(s);
		return fd;
	}
	if (!s)
		s = slot_new(ref, ref->pinned);
	if (!s) {
		close(fd);
		return -ENFILE;
	}
	if (!s->pinned)
		lru_push(s);
	ref->slot = (uint32_t)(s - slots) + 1;
	s->fd[which] = fd;
	open_count++;
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

	while (open_count >= open_limit && evict_one())
		;
	while (fd == -EEXIST) {
		*ret = (struct host_ref){ .kind = HOST_REF_STORE,
					  .writable = true,
					  .id = ++state->next_store_id };
		fd = openat(roots[HOST_ROOT_STORE], format_id(name, ret->id),
			    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			fd = -errno;
		if ((fd == -EMFILE || fd == -ENFILE) && evict_one())
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
	lru_push(s);
	s->fd[FD_WRITE] = fd;
	open_count++;
	ret->slot = (uint32_t)(s - slots) + 1;
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
	s->fd[which] = fd;
	open_count++;
	ref->slot = (uint32_t)(s - slots) + 1;
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
	int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			(mode_t)(mode & 0777));
	err = fd < 0 ? -errno : 0;
	if (err == 0 && (mode & 07000) && fchmod(fd, (mode_t)(mode & 07777)) < 0)
		err = -errno;
	if (err == 0)
		err = pin_fd(ret, fd, FD_WRITE);
	else if (fd >= 0)
		close(fd);
	if (err < 0)
		host_ref_drop(ret);
	return err;
}

int host_memfd_create(unsigned flags, struct host_ref *ret)
{
	while (open_count >= open_limit && evict_one())
		;
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
				  .slot = (uint32_t)(s - slots) + 1 };
	s->fd[FD_READ] = fd;
	open_count++;
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
