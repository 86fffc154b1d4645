/*
 * Control groups: the part that is the same for both versions.
 *
 * A sandbox's group consists of one directory per hierarchy ("member"). Life: probe the host once,
 * create, start the kernel process inside, read the usage, remove.
 *
 * A launcher that was killed leaves its directories; the next start sweeps them. Who is alive is told
 * by a lock, not by the pid in the name (a pid of another pid namespace looks dead from here, and a
 * used-up one alive): the creator holds the directory locked as long as it lives. Whoever gets the
 * lock of a group and finds it empty removes it; a creator that locks checks that its directory is
 * still there. Only the owner may open the directory, so nobody else can hold its lock.
 *
 * The cpu controller is wanted without a limit, too. Processes in none of its groups are grouped by
 * the host by session (sched_autogroup), and a guest and its kernel process are of two sessions. They
 * hand one processor to each other with every call, and between two groups of the scheduler that
 * takes half as long again as the whole call within one.
 */
#include "launch/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "launch/cgroup_internal.h"

#define REMOVE_PATIENCE_NS (200 * NSEC_PER_MSEC)
#define LOCK_TRIES	   100

const char *cgroup_controller_name(enum cgroup_controller c)
{
	static const char *const names[CGROUP_CONTROLLERS] = {
		[CGROUP_MEMORY] = "memory",   [CGROUP_CPU] = "cpu",	    [CGROUP_PIDS] = "pids",
		[CGROUP_FREEZER] = "freezer", [CGROUP_CPUACCT] = "cpuacct",
	};
	return names[c];
}

void cgroup_probe(struct cgroup_host *ret)
{
	/* Static: too much for a stack frame; probing happens once, at start. */
	static char mountinfo[65536], self[8192];
	memset(ret, 0, sizeof(*ret));
	if (io_read_file(AT_FDCWD, "/proc/self/mountinfo", mountinfo, sizeof(mountinfo)) < 0 ||
	    io_read_file(AT_FDCWD, "/proc/self/cgroup", self, sizeof(self)) < 0)
		return;
	cgroup_v1_probe(ret, mountinfo, self);
	cgroup_v2_probe(ret, mountinfo, self);
}

const char *cgroup_missing_reason(const struct cgroup_host *host, enum cgroup_controller c)
{
	if (host->usable & CGROUP_BIT(c))
		return "";
	if (host->version == 0)
		return "no cgroup file system is mounted";
	if (!(host->existing & CGROUP_BIT(c)))
		return "the host does not have this controller";
	return "not delegated to this user";
}

static const struct cgroup_ops *ops_of(const struct cgroup_hierarchy *h)
{
	return h->version == 1 ? &cgroup_v1_ops : &cgroup_v2_ops;
}

/* ---- sweeping ---- */

/* Whether it is worth trying the lock. The pid is a hint that saves most of the work where many
 * sandboxes run. */
static bool maybe_stale(const char *name, bool thorough)
{
	int pid, n;
	if (sscanf(name, "hotcell-%d-%d", &pid, &n) != 2 || pid <= 0)
		return false;
	return thorough || (kill(pid, 0) < 0 && errno == ESRCH);
}

static void remove_unlocked(int parent_fd, const char *name)
{
	AUTO_CLOSE int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		(void)unlinkat(parent_fd, name, AT_REMOVEDIR); /* -EBUSY: processes are in it */
}

static void sweep_hierarchy(const struct cgroup_hierarchy *h, bool thorough)
{
	DIR *d = opendir(h->parent);
	if (!d)
		return;
	struct dirent *e;
	while ((e = readdir(d))) {
		if (maybe_stale(e->d_name, thorough))
			remove_unlocked(dirfd(d), e->d_name);
	}
	closedir(d);
}

void cgroup_sweep(const struct cgroup_host *host, bool thorough)
{
	for (unsigned int i = 0; i < host->count; i++)
		sweep_hierarchy(&host->hierarchies[i], thorough);
}

/* ---- life of a group ---- */

/* Makes the directory and locks it; -EAGAIN when a sweeper was faster. */
static int make_locked(const char *path, int *ret_fd)
{
	struct stat locked, named;
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	if (fstat(fd, &locked) < 0 || stat(path, &named) < 0 || locked.st_ino != named.st_ino)
		return -EAGAIN;
	*ret_fd = take_fd(&fd);
	return 0;
}

