/* Shared by clone.c (the calls) and birth.c (finding the children). */
#pragma once

#include <stdbool.h>

#include "base/list.h"
#include "kernel/task/task.h"

/* A clone whose child has not been seen. */
struct pending_clone {
	struct list link;    /* process.pending_clones of the parent */
	struct task *parent; /* NULL once the parent thread is gone */
	bool thread;
	bool sibling; /* CLONE_PARENT: the child's parent is the caller's */
	int exit_signal;
	struct fdtable *files;
	struct fs_context *fs;
	struct cred *cred;
	struct process *process; /* the parent's, to inherit from; referenced */
	char comm[TASK_COMM_LEN];
};

void pending_free(struct pending_clone *p);
