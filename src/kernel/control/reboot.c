/*
 * REBOOT: all processes but the first are killed, until the host knows of none; sockets, pipes, locks
 * and memory go with them. Then what outlives processes and is no file is dropped: System V objects.
 * The sandbox gets a new boot id and is as after its start, with the files it has now (also those in
 * /tmp, /run and /dev/shm).
 *
 * New processes are refused meanwhile; SPAWN waits until it is over. A frozen sandbox is thawed by it:
 * killed before, its processes do not run again.
 */
#include "kernel/control/reboot.h"

#include <errno.h>
#include <signal.h>

#include "base/util.h"
#include "kernel/control/control.h"
#include "kernel/control/freeze.h"
#include "kernel/control/requests.h"
#include "kernel/control/spawn.h"
#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/core/sandbox.h"
#include "kernel/host/proc.h"
#include "kernel/host/process.h"
#include "kernel/mm/shm.h"
#include "kernel/sysv/sysv.h"
#include "kernel/task/birth.h"
#include "kernel/task/life.h"
#include "kernel/task/uts.h"
#include "wire/channel.h"

#define PROCESSES_MAX 40000

struct reboot {
	bool active;
	uint32_t request;
};

static int pids[PROCESSES_MAX]; /* scratch */

static struct reboot *get(void)
{
	static struct reboot *state;

	if (!state)
		state = arena_root(ROOT_REBOOT, sizeof(*state));
	return state;
}

bool reboot_active(void)
{
	return get() && get()->active;
}

/* Sends SIGKILL to all but ourselves and the first process. How many there were, zombies included. */
static int kill_all(void)
{
	struct process *init = process_find(1);
	int n = host_proc_processes(pids, PROCESSES_MAX), left = 0;

	for (int i = 0; i < n; i++) {
		if (pids[i] == HOST_OWN_PID || (init && pids[i] == init->host_pid))
			continue;
		left++;
		host_signal_process(pids[i], SIGKILL);
	}
	return left;
}

static void finish(struct reboot *s)
{
	s->active = false;
	sysv_clear();
	shm_clear();
	uts()->boot_id[0] = '\0'; /* made anew when somebody asks */
	control_done(s->request);
	spawn_go_on();
}

bool reboot_tick(void)
{
	if (!reboot_active())
		return false;
	birth_find_all();
	if (kill_all() == 0 && process_count() <= 1)
		finish(get());
	else
		sandbox_reap(); /* zombies without a parent are the first process's */
	return reboot_active();
}

bool reboot_message(const struct message *m, struct wire_in *in)
{
	struct reboot *s = get();

	if (!wire_in_end(in))
		return false;
	if (!s || s->active) {
		control_error(m->header.request, s ? EBUSY : ENOMEM, WIRE_ABOUT_REQUEST, "reboot");
		return true;
	}
	s->active = true;
	s->request = m->header.request;
	kill_all();
	freeze_end();
	return true;
}
