/* Birth and death of tasks and processes, for those who serve them: control, dispatch, the loop. */
#pragma once

#include "kernel/task/task.h"

int task_init(void);
uint64_t process_total(void); /* ever */
struct process *process_new(int host_pid, int pid); /* charged by the clone; NULL = -ENOMEM */
void process_free(struct process *p);		    /* never had a thread */
struct task *task_new(struct process *p, int host_tid, int tid);
/* Takes the thread out of everything and frees it. */
void task_free(struct task *t);
/* After execve: the caller becomes the leader, every other thread is gone. */
void task_become_leader(struct task *t);
struct task *task_find_host(int host_tid);
struct process *process_find_host(int host_pid);
int process_watch(struct process *p); /* 0; an error: nobody would tell of its death */
void rlimits_init(struct rlimit *limits);

/* The host has accepted the thread's exit or exit_group: takes it out of the tables. */
void task_left(struct task *t);
/* Resources go, the parent is told; the host process may still be on its way out. Idempotent. */
void process_exit(struct process *p);
/* The host says the process is dead. */
void process_died(int host_pid);
