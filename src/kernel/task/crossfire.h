/* Threads that are hit by signals inside their calls at the same time as others. See crossfire.c. */
#pragma once

#include <stdbool.h>

#include "kernel/task/task.h"

/* A signal took a call of `t` away that was being served, or not seen yet. */
void crossfire_hit(struct task *t);

/* An answer to `t` must be one that is known to arrive. */
bool crossfire_holds(const struct task *t);
