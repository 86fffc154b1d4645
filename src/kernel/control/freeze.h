/*
 * A sandbox whose processes stand still: FREEZE and THAW. See freeze.c.
 */
#pragma once

#include <stdbool.h>

/* No call of a guest is served, no woken call runs. */
bool freeze_active(void);
/*
 * For SAVE: as FREEZE does it, but op_wake_all(OP_SAVE) instead of an answer. 1 = begun, to be ended with
 * freeze_end(); 0 = frozen already; -EBUSY, -ENOMEM.
 */
int freeze_begin(void);
/* 0 = everything stands; -EINPROGRESS; -ETIMEDOUT = it did not come to that. */
int freeze_state(void);
/* The event loop, every turn: true = ask again soon. */
bool freeze_tick(void);
/* A process died, on the host. */
void freeze_process_died(int host_pid);
/* Everything goes on. Fine when nothing is frozen. */
void freeze_end(void);
