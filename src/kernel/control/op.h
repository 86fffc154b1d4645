/*
 * Operations: requests of the control channel that take longer than one turn of the event loop. Each
 * is a record in the arena that does a slice of its work at a time, so that the guests' system calls
 * never wait for more than one slice, and waits for wait queues like a blocked call.
 *
 *            op_start()
 *                |            OP_AGAIN
 *                v     +------------------+
 *            run queue --step()--> OP_WAIT --op_wake()--> run queue
 *                |         +-----> OP_CONGESTED --channel drained--> run queue
 *                |         +-----> OP_END: freed
 *                +-- CANCEL: freed, at any time between steps
 *
 * An exclusive operation, from when it is started until it is freed, is the only one that runs, and the
 * control channel is not read meanwhile: what has to find the files of one moment, or to make them. It
 * cannot be cancelled; it ends when its stream does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "kernel/core/wait.h"

enum op_kind {
	OP_LIST,
	OP_REMOVE,
	OP_READ,
	OP_WRITE,
	OP_DIAL,
	OP_WATCH,
	OP_PROCESSES,
	OP_LISTEN,
	OP_ACCEPT,
	OP_SAVE,
	OP_LOAD,
	OP_KIND_MAX
};

enum op_result { OP_AGAIN, OP_WAIT, OP_CONGESTED, OP_END };

/* First member of the record of every kind. */
struct op {
	struct list link;     /* all operations */
	struct list run_link; /* run queue, or those that wait for the channel */
	uint32_t request;
	uint8_t kind; /* enum op_kind */
};

/*
 * A zeroed record of `size` bytes that is not started yet. -EAGAIN: as many of this kind as there
 * may be; -EEXIST: the request's number is in use; -ENOMEM.
 */
int op_new(enum op_kind kind, uint32_t request, size_t size, void *ret);
/* On the run queue, once its kind's fields are set. */
void op_start(struct op *op);
/* Never started, or to end now. NULL is fine. */
void op_free(struct op *op);

/* Puts it on the run queue. */
void op_wake(struct op *op);
/* Lets `w` wake the operation. */
void op_wait_on(struct op *op, struct waiter *w, struct waitq *wq);
bool op_waiter_wake(struct waiter *w, uint32_t events); /* table entry for WAITER_OP */

/* The operation of that number if it is of this kind, else NULL. */
struct op *op_find(enum op_kind kind, uint32_t request);
/* One more of this kind may be made. */
bool op_room(enum op_kind kind);
void op_wake_all(enum op_kind kind);

/* An exclusive operation is under way. */
bool op_exclusive(void);

/* CANCEL. */
void op_cancel(uint32_t request);
/* The channel has room again. */
void op_channel_drained(void);

/* The event loop: does one slice of one operation. */
void op_run(void);
bool op_runnable(void);
/*
 * The event loop: operations that must run before the next system call of a guest. Those are watches
 * of a tree, so that in a directory that was just made nothing happens unseen.
 */
void op_run_urgent(void);
/* One is waiting: a slice that changes the tree should end here. */
bool op_urgent(void);
