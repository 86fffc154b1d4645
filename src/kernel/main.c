/*
 * hotcell-kernel: wiring. Starts as pid 1 of fresh namespaces with the control channel on
 * descriptor 3 and the stub on 4 (src/launch/), builds its jail around itself, and becomes the
 * operating system of one sandbox until nothing is left to run.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/util.h"
#include "kernel/control/control.h"
#include "kernel/control/spawn.h"
#include "kernel/control/stats.h"
#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/core/dispatch.h"
#include "kernel/core/hash.h"
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
#include "kernel/host/numbers.h"
#include "kernel/host/poll.h"
#include "kernel/host/proc.h"
#include "kernel/host/process.h"
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
#define GUEST_PATIENCE_MS 10000

#if JAIL_INSTRUMENTED
/* The symbolizer opens files, which the jail forbids: the report would be lost. */
const char *__ubsan_default_options(void);
const char *__asan_default_options(void);
const char *__ubsan_default_options(void)
{
	return "symbolize=0:halt_on_error=1";
}

/* The arena is not libc's heap: looking through terabytes of it for leaks takes for ever. */
const char *__asan_default_options(void)
{
	return "symbolize=0:detect_leaks=0";
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
static void open_store(const struct wire_config *config)
{
	bool in_memory = true;

	for (uint32_t i = 0; i < config->mount_count; i++)
		in_memory &= config->mounts[i].kind != WIRE_MOUNT_STORE;
	host_store_set_unbounded(!in_memory);
	if (!in_memory)
		return;
	int store = jail_open_store(limit_value(LIMIT_DISK_BYTES), 0);
	must(store, "private mounts");
	must(host_root_set(HOST_ROOT_STORE, store), "store");
}

/* Jails the mount sources. */
static void open_sources(const struct wire_config *config, const int *fds, struct fs_plan *plan,
			 struct fs_plan_mount *mounts)
{
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
			mounts[plan->mount_count++] =
				(struct fs_plan_mount){ .kind = (uint8_t)m->kind,
							.host_root = number,
							.guest = m->guest,
							.target = m->target };
	}
	plan->mounts = mounts;
}

static void build_files(const struct fs_plan *plan)
{
	const char *failed = NULL;
	int r = fs_setup(plan, &failed);

	must(r, failed ? failed : "build the file system");
}

/* The first process is about to execute the stub: the one execve that is the host's as it stands. */
static void let_init_exec(void)
{
	struct notification n;

	must(host_notify_wait(GUEST_PATIENCE_MS), "first process");
	int r = host_notify_receive(&n);
	must(r <= 0 || n.nr != SYS_execve ? -EPROTO : host_notify_continue(n.id), "first process");
}

static void take_guests(struct guest_init *guests)
{
	int listener = host_guest_listener(guests);
	bool synchronous;
	struct task *init;

	must(listener, "start the guests' first process");
	must(host_notify_init(listener, &synchronous), "seccomp listener");
	/* When memory runs out the host kills a guest and not us; children inherit this. */
	(void)host_proc_write(guests->pid, "oom_score_adj", "500", 3);
	host_numbers_init(guests->pid);
	let_init_exec();
	host_poll_set_listener(listener);
	must(birth_init_process(guests->pid, &init), "first process");
}

static void init_core(const struct wire_config *config)
{
	must(arena_init(config->limits[LIMIT_ARENA_BYTES] ? config->limits[LIMIT_ARENA_BYTES]
							   : GIB(1)),
	     "arena");
	must(clock_init(), "clock");
	must(hash_init(), "hash key");
	must(limits_init(), "limits");
	set_limits(config);
	must(host_poll_init(), "epoll");
	must(dispatch_init(), "dispatch");
	must(task_init(), "tasks");
	must(vfs_init(), "file systems");
	must(modules_init(), "modules");
	must(spawn_init(config->user_uid, config->user_gid, config->user), "control");
	stats_enable();
}

/* Everything that needs the host as it is: after this the jail is closed. */
static void enter_jail(const struct wire_config *config, const int *fds, struct jail_mounts *jail,
		       struct guest_init *ret_guests)
{
	struct fs_plan_mount mounts[ARRAY_SIZE(config->mounts)];
	struct fs_plan plan = { .hostname = config->hostname,
				.user = config->user,
				.uid = config->user_uid,
				.gid = config->user_gid };

	open_store(config);
	open_sources(config, fds, &plan, mounts);
	must(jail_enter_root(jail->root_fd), "enter the jail");
	must(host_tag_init(), "tags of processes");
	must(host_guest_start(limit_value(LIMIT_PIDS), config->flags & WIRE_CONFIG_TRACE, ret_guests),
	     "start the guests' first process");
	build_files(&plan); /* while the first process makes its filter */
}

static void lock_jail(void)
{
	must(tracee_init(), "child signals");
#ifdef JAIL_PROBE
	jail_probe_unfiltered();
#endif
	must(jail_lock(), "lock the jail");
#ifdef JAIL_PROBE
	jail_probe_locked();
#endif
}

static void report_ready(const struct timespec *started)
{
	struct timespec ready;

	clock_gettime(CLOCK_MONOTONIC, &ready);
	uint64_t start_ns = ns_from_timespec(&ready) - ns_from_timespec(started);
	stats_set_start(start_ns);
	control_send(WIRE_READY, 0, &start_ns, sizeof(start_ns));
}

int main(void)
{
	static struct wire_config config;
	int fds[WIRE_FDS_MAX];
	uint32_t fd_count, used = 0;
	struct timespec started;
	struct jail_mounts jail;
	struct guest_init guests;
	char probe[16];

	if (control_init(CONTROL_FD) < 0)
		return 1;
	must(jail_prepare(STUB_FD, &jail), "private mounts");
	host_proc_set_root(jail.proc_fd);
	must((int)host_proc_read(1, "stat", probe, sizeof(probe)), "openat2 in /proc"); /* us */
	if (control_read_config(&config, fds, &fd_count) < 0)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &started);
	for (uint32_t i = 0; i < config.mount_count; i++)
		used += config.mounts[i].has_fd;
	if (fd_count != used + (config.flags & WIRE_CONFIG_TRACE ? 1 : 0))
		control_fail(EPROTO, "descriptors of CONFIG");

	init_core(&config);
	enter_jail(&config, fds, &jail, &guests);
	must(uts_init(*config.hostname ? config.hostname : "hotcell"), "host name");
	if (config.flags & WIRE_CONFIG_TRACE)
		trace_start(fds[used]);
	take_guests(&guests);
	lock_jail();
	must(control_start(), "control channel");
	if (config.flags & WIRE_CONFIG_NO_CGROUP)
		must(meter_start(), "memory accounting");
	report_ready(&started);

	must(loop_run(), "event loop");
	control_finish();
	/* Its end and ours take a while, so at the same time. */
	(void)host_signal_process(guests.pid, SIGKILL);
	return 0;
}
