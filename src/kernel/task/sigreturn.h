/* Calls that a signal interrupted, and the return from the handler. See sigreturn.c. */
#pragma once

#include "kernel/task/task.h"

/* Records that the thread of `c` never got its answer. `result` is for LOST_RESULT. */
void lost_add(struct call *c, enum lost_kind kind, long result);
