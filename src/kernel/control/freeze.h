/*
 * A sandbox whose processes stand still: FREEZE and THAW. See freeze.c.
 */
#pragma once

#include <stdbool.h>

/* No call of a guest is served, no woken call runs. */
bool freeze_active(void);
/* The event loop, every turn: true = ask again soon. */
bool freeze_tick(void);
/* A process died, on the host. */
void freeze_process_died(int host_pid);
/* Everything goes on. Fine when nothing is frozen. */
void freeze_end(void);
