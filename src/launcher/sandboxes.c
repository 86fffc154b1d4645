/*
 * Slots of the launcher.
 *
 *   free --launch--> alive --(pidfd readable)--> reaped: EXITED sent --> leaving --> free
 *
 * A slot has an outside identity of its own, so that no two sandboxes share a uid. "leaving" is a
 * slot whose files are being removed, or whose control group still has dying processes: both go in
 * steps from the loop, which never waits. Everything is static: nothing here can fail for want of memory.
 */
#include "launcher/sandboxes.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/util.h"
#include "kernel/core/limits.h"
#include "launch/cgroup.h"
#include "launch/config.h"
#include "launch/cpus.h"
#include "launch/identity.h"
#include "launch/launch.h"
#include "launch/store.h"
#include "wire/channel.h"

_Static_assert(LIMIT_MAX == WIRE_LIMITS, "launcher_launch.limits is in the order of enum limit");

/* As in cli/session_start.c: tasks of kernel process and pid 1, counted by the host only. */
#define PIDS_MARGIN 16
#define RETRY_MS    5
/* Files that are removed in one turn of the loop: about a millisecond. */
#define FILES_PER_TURN 128
#define END_WAIT_NS    (5 * NSEC_PER_SEC)
/* A launcher that was killed may have processes that still die when we start. */
#define SWEEP_EVERY_NS (2 * NSEC_PER_SEC)
#define SWEEPS	       15

enum slot_state { SLOT_FREE, SLOT_ALIVE, SLOT_LEAVING };

struct slot {
	enum slot_state state;
	uint64_t id;
	uint32_t uid, gid; /* its outside identity, the same for every sandbox in it */
	pid_t pid;
	int pidfd;
	struct cgroup cgroup;
	struct store store;
};

static struct slot slots[LAUNCHER_SANDBOXES_MAX];
static uint32_t slots_end; /* those behind were never used */
static uint32_t leaving_count;
static struct cgroup_host host;
static struct launcher_setup setup;
static struct launch_config config; /* with the template; completed for each launch */
static int epoll_fd;
static bool root;
static unsigned int sweeps;
static uint64_t swept_ns;

static void sweep(void)
{
	cgroup_sweep(&host, true);
	if (setup.store_fd >= 0)
		store_sweep(setup.store_fd);
	sweeps++;
	swept_ns = clock_now_ns();
}

int sandboxes_init(const struct launcher_setup *s, int epoll, struct error *err)
{
	setup = *s;
	epoll_fd = epoll;
	root = geteuid() == 0;
	cgroup_probe(&host);
	sweep();
	launch_config_init(&config);
	return launch_config_host(&config, err);
}

void sandboxes_hello(struct launcher_hello *ret)
{
	*ret = (struct launcher_hello){ .version = LAUNCHER_VERSION,
					.controllers = host.usable,
					.root = root,
					.store = setup.store_fd >= 0 };
}

static struct slot *find(uint64_t id)
{
	for (uint32_t i = 0; i < slots_end; i++) {
		if (slots[i].state == SLOT_ALIVE && slots[i].id == id)
			return &slots[i];
	}
	return NULL;
}

static struct slot *find_free(void)
{
	for (uint32_t i = 0; i < LAUNCHER_SANDBOXES_MAX; i++) {
		if (slots[i].state == SLOT_FREE) {
			if (i >= slots_end)
				identity_choose_slot(i, &slots[i].uid, &slots[i].gid);
			slots_end = MAX(slots_end, i + 1);
			return &slots[i];
		}
	}
	return NULL;
}

/* ---- launching ---- */

