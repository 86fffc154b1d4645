/*
 * From options to CONFIG: what the sandbox will see of the host beyond the template
 * (launch/config.h). Every source is opened here, O_PATH, with the caller's rights.
 */
#include "cli/run_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/util.h"
#include "kernel/core/limits.h"
#include "launch/idmap.h"
#include "launch/store.h"

_Static_assert(LIMIT_MAX == WIRE_LIMITS, "wire_config.limits is in the order of enum limit");

#define WORK		"/work"

static const char *mount_option(uint32_t kind)
{
	return kind == WIRE_MOUNT_RO ? "--ro" : kind == WIRE_MOUNT_RW ? "--rw" : "--cow";
}

static int check_source(int fd, uint32_t kind, const char *host, struct stat *st, struct error *err)
{
	if (fstat(fd, st) < 0)
		return error_set(err, errno, "%s: %s", mount_option(kind), host);
	if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode))
		return error_set(err, 0, "%s: %s is neither a directory nor a regular file",
				 mount_option(kind), host);
	return 0;
}

static int add_host_path(struct run_config *c, const struct run_identity *id, uint32_t kind,
			 const char *host, const char *guest, struct text *notes, struct error *err)
{
	struct stat st;
	AUTO_CLOSE int fd = open(host, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, errno, "%s: %s", mount_option(kind), host);
	int r = check_source(fd, kind, host, &st, err);
	if (r < 0)
		return r;
	bool detached = false;
	if (id->root && st.st_uid != id->uid) {
		struct error why;
		int tree = -EBADF;
		struct idmap_ids ids = { st.st_uid, st.st_gid, id->uid, id->gid };
		if (idmap_open(fd, &ids, kind != WIRE_MOUNT_RW, &tree, &why) == 0) {
			close(fd);
			fd = tree;
			detached = true;
		} else {
			text_printf(notes,
				    "%s is visible only as far as every user may read it (%s)\n",
				    host, why.message);
		}
	}
	return launch_config_mount(&c->base, kind, guest, NULL, take_fd(&fd), detached, err);
}

