/*
 * hotcell-kernel: wiring. Starts as pid 1 of fresh namespaces with the control channel on
 * descriptor 3 and the stub on 4 (src/launch/), builds its jail around itself, and becomes the
 * operating system of one sandbox until nothing is left to run.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/util.h"
#include "kernel/control/control.h"
#include "kernel/control/spawn.h"
#include "kernel/control/stats.h"
#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/core/dispatch.h"
#include "kernel/core/limits.h"
#include "kernel/core/loop.h"
#include "kernel/core/trace.h"
#include "kernel/fs/setup.h"
#include "kernel/fs/vfs.h"
#include "kernel/host/guest_init.h"
#include "kernel/host/host_ref.h"
#include "kernel/host/jail.h"
#include "kernel/host/jail_filter.h"
#include "kernel/host/notify.h"
#include "kernel/host/poll.h"
#include "kernel/host/proc.h"
#include "kernel/host/tag.h"
#include "kernel/host/tracee.h"
#include "kernel/modules.h"
#include "kernel/task/birth.h"
#include "kernel/task/life.h"
#include "kernel/task/meter.h"
#include "kernel/task/uts.h"
#include "wire/wire.h"

#define CONTROL_FD 3
#define STUB_FD 4

#if JAIL_INSTRUMENTED
/* The symbolizer opens files, which the jail forbids: the report would be lost. */
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
	return "symbolize=0:halt_on_error=1";
}
#endif

static void must(int r, const char *what)
{
	if (r < 0)
		control_fail(r, what);
}

static void set_limits(const struct wire_config *config)
{
	_Static_assert(WIRE_LIMITS == LIMIT_MAX, "limits travel in the order of enum limit");
	for (int i = 0; i < LIMIT_MAX; i++) {
		if (config->limits[i])
			limit_set((enum limit)i, config->limits[i]);
	}
}

static bool is_writable_kind(uint32_t kind)
{
	return kind == WIRE_MOUNT_RW || kind == WIRE_MOUNT_STORE;
}

/* What the sandbox writes goes to a directory of the launcher's, or into a tmpfs of our own. */
static void prepare_jail(const struct wire_config *config)
{
	bool in_memory = true;
	int store, proc;

	for (uint32_t i = 0; i < config->mount_count; i++)
		in_memory &= config->mounts[i].kind != WIRE_MOUNT_STORE;
	must(jail_prepare(limit_value(LIMIT_DISK_BYTES), 0, in_memory ? &store : NULL, &proc),
	     "private mounts");
	host_store_set_unbounded(!in_memory);
	if (in_memory)
		must(host_root_set(HOST_ROOT_STORE, store), "store");
	host_proc_set_root(proc);
}

/* Jails the mount sources and builds the sandbox's file system over them. */
static void build_files(const struct wire_config *config, const int *fds)
{
	struct fs_plan_mount mounts[ARRAY_SIZE(config->mounts)];
	struct fs_plan plan = { .hostname = config->hostname,
				.user = config->user,
				.uid = config->user_uid,
				.gid = config->user_gid,
				.mounts = mounts };
	const char *failed = NULL;
	unsigned root = HOST_ROOT_STORE + 1;

	for (uint32_t i = 0; i < config->mount_count; i++) {
		const struct wire_mount *m = &config->mounts[i];
		const char *name = m->kind == WIRE_MOUNT_STORE ? "--store" : m->guest;
		unsigned number = 0;
		if (m->has_fd) {
			int tree;
			number = m->kind == WIRE_MOUNT_STORE ? HOST_ROOT_STORE : root++;
			must(jail_source(*fds++, m->detached, !is_writable_kind(m->kind), &tree),
			     name);
			must(host_root_set(number, tree), name);
		}
		if (m->kind != WIRE_MOUNT_STORE)
			mounts[plan.mount_count++] =
				(struct fs_plan_mount){ .kind = (uint8_t)m->kind,
							.host_root = number,
							.guest = m->guest,
							.target = m->target };
	}
	int r = fs_setup(&plan, &failed);
	must(r, failed ? failed : "build the file system");
}

static void start_guests(bool show_refused)
{
	int pid, listener;
	bool synchronous;
	struct task *init;

	must(host_tag_init(), "tags of processes");
	must(host_guest_start(limit_value(LIMIT_PIDS), show_refused, &pid, &listener),
	     "start the guests' first process");
	/* When memory runs out the host kills a guest and not us; children inherit this. */
	(void)host_proc_write(pid, "oom_score_adj", "500", 3);
	must(host_notify_init(listener, &synchronous), "seccomp listener");
	host_poll_set_listener(listener);
	must(birth_init_process(pid, &init), "first process");
}

static void init_core(const struct wire_config *config)
{
	must(arena_init(config->limits[LIMIT_ARENA_BYTES] ? config->limits[LIMIT_ARENA_BYTES]
							   : GIB(1)),
	     "arena");
	must(clock_init(), "clock");
	must(limits_init(), "limits");
	set_limits(config);
	must(host_poll_init(), "epoll");
	must(dispatch_init(), "dispatch");
	must(task_init(), "tasks");
	must(vfs_init(), "file systems");
	must(modules_init(), "modules");
	must(spawn_init(config->user_uid, config->user_gid, config->user), "control");
}

int main(void)
{
	static struct wire_config config;
	int fds[WIRE_FDS_MAX];
	uint32_t fd_count, used = 0;
	struct timespec started, ready;

	clock_gettime(CLOCK_MONOTONIC, &started);
	if (control_init(CONTROL_FD) < 0 || control_read_config(&config, fds, &fd_count) < 0)
		return 1;
	for (uint32_t i = 0; i < config.mount_count; i++)
		used += config.mounts[i].has_fd;
	if (fd_count != used + (config.flags & WIRE_CONFIG_TRACE ? 1 : 0))
		control_fail(EPROTO, "descriptors of CONFIG");

	init_core(&config);
	prepare_jail(&config);
	build_files(&config, fds);
	must(uts_init(*config.hostname ? config.hostname : "hotcell"), "host name");
	if (config.flags & WIRE_CONFIG_TRACE)
		trace_start(fds[used]);

	must(jail_enter_root(STUB_FD), "enter the jail");
	start_guests(config.flags & WIRE_CONFIG_TRACE);
	must(tracee_init(), "child signals");
#ifdef JAIL_PROBE
	jail_probe_unfiltered();
#endif
	must(jail_lock(), "lock the jail");
#ifdef JAIL_PROBE
	jail_probe_locked();
#endif
	must(control_start(), "control channel");
	if (config.flags & WIRE_CONFIG_NO_CGROUP)
		must(meter_start(), "memory accounting");
	clock_gettime(CLOCK_MONOTONIC, &ready);
	uint64_t start_ns = ns_from_timespec(&ready) - ns_from_timespec(&started);
	stats_set_start(start_ns);
	control_send(WIRE_READY, 0, &start_ns, sizeof(start_ns));

	must(loop_run(), "event loop");
	control_finish();
	return 0;
}
