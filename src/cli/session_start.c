/* Start and end of a run: control group, kernel process, configuration, command. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/names.h"
#include "base/util.h"
#include "cli/session_internal.h"
#include "cli/terminal.h"
#include "launch/cpus.h"
#include "launch/identity.h"

/* The kernel process and pid 1 need a few tasks of their own; --pids itself is counted inside. */
#define PIDS_MARGIN	 16
#define EXIT_PATIENCE_MS 500
#define SWEEP_THOROUGHLY 16 /* every so many starts */

static int make_cgroup(struct session *s, struct error *err)
{
	const struct run_options *o = s->options;
	struct cgroup_limits limits = { .memory_bytes = o->memory_bytes,
					.cpu_milli = o->cpu_milli,
					.pids = o->pids + PIDS_MARGIN };
	cgroup_probe(&s->outcome->host);
	int r = cgroup_create(&s->cgroup, &s->outcome->host, CGROUP_SANDBOX, &limits, err);
	if (r < 0)
		return r;
	s->outcome->controllers = s->cgroup.controllers;
	s->identity.cgroup = s->cgroup.controllers & CGROUP_BIT(CGROUP_MEMORY);
	return 0;
}

static int launch_kernel(struct session *s, struct error *err)
{
	struct launch_options options = { .uid = s->identity.uid,
					  .gid = s->identity.gid,
					  .cgroup_fd = cgroup_clone_fd(&s->cgroup) };
	bool pin = s->options->cpu_milli && !(s->outcome->host.usable & CGROUP_BIT(CGROUP_CPU));
	struct cpus_pin cpus = { .pinned = false };
	if (pin && cpus_pin(&cpus, s->options->cpu_milli) < 0)
		text_printf(&s->notes,
			    "--cpus has no effect: no cpu control group, and no pinning\n");
	else if (cpus.pinned && s->options->cpu_milli % 1000)
		text_printf(&s->notes,
			    "--cpus is rounded up: no cpu control group (hotcell doctor)\n");
	int r = launch(&options, &s->kernel, err);
	cpus_unpin(&cpus);
	s->launched = r >= 0;
	return r;
}

/* Makes group and kernel process; the longest step, its namespaces, goes on beside ours. */
static int start_kernel(struct session *s, struct error *err)
{
	/* To know what to do about --cpus takes a look at the host, too. */
	bool first = s->options->cpu_milli || cgroup_comes_first();
	int r = first ? make_cgroup(s, err) : 0;
	if (r == 0)
		r = launch_kernel(s, err);
	if (r == 0 && !first)
		r = make_cgroup(s, err);
	return r < 0 ? r : launch_release(&s->kernel, &s->cgroup, err);
}

/* A kernel process that ended has said why, or not: the loop finds out. */
static bool gone(int r)
{
	return r == -EPIPE || r == -ECONNRESET;
}

static int spawn(struct session *s, struct error *err)
{
	const struct streams *streams = &s->streams;
	struct run_spawn command = { .options = s->options,
				     .config = &s->config,
				     .tty = s->tty,
				     .rows = 24,
				     .cols = 80,
				     .fds = streams->pass + streams->first,
				     .fd_count = (uint32_t)(streams->end - streams->first) };
	if (s->tty)
		terminal_size(STDOUT_FILENO, &command.rows, &command.cols);
	int r = run_spawn_send(&s->channel, &command, err);
	streams_passed(&s->streams, s->options->json && strcmp(s->options->json, "-") == 0);
	return r;
}

int session_start(struct session *s, struct error *err)
{
	identity_choose(&s->identity.uid, &s->identity.gid);
	s->identity.root = geteuid() == 0;
	int r = start_kernel(s, err);
	/* The kernel process starts up while we prepare what to tell it. */
	if (r == 0)
		r = run_config_prepare(s->options, &s->identity, &s->config, &s->notes, err);
	if (r == 0)
		r = streams_open(&s->streams, s->tty ? 3 : 0, 3 + (int)s->options->preserve_fds, err);
	if (r == 0)
		r = launch_check(&s->kernel, err);
	if (r < 0)
		return r;
	r = channel_init(&s->channel, s->kernel.control_fd);
	s->kernel.control_fd = -EBADF;
	if (r < 0)
		return error_set(err, -r, "control channel");
	/* Before anything can run: whoever has seen the program may send it signals. */
	r = session_signals_take(s, err);
	if (r == 0)
		r = launch_config_send(&s->channel, &s->config.base, err);
	launch_config_close(&s->config.base);
	if (r == 0)
		r = spawn(s, err);
	if (r < 0)
		return gone(r) ? 0 : r;
	/* What a killed hotcell left behind goes while the kernel process is busy with CONFIG. */
	cgroup_sweep(&s->outcome->host, getpid() % SWEEP_THOROUGHLY == 0);
	return 0;
}