static int check_request(const struct launcher_launch *q, struct error *err)
{
	size_t n = strspn(q->hostname,
			  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.");
	if (q->template != LAUNCHER_TEMPLATE_HOST)
		return error_set(err, EINVAL, "template %u", q->template);
	if (n == 0 || q->hostname[n] || q->hostname[0] == '-')
		return error_set(err, EINVAL, "host name");
	if (q->limits[LIMIT_MEMORY] < MIB(16) || q->limits[LIMIT_MEMORY] > GIB(1024 * 16))
		return error_set(err, EINVAL, "memory limit");
	if (q->limits[LIMIT_PIDS] == 0 || q->limits[LIMIT_PIDS] > 4194304)
		return error_set(err, EINVAL, "limit of processes");
	if (q->limits[LIMIT_CPU_MILLI] > 4096000)
		return error_set(err, EINVAL, "CPU limit");
	return 0;
}

static int make_cgroup(struct slot *s, const struct launcher_launch *q, struct error *err)
{
	const struct cgroup_limits limits = { .memory_bytes = q->limits[LIMIT_MEMORY],
					      .cpu_milli = q->limits[LIMIT_CPU_MILLI],
					      .pids = q->limits[LIMIT_PIDS] + PIDS_MARGIN };
	const uint32_t wanted =
		CGROUP_SANDBOX | CGROUP_BIT(CGROUP_FREEZER) | CGROUP_BIT(CGROUP_CPUACCT);
	return cgroup_create(&s->cgroup, &host, wanted, &limits, err);
}

static int start_process(struct slot *s, const struct launcher_launch *q, struct launched *ret,
			 struct error *err)
{
	struct launch_options options = { .cgroup_fd = cgroup_clone_fd(&s->cgroup),
					  .uid = s->uid,
					  .gid = s->gid };
	struct cpus_pin cpus = { .pinned = false };
	if (q->limits[LIMIT_CPU_MILLI] && !(s->cgroup.controllers & CGROUP_BIT(CGROUP_CPU)))
		(void)cpus_pin(&cpus, q->limits[LIMIT_CPU_MILLI]);
	int r = launch(&options, ret, err);
	cpus_unpin(&cpus);
	return r;
}

static int add_store(struct slot *s, struct error *err)
{
	const struct store_owner owner = { root, s->uid, s->gid };
	bool detached;
	int fd;
	int r = store_make(&s->store, setup.store_fd, setup.store, &owner, &fd, &detached, err);
	return r < 0 ? r
		     : launch_config_mount(&config, WIRE_MOUNT_STORE, "/", NULL, fd, detached, err);
}

/* CONFIG on a channel of its own buffers: the receiver of the descriptor knows nothing of it. */
static int send_config(struct slot *s, const struct launcher_launch *q, int control,
		       struct error *err)
{
	static struct channel channel;
	uint32_t fds = config.fd_count, mounts = config.wire.mount_count;
	bool cgroup = s->cgroup.controllers & CGROUP_BIT(CGROUP_MEMORY);
	int r = setup.store_fd >= 0 ? add_store(s, err) : 0;
	config.wire.flags = cgroup ? 0 : WIRE_CONFIG_NO_CGROUP;
	config.wire.hostname = q->hostname;
	memcpy(config.wire.limits, q->limits, sizeof(config.wire.limits));
	if (r == 0 && !channel.in && channel_init(&channel, -EBADF) < 0)
		r = error_set(err, ENOMEM, "buffers");
	if (r == 0) {
		channel.fd = control;
		channel.out_length = 0;
		r = launch_config_send(&channel, &config, err);
		if (r == 0 && channel_pending(&channel))
			r = error_set(err, EAGAIN, "send the configuration");
		channel.fd = -EBADF;
	}
	for (uint32_t i = fds; i < config.fd_count; i++)
		close(config.fds[i]);
	config.fd_count = fds;
	config.wire.mount_count = mounts;
	return r;
}

static void clear(struct slot *s)
{
	s->state = SLOT_LEAVING;
	leaving_count++;
	(void)sandboxes_tidy();
}

static void kill_and_wait(struct slot *s)
{
	kill(s->pid, SIGKILL);
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int launch_in_slot(struct slot *s, const struct launcher_launch *q, int *ret_control,
			  struct error *err)
{
	struct launched kernel;
	int r = make_cgroup(s, q, err);
	if (r == 0)
		r = start_process(s, q, &kernel, err);
	if (r < 0)
		return r;
	AUTO_CLOSE int control = kernel.control_fd;
	AUTO_CLOSE int pidfd = kernel.pidfd;
	AUTO_CLOSE int go_fd = kernel.go_fd;
	s->pid = kernel.pid;
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = (uint32_t)(s - slots) };
	r = launch_release(&kernel, &s->cgroup, err);
	if (r == 0)
		r = send_config(s, q, control, err);
	if (r == 0)
		r = launch_check(&kernel, err);
	if (r == 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pidfd, &event) < 0)
		r = error_set(err, errno, "watch the kernel process");
	if (r < 0) {
		kill_and_wait(s);
		return r;
	}
	s->pidfd = take_fd(&pidfd);
	*ret_control = take_fd(&control);
	return 0;
}

