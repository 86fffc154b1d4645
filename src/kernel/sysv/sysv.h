/*
 * System V semaphores and message queues: sysvipc(7). The calls are declared in
 * kernel/abi/syscalls.h. (Shared memory lives in mm/, it may use the helpers here.)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ipc.h>

struct call;
struct cred;
struct process;
struct task;

/* The process ends: its semaphore adjustments (SEM_UNDO) are applied. */
void sysv_process_exit(struct process *p);

/* No process is left: semaphore sets and message queues go, too. */
void sysv_clear(void);

/* Lines of /proc/sysvipc/sem and msg. */
struct seq;
void sysv_show_sem(struct seq *s);
void sysv_show_msg(struct seq *s);

/* ---- objects with keys and permissions, found by id ---- */

/* First member of every object. */
struct ipc_object {
	int id;
	int32_t key;
	uint32_t uid, gid, cuid, cgid;
	uint32_t mode; /* permission bits */
	uint16_t seq;
};

struct ipc_table {
	struct ipc_object **slots;
	uint32_t capacity, count;
	uint32_t next_seq;
};

#define IPC_OBJECTS_MAX 32000u /* of each kind */

/* NULL = no such id. */
struct ipc_object *ipc_find(const struct ipc_table *t, int id);
struct ipc_object *ipc_find_key(const struct ipc_table *t, int32_t key);
/* By index (SEM_STAT and the like). */
struct ipc_object *ipc_find_index(const struct ipc_table *t, int index);
/* Files a new object, owned by the caller: sets every field. 0, -ENOSPC, -ENOMEM. */
int ipc_add(struct ipc_table *t, struct ipc_object *o, const struct task *owner, int32_t key,
	    uint32_t mode);
void ipc_remove(struct ipc_table *t, struct ipc_object *o);
/* Highest index in use, as the *_INFO commands return it. */
int ipc_highest(const struct ipc_table *t);

/* May the caller access it as the permission bits of `want` (of any class) say? 0 or -EACCES. */
int ipc_permission(const struct cred *c, const struct ipc_object *o, uint32_t want);
/* Owner, creator or CAP_SYS_ADMIN: for IPC_SET and IPC_RMID. 0 or -EPERM. */
int ipc_owner(const struct cred *c, const struct ipc_object *o);
void ipc_to_perm(const struct ipc_object *o, struct ipc_perm *ret);
void ipc_from_perm(struct ipc_object *o, const struct ipc_perm *perm); /* IPC_SET */

/* ---- pieces of the *ctl calls; `arg` is the number of the argument that points to the data ---- */

int64_t ipc_now(void); /* seconds, as the *_ctime fields count */
/* Hands out what a command reports: `result`, or -EFAULT. */
long ipc_report(struct call *c, int arg, const void *data, size_t size, long result);
/* IPC_SET: reads the whole *id_ds; the caller must own the object. 0, -EFAULT, -EPERM. */
int ipc_read_set(struct call *c, int arg, void *ret_ds, size_t size, const struct ipc_object *o);