/* How a kernel process ended that nobody asked to. */
static void explain_end(struct outcome *o, const siginfo_t *info)
{
	size_t length = strlen(o->reason);
	struct text t = { o->reason, sizeof(o->reason), length, false };
	const char *name = signal_short_name(info->si_status);
	if (info->si_pid == 0)
		return; /* it only closed the channel */
	if (info->si_code == CLD_EXITED)
		text_printf(&t, ": exit status %d", info->si_status);
	else
		text_printf(&t, ": killed by signal %d (%s)", info->si_status, name ? name : "?");
}

/* After DIED the kernel process ends by itself; with it everything in its pid namespace. */
static void reap(struct session *s)
{
	siginfo_t info;
	struct pollfd p = { .fd = s->kernel.pidfd, .events = POLLIN };
	if (s->orderly || s->vanished)
		(void)poll(&p, 1, EXIT_PATIENCE_MS);
	memset(&info, 0, sizeof(info));
	if (s->vanished &&
	    waitid(P_PID, (id_t)s->kernel.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
		explain_end(s->outcome, &info);
	(void)kill(s->kernel.pid, SIGKILL); /* still our child: no other process can have the pid */
	while (waitid(P_PID, (id_t)s->kernel.pid, &info, WEXITED) < 0 && errno == EINTR)
		;
	close(s->kernel.pidfd);
}

/*
 * The host kills a process of the sandbox when its memory is used up. If that (or a shell that
 * passes it on) is what ended the program, memory is the reason; else it is worth a note.
 */
static void judge_memory(struct session *s)
{
	struct outcome *o = s->outcome;
	double mib = (double)s->options->memory_bytes / (double)MIB(1);
	bool killed = (o->kind == OUTCOME_SIGNALED && o->signal == SIGKILL) ||
		      (o->kind == OUTCOME_EXITED && o->status == 128 + SIGKILL) ||
		      o->kind == OUTCOME_FAILED;
	if (o->usage.oom_kills == 0 || o->kind == OUTCOME_KILLED)
		return;
	if (!killed) {
		text_printf(&s->notes,
			    "memory limit of %.0f MiB reached, %u process%s killed "
			    "(--memory changes it)\n",
			    mib, (unsigned int)o->usage.oom_kills,
			    o->usage.oom_kills == 1 ? " was" : "es were");
		return;
	}
	o->kind = OUTCOME_KILLED;
	o->status = STATUS_KILLED;
	snprintf(o->reason, sizeof(o->reason),
		 "memory limit of %.0f MiB reached (--memory changes it)", mib);
}

/* ENOSPC inside is the program's to report; which option helps only we know. */
static void judge_disk(struct session *s)
{
	const struct run_options *o = s->options;
	double mib = (double)run_options_disk(o) / (double)MIB(1);
	if (!s->outcome->have_stats || s->outcome->stats.disk_refused == 0)
		return;
	if (run_options_disk(o) < o->disk_bytes)
		text_printf(&s->notes, "file data reached %.0f MiB, three quarters of the memory limit "
				       "(--memory or --store DIR changes it)\n",
			    mib);
	else
		text_printf(&s->notes, "file data reached the limit of %.4g MiB (--disk changes it)\n",
			    mib);
}

void session_stop(struct session *s)
{
	if (s->launched) {
		channel_fini(&s->channel);
		if (s->kernel.control_fd >= 0)
			close(s->kernel.control_fd);
		close(s->kernel.go_fd);
		reap(s);
		cgroup_read(&s->cgroup, &s->outcome->usage);
		judge_memory(s);
		judge_disk(s);
	}
	launch_config_close(&s->config.base);
	store_remove(&s->identity.store);
	cgroup_remove(&s->cgroup);
	/* Nobody writes to our relays any more: what is in them ends with an end of file. */
	if (s->launched)
		streams_drain(&s->streams);
	streams_close(&s->streams);
}