static int create_member(struct cgroup *cg, const struct cgroup_hierarchy *h,
			 const struct cgroup_limits *limits, struct error *err)
{
	char path[CGROUP_PATH_MAX + sizeof(cg->name) + 1];
	const struct timespec pause = { 0, NSEC_PER_MSEC };
	int fd = -EBADF;
	snprintf(path, sizeof(path), "%s/%s", h->parent, cg->name);
	int r = make_locked(path, &fd);
	for (int i = 0; r == -EAGAIN && i < LOCK_TRIES; i++) {
		nanosleep(&pause, NULL);
		r = make_locked(path, &fd);
	}
	if (r < 0) {
		rmdir(path);
		return error_set(err, -r, "make control group %s", path);
	}
	cg->members[cg->count].hierarchy = h;
	cg->members[cg->count++].dir_fd = fd;
	cg->controllers |= h->controllers;
	r = ops_of(h)->limit(fd, h->controllers, limits, err);
	return r < 0 ? error_wrap(err, "control group %s", path) : 0;
}

int cgroup_create(struct cgroup *cg, const struct cgroup_host *host, uint32_t wanted,
		  const struct cgroup_limits *limits, struct error *err)
{
	static unsigned int counter;
	memset(cg, 0, sizeof(*cg));
	snprintf(cg->name, sizeof(cg->name), "hotcell-%d-%u", (int)getpid(),
		 __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED));
	for (unsigned int i = 0; i < host->count; i++) {
		const struct cgroup_hierarchy *h = &host->hierarchies[i];
		if (!(h->controllers & wanted))
			continue;
		int r = create_member(cg, h, limits, err);
		if (r < 0) {
			cgroup_remove(cg);
			return r;
		}
	}
	return 0;
}

int cgroup_open_entries(const struct cgroup *cg, bool born, int fds[CGROUP_CONTROLLERS],
			unsigned int *ret_count, struct error *err)
{
	unsigned int count = 0;
	for (unsigned int i = 0; i < cg->count; i++) {
		bool v1 = cg->members[i].hierarchy->version == 1;
		if (!v1 && born)
			continue;
		int fd = openat(cg->members[i].dir_fd, v1 ? "tasks" : "cgroup.procs",
				O_WRONLY | O_CLOEXEC);
		if (fd < 0) {
			int saved = errno;
			while (count)
				close(fds[--count]);
			return error_set(err, saved, "open control group %s/%s",
					 cg->members[i].hierarchy->parent, cg->name);
		}
		fds[count++] = fd;
	}
	*ret_count = count;
	return 0;
}

bool cgroup_comes_first(void)
{
	return access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
}

int cgroup_clone_fd(const struct cgroup *cg)
{
	for (unsigned int i = 0; i < cg->count; i++) {
		if (cg->members[i].hierarchy->version == 2)
			return cg->members[i].dir_fd;
	}
	return -EBADF;
}

void cgroup_read(const struct cgroup *cg, struct cgroup_usage *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (unsigned int i = 0; i < cg->count; i++) {
		const struct cgroup_hierarchy *h = cg->members[i].hierarchy;
		ops_of(h)->read(cg->members[i].dir_fd, h->controllers, ret);
	}
}

static bool try_remove_member(const struct cgroup *cg, struct cgroup_member *m)
{
	char path[CGROUP_PATH_MAX + sizeof(cg->name) + 1];
	snprintf(path, sizeof(path), "%s/%s", m->hierarchy->parent, cg->name);
	return rmdir(path) == 0 || errno != EBUSY;
}

bool cgroup_try_remove(struct cgroup *cg)
{
	while (cg->count > 0 && try_remove_member(cg, &cg->members[cg->count - 1]))
		close(cg->members[--cg->count].dir_fd);
	if (cg->count == 0)
		cg->controllers = 0;
	return cg->count == 0;
}

void cgroup_remove(struct cgroup *cg)
{
	uint64_t deadline = clock_now_ns() + REMOVE_PATIENCE_NS;
	const struct timespec pause = { 0, NSEC_PER_MSEC };
	while (!cgroup_try_remove(cg) && clock_now_ns() < deadline)
		nanosleep(&pause, NULL);
	while (cg->count > 0)
		close(cg->members[--cg->count].dir_fd);
	cg->controllers = 0;
}

int cgroup_freeze(const struct cgroup *cg, bool frozen)
{
	for (unsigned int i = 0; i < cg->count; i++) {
		const struct cgroup_member *m = &cg->members[i];
		if (!(m->hierarchy->controllers & CGROUP_BIT(CGROUP_FREEZER)))
			continue;
		if (m->hierarchy->version == 1)
			return io_write_file(m->dir_fd, "freezer.state", frozen ? "FROZEN" : "THAWED");
		return io_write_file(m->dir_fd, "cgroup.freeze", frozen ? "1" : "0");
	}
	return -EOPNOTSUPP;
}
