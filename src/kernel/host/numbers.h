/* The numbers of a task: a host kernel counts it once per pid namespace that it is in. */
#pragma once

struct host_numbers {
	int host_pid; /* thread group, in our namespace */
	int tid, pid; /* in the guests' namespace */
};

/* Once, when the guests' first process exists and before the jail is locked. */
void host_numbers_init(int first_host_pid);
/* 0, or -errno: the task is gone. */
int host_numbers(int host_tid, struct host_numbers *ret);
