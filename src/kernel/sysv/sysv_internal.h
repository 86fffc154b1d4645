/* State of sysv/, shared by its files. */
#pragma once

#include <sys/sem.h>

#include "base/list.h"
#include "kernel/core/wait.h"
#include "kernel/sysv/sysv.h"

struct sysv_root {
	struct ipc_table sems, queues;
	struct list undos;    /* sem_undo.link */
	uint32_t total_sems;
	uint64_t total_bytes; /* of all messages */
	uint32_t total_messages;
};
struct sysv_root *sysv_root(void); /* NULL = no memory */

struct sem {
	int value;
	int pid; /* who changed it last */
};

struct semset {
	struct ipc_object ipc;
	uint32_t count;
	int64_t otime, ctime; /* seconds */
	struct waitq wq;      /* blocked semop calls: what they wait for is in call.progress */
	struct sem sems[];
};

/* What a process has to give back of one set when it ends. */
struct sem_undo {
	struct list link;
	struct process *proc; /* key only; gone with the process */
	struct semset *set;
	int16_t adjust[];
};

#define SEM_OPS_MAX 500
#define SEM_VALUE_MAX 32767
#define SEM_PER_SET_MAX 32000

/* A message queue. */
struct queue {
	struct ipc_object ipc;
	struct list messages;
	uint32_t bytes, count, bytes_max;
	int64_t stime, rtime, ctime; /* seconds */
	int send_pid, receive_pid;
	struct waitq senders, receivers;
};

/* call.progress of a blocked semop. */
static inline uint64_t sem_wait_mark(uint32_t num, bool for_zero)
{
	return (uint64_t)num << 1 | for_zero | 1ull << 32;
}

struct semset *sem_find(int id);
/* The values changed by something else than semop: adjustments are void, waiters look again. */
void sem_undo_clear(struct semset *set, int num); /* num < 0: all */
void sem_free(struct semset *set);
void queue_free(struct queue *q);