static bool below(const char *path, const char *top)
{
	size_t n = strlen(top);
	return strncmp(path, top, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

static int check_guest(uint32_t kind, const char *guest, struct error *err)
{
	static const char *const reserved[] = { "/proc", "/sys", "/dev" };
	if (strcmp(guest, "/") == 0)
		return error_set(err, 0, "%s: the root directory itself cannot be replaced",
				 mount_option(kind));
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++) {
		if (below(guest, reserved[i]))
			return error_set(err, 0, "%s: nothing can be mounted below %s",
					 mount_option(kind), reserved[i]);
	}
	return 0;
}

/* The current directory, unless something else was asked for at /work. */
static int add_work(struct run_config *c, const struct run_identity *id, struct text *notes,
		    struct error *err)
{
	char cwd[4096];
	if (!getcwd(cwd, sizeof(cwd)) || cwd[0] != '/') {
		text_printf(notes, "/work is empty: the current directory is not reachable\n");
		return launch_config_mount(&c->base, WIRE_MOUNT_TMPFS, WORK, NULL, -EBADF, false, err);
	}
	if (strcmp(cwd, "/") == 0) {
		/* The whole host in view is hardly ever meant; --cow /:/work says it. */
		text_printf(notes, "/work is empty: the current directory is the host's root\n");
		return launch_config_mount(&c->base, WIRE_MOUNT_TMPFS, WORK, NULL, -EBADF, false, err);
	}
	return add_host_path(c, id, WIRE_MOUNT_COW, ".", WORK, notes, err);
}

static unsigned int depth(const char *path)
{
	unsigned int n = 0;
	for (; *path; path++)
		n += *path == '/';
	return n;
}

/* Parents before children, otherwise in the order given. */
static int add_option_mounts(struct run_config *c, const struct run_options *o,
			     const struct run_identity *id, struct text *notes, struct error *err)
{
	static struct mount_text m;
	unsigned int deepest = 1;
	bool work = false;
	for (unsigned int i = 0; i < o->mounts.count; i++) {
		uint32_t kind = (uint32_t)o->mounts.items[i].tag;
		const char *text = o->mounts.items[i].text;
		if (parse_mount(text, &m) < 0)
			return error_set(err, 0,
					 "%s: '%.200s' is not HOST:GUEST with an absolute GUEST",
					 mount_option(kind), text);
		int r = check_guest(kind, m.guest, err);
		if (r < 0)
			return r;
		deepest = MAX(deepest, depth(m.guest));
		work |= strcmp(m.guest, WORK) == 0;
	}
	int r = work ? 0 : add_work(c, id, notes, err);
	for (unsigned int level = 1; level <= deepest && r == 0; level++) {
		for (unsigned int i = 0; i < o->mounts.count && r == 0; i++) {
			(void)parse_mount(o->mounts.items[i].text, &m);
			if (depth(m.guest) == level)
				r = add_host_path(c, id, (uint32_t)o->mounts.items[i].tag, m.host,
						  m.guest, notes, err);
		}
	}
	return r;
}

static int add_store(struct run_config *c, struct run_identity *id, const char *dir,
		     struct error *err)
{
	const struct store_owner owner = { id->root, id->uid, id->gid };
	bool detached;
	int fd;
	int r = store_open(&id->store, dir, &owner, &fd, &detached, err);
	return r < 0 ? r : launch_config_mount(&c->base, WIRE_MOUNT_STORE, "/", NULL, fd, detached, err);
}

static int add_trace(struct run_config *c, const char *file, struct error *err)
{
	int fd = file[0] ? open(file, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666)
			 : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return error_set(err, errno, "--trace: %s", file[0] ? file : "standard error");
	c->base.wire.flags |= WIRE_CONFIG_TRACE;
	c->base.fds[c->base.fd_count++] = fd;
	return 0;
}

/* A name from the sandbox's own /etc/passwd, which the kernel process looks up; UID; UID:GID. */
static int set_user(struct run_config *c, const char *user, struct error *err)
{
	size_t length = strspn(user, "abcdefghijklmnopqrstuvwxyz0123456789_-");
	c->spawn_user = user;
	if (user[0] >= '0' && user[0] <= '9') {
		size_t digits = strspn(user, "0123456789");
		size_t group = user[digits] == ':' ? strspn(user + digits + 1, "0123456789") : 0;
		if (user[digits] == '\0' || (group && user[digits + 1 + group] == '\0'))
			return 0;
		return error_set(err, 0, "--user: '%.100s' is not UID or UID:GID", user);
	}
	if (user[length] || length > 31 || user[0] == '-')
		return error_set(err, 0, "--user: '%.100s' is not a user name", user);
	return 0;
}

int run_config_prepare(const struct run_options *o, struct run_identity *id,
		       struct run_config *ret, struct text *notes, struct error *err)
{
	struct wire_config *w = &ret->base.wire;
	memset(ret, 0, sizeof(*ret));
	launch_config_init(&ret->base);
	w->flags = WIRE_CONFIG_EXIT_WITH_LAST | (id->cgroup ? 0 : WIRE_CONFIG_NO_CGROUP);
	w->hostname = o->hostname;
	w->limits[LIMIT_MEMORY] = o->memory_bytes;
	w->limits[LIMIT_PIDS] = o->pids;
	w->limits[LIMIT_DISK_BYTES] = run_options_disk(o);
	w->limits[LIMIT_FILES] = o->files;
	w->limits[LIMIT_CPU_MILLI] = o->cpu_milli;
	int r = set_user(ret, o->user, err);
	if (r == 0)
		r = launch_config_host(&ret->base, err);
	if (r == 0)
		r = add_option_mounts(ret, o, id, notes, err);
	if (r == 0 && o->store)
		r = add_store(ret, id, o->store, err);
	if (r == 0 && o->trace)
		r = add_trace(ret, o->trace, err);
	return r;
}
