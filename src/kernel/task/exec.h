/*
 * execve without a race: see exec.c.
 */
#pragma once

struct call;
struct process;

/* The stub's STUB_PLAN call: answers it, or ends the process when no exec is under way. */
long exec_load(struct call *c);
/* Forgets an exec under way. */
void exec_abort(struct process *p);
