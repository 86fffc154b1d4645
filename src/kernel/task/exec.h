/*
 * execve without a race: see exec.c.
 */
#pragma once

struct call;
struct process;
struct task;

/* The stub's STUB_PLAN call: answers it, or ends the process when no exec is under way. */
long exec_load(struct call *c);
/* Forgets an exec under way. */
void exec_abort(struct process *p);
/* The thread makes call `nr`: if it was in an execve, the host has refused that. */
void exec_settle(struct task *t, int nr);
void exec_thread_gone(struct task *t);
