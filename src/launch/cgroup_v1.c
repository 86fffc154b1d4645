/* Version 1: one hierarchy per controller (or a few together, such as cpu,cpuacct). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launch/cgroup_internal.h"

#define CPU_PERIOD_US 100000u

static void add_hierarchy(struct cgroup_host *host, const struct cgroup_mount *m, const char *self,
			  uint32_t controllers, const char *first)
{
	char path[CGROUP_PATH_MAX];
	struct cgroup_hierarchy *h = &host->hierarchies[host->count];
	if (!cgroup_own_path(self, first, path, sizeof(path)) ||
	    !cgroup_join(m, path, h->own, sizeof(h->own)))
		return;
	if (faccessat(AT_FDCWD, h->own, W_OK, AT_EACCESS) < 0)
		return;
	memcpy(h->parent, h->own, sizeof(h->parent));
	h->version = 1;
	h->controllers = controllers;
	host->count++;
	host->usable |= controllers;
}

void cgroup_v1_probe(struct cgroup_host *host, const char *mountinfo, const char *self)
{
	struct cgroup_mount m;
	while (cgroup_next_mount(&mountinfo, "cgroup", &m)) {
		uint32_t controllers = 0;
		const char *first = NULL;
		for (enum cgroup_controller c = 0; c < CGROUP_CONTROLLERS; c++) {
			if (!cgroup_has_word(m.super, cgroup_controller_name(c), ","))
				continue;
			controllers |= CGROUP_BIT(c);
			first = first ? first : cgroup_controller_name(c);
		}
		/* The same hierarchy may be mounted twice. */
		if (!first || (host->usable & controllers))
			continue;
		host->version |= 1;
		host->existing |= controllers;
		if (host->count < CGROUP_CONTROLLERS)
			add_hierarchy(host, &m, self, controllers, first);
	}
}

static int limit_memory(int dir_fd, uint64_t bytes, struct error *err)
{
	int r = cgroup_write_number(dir_fd, "memory.limit_in_bytes", bytes, err);
	if (r < 0)
		return r;
	/* Memory plus swap; only where swap accounting is on. */
	struct error ignored;
	if (faccessat(dir_fd, "memory.memsw.limit_in_bytes", W_OK, AT_EACCESS) == 0)
		(void)cgroup_write_number(dir_fd, "memory.memsw.limit_in_bytes", bytes, &ignored);
	return 0;
}

static int v1_limit(int dir_fd, uint32_t controllers, const struct cgroup_limits *limits,
		    struct error *err)
{
	int r = 0;
	if ((controllers & CGROUP_BIT(CGROUP_MEMORY)) && limits->memory_bytes)
		r = limit_memory(dir_fd, limits->memory_bytes, err);
	if (r == 0 && (controllers & CGROUP_BIT(CGROUP_PIDS)) && limits->pids)
		r = cgroup_write_number(dir_fd, "pids.max", limits->pids, err);
	if (r == 0 && (controllers & CGROUP_BIT(CGROUP_CPU)) && limits->cpu_milli) {
		r = cgroup_write_number(dir_fd, "cpu.cfs_period_us", CPU_PERIOD_US, err);
		if (r == 0)
			r = cgroup_write_number(dir_fd, "cpu.cfs_quota_us",
						limits->cpu_milli * (CPU_PERIOD_US / 1000), err);
	}
	return r;
}

static void v1_read(int dir_fd, uint32_t controllers, struct cgroup_usage *u)
{
	if (controllers & CGROUP_BIT(CGROUP_MEMORY)) {
		u->has_memory = cgroup_read_number(dir_fd, "memory.max_usage_in_bytes",
						   &u->memory_peak_bytes) == 0;
		(void)cgroup_read_number(dir_fd, "memory.usage_in_bytes", &u->memory_bytes);
		(void)cgroup_read_key(dir_fd, "memory.oom_control", "oom_kill", &u->oom_kills);
	}
	if (controllers & CGROUP_BIT(CGROUP_CPUACCT))
		(void)cgroup_read_number(dir_fd, "cpuacct.usage", &u->cpu_ns);
}

const struct cgroup_ops cgroup_v1_ops = { v1_limit, v1_read };
