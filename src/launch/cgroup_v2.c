/*
 * Version 2: one hierarchy, delegated by whoever manages it (systemd, a container manager).
 *
 * A group may hold processes or hand controllers to its children, not both (the root excepted). We
 * are a process, so our own group cannot have the children we need; the nearest ancestor that we
 * may change, and that hands on (or can be told to hand on) the controllers, is where groups are
 * made. Starting a process in another group also needs write access to the common ancestor.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/util.h"
#include "launch/cgroup_internal.h"

#define CPU_PERIOD_US 100000u

/* Version 2 freezes and accounts CPU time without a controller. */
#define ALWAYS (CGROUP_BIT(CGROUP_FREEZER) | CGROUP_BIT(CGROUP_CPUACCT))

static uint32_t controllers_in(const char *dir, const char *file)
{
	char path[CGROUP_PATH_MAX + 64], text[512];
	uint32_t found = 0;
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (io_read_file(AT_FDCWD, path, text, sizeof(text)) < 0)
		return 0;
	for (enum cgroup_controller c = CGROUP_MEMORY; c <= CGROUP_PIDS; c++) {
		if (cgroup_has_word(text, cgroup_controller_name(c), " \n"))
			found |= CGROUP_BIT(c);
	}
	return found;
}

static bool writable(const char *dir, const char *file)
{
	char path[CGROUP_PATH_MAX + 64];
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

/* Controllers that groups made in dir have, after switching on what can be. */
static uint32_t handed_on(const char *dir)
{
	char path[CGROUP_PATH_MAX + 64], word[32];
	uint32_t on = controllers_in(dir, "cgroup.subtree_control");
	uint32_t missing = controllers_in(dir, "cgroup.controllers") & ~on;
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", dir);
	for (enum cgroup_controller c = CGROUP_MEMORY; c <= CGROUP_PIDS; c++) {
		if (!(missing & CGROUP_BIT(c)))
			continue;
		snprintf(word, sizeof(word), "+%s", cgroup_controller_name(c));
		if (io_write_file(AT_FDCWD, path, word) == 0)
			on |= CGROUP_BIT(c);
	}
	return on;
}

static bool go_up(char *dir, const char *mount_point)
{
	char *slash = strrchr(dir, '/');
	if (!slash || strlen(dir) <= strlen(mount_point))
		return false;
	*slash = '\0';
	return strlen(dir) >= strlen(mount_point);
}

static void find_parent(struct cgroup_host *host, struct cgroup_hierarchy *h, const char *point)
{
	char dir[CGROUP_PATH_MAX];
	uint32_t best = 0;
	memcpy(dir, h->own, sizeof(dir));
	do {
		if (!writable(dir, ".") || !writable(dir, "cgroup.procs"))
			break;
		uint32_t on = handed_on(dir);
		if (__builtin_popcount(on) > __builtin_popcount(best)) {
			best = on;
			memcpy(h->parent, dir, sizeof(dir));
		}
	} while (!(best & CGROUP_BIT(CGROUP_MEMORY)) && go_up(dir, point));
	if (!best)
		return;
	h->version = 2;
	h->controllers = (best | ALWAYS) & ~host->usable;
	host->usable |= h->controllers;
	host->count++;
}

void cgroup_v2_probe(struct cgroup_host *host, const char *mountinfo, const char *self)
{
	struct cgroup_mount m;
	char path[CGROUP_PATH_MAX];
	if (!cgroup_next_mount(&mountinfo, "cgroup2", &m))
		return;
	host->version |= 2;
	host->existing |= controllers_in(m.point, "cgroup.controllers") | ALWAYS;
	if (host->count == CGROUP_CONTROLLERS)
		return;
	struct cgroup_hierarchy *h = &host->hierarchies[host->count];
	if (cgroup_own_path(self, "", path, sizeof(path)) &&
	    cgroup_join(&m, path, h->own, sizeof(h->own)))
		find_parent(host, h, m.point);
}

static int v2_limit(int dir_fd, uint32_t controllers, const struct cgroup_limits *limits,
		    struct error *err)
{
	int r = 0;
	if ((controllers & CGROUP_BIT(CGROUP_MEMORY)) && limits->memory_bytes) {
		r = cgroup_write_number(dir_fd, "memory.max", limits->memory_bytes, err);
		if (r == 0 && faccessat(dir_fd, "memory.swap.max", W_OK, AT_EACCESS) == 0)
			r = cgroup_write_number(dir_fd, "memory.swap.max", 0, err);
	}
	if (r == 0 && (controllers & CGROUP_BIT(CGROUP_PIDS)) && limits->pids)
		r = cgroup_write_number(dir_fd, "pids.max", limits->pids, err);
	if (r == 0 && (controllers & CGROUP_BIT(CGROUP_CPU)) && limits->cpu_milli) {
		char text[64];
		snprintf(text, sizeof(text), "%llu %u",
			 (unsigned long long)limits->cpu_milli * (CPU_PERIOD_US / 1000),
			 CPU_PERIOD_US);
		r = io_write_file(dir_fd, "cpu.max", text);
		if (r < 0)
			return error_set(err, -r, "write %s to cpu.max", text);
	}
	return r;
}

static void v2_read(int dir_fd, uint32_t controllers, struct cgroup_usage *u)
{
	uint64_t usec;
	if (controllers & CGROUP_BIT(CGROUP_MEMORY)) {
		(void)cgroup_read_number(dir_fd, "memory.current", &u->memory_bytes);
		/* memory.peak is Linux 5.19. */
		if (cgroup_read_number(dir_fd, "memory.peak", &u->memory_peak_bytes) == 0)
			u->has_memory = true;
		(void)cgroup_read_key(dir_fd, "memory.events", "oom_kill", &u->oom_kills);
	}
	if (cgroup_read_key(dir_fd, "cpu.stat", "usage_usec", &usec) == 0)
		u->cpu_ns = usec * NSEC_PER_USEC;
}

const struct cgroup_ops cgroup_v2_ops = { v2_limit, v2_read };