int sandboxes_launch(uint64_t id, const struct launcher_launch *q, int *ret_control,
		     struct error *err)
{
	int r = check_request(q, err);
	if (r < 0)
		return r;
	if (id == 0 || find(id))
		return error_set(err, EEXIST, "sandbox number");
	struct slot *s = find_free();
	if (!s)
		return error_set(err, EMFILE, "%u sandboxes", LAUNCHER_SANDBOXES_MAX);
	s->id = id;
	s->store = STORE_NONE;
	memset(&s->cgroup, 0, sizeof(s->cgroup));
	r = launch_in_slot(s, q, ret_control, err);
	if (r < 0)
		clear(s);
	else
		s->state = SLOT_ALIVE;
	return r;
}

/* ---- the rest of its life ---- */

void sandboxes_kill(uint64_t id)
{
	struct slot *s = find(id);
	if (!s)
		return;
	/* Not reaped yet, so no other process can have the pid. A frozen group would not die. */
	kill(s->pid, SIGKILL);
	(void)cgroup_freeze(&s->cgroup, false);
}

int sandboxes_freeze(uint64_t id, bool frozen, struct error *err)
{
	struct slot *s = find(id);
	if (!s)
		return error_set(err, ESRCH, "sandbox");
	int r = cgroup_freeze(&s->cgroup, frozen);
	return r < 0 ? error_set(err, -r, "freezer") : 0;
}

static void read_usage(const struct slot *s, struct launcher_usage *ret)
{
	struct cgroup_usage u;
	cgroup_read(&s->cgroup, &u);
	*ret = (struct launcher_usage){ .has_memory = u.has_memory,
					.memory_bytes = u.memory_bytes,
					.memory_peak_bytes = u.memory_peak_bytes,
					.cpu_ns = u.cpu_ns,
					.oom_kills = u.oom_kills };
}

int sandboxes_usage(uint64_t id, struct launcher_usage *ret, struct error *err)
{
	struct slot *s = find(id);
	if (!s)
		return error_set(err, ESRCH, "sandbox");
	read_usage(s, ret);
	return 0;
}

void sandboxes_reap(uint32_t index, struct launcher_message *ret)
{
	struct slot *s = &slots[index];
	int status = 0;
	memset(ret, 0, sizeof(*ret));
	while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
		;
	ret->type = LAUNCHER_EXITED;
	ret->id = s->id;
	ret->exited.status = (uint32_t)status;
	read_usage(s, &ret->exited.usage);
	close(s->pidfd); /* leaves the epoll set with it */
	clear(s);
}

int sandboxes_tidy(void)
{
	unsigned int waiting = 0;
	for (uint32_t i = 0; i < slots_end && leaving_count; i++) {
		struct slot *s = &slots[i];
		if (s->state != SLOT_LEAVING)
			continue;
		if (!store_try_remove(&s->store, FILES_PER_TURN))
			return 0;
		waiting += !cgroup_try_remove(&s->cgroup);
		if (s->cgroup.count)
			continue;
		s->state = SLOT_FREE;
		leaving_count--;
	}
	if (sweeps < SWEEPS && clock_now_ns() - swept_ns >= SWEEP_EVERY_NS)
		sweep();
	if (waiting)
		return RETRY_MS;
	return sweeps < SWEEPS ? (int)(SWEEP_EVERY_NS / NSEC_PER_MSEC) : -1;
}

void sandboxes_fini(void)
{
	const struct timespec pause = { 0, RETRY_MS * NSEC_PER_MSEC };
	for (uint32_t i = 0; i < slots_end; i++) {
		if (slots[i].state == SLOT_ALIVE)
			sandboxes_kill(slots[i].id);
	}
	for (uint32_t i = 0; i < slots_end; i++) {
		if (slots[i].state != SLOT_ALIVE)
			continue;
		while (waitpid(slots[i].pid, NULL, 0) < 0 && errno == EINTR)
			;
		clear(&slots[i]);
	}
	/* Files take as long as they take; processes that do not leave a group are left to a sweep. */
	uint64_t deadline = clock_now_ns() + END_WAIT_NS;
	while (leaving_count) {
		int wait_ms = sandboxes_tidy();
		if (wait_ms > 0 && clock_now_ns() > deadline)
			break;
		if (wait_ms > 0)
			nanosleep(&pause, NULL);
	}
	launch_config_close(&config);
}
