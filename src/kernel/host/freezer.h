/*
 * All guest threads stopped by ptrace, from outside: neither they nor their parents can tell (no
 * SIGCHLD, no WUNTRACED), pending signals stay pending, a stop by SIGSTOP stays one. A system call
 * that a thread was waiting in is repeated when it goes on, as after a signal without a handler.
 *
 * Outside the arena: stopped threads belong to this process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Looks for threads that are not being stopped yet, in up to `processes` processes; goes on where
 * it was. 1 = looked at all of them since the last time it said so and found nothing new, 0 = go on,
 * -ENOMEM = more threads than fit.
 */
int host_freezer_scan(unsigned processes);
/* Whether every thread found has stopped, is in the middle of a vfork(2), or is gone. */
bool host_freezer_settled(void);
/* A process died: zombies of its stopped threads are ours to wait for, before its parent can. */
void host_freezer_process_died(int host_pid);
/*
 * Lets all threads go, or those it can right now: false = some are left (not stopped yet), call again
 * soon. Nothing when nothing is frozen.
 */
bool host_freezer_thaw(void);
