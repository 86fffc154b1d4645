/*
 * How tasks come into being: clone, fork, vfork, and the first process.
 *
 * The host executes the clone; the kernel must know afterwards which new tid is which child. At
 * the notification of the clone it makes a pending record with the child's descriptor table as the
 * parent's is at that moment. The record is bound to a tid at the child's first call, or at the
 * parent thread's next call (the clone has returned then), whichever comes first. Parents may be
 * gone by then, and orphans have others: a tag that fork copies (host/tag.h) says who cloned whom.
 * Threads that share everything need no record: they take it from their process.
 */
#pragma once

struct task;
struct process;

/* The task behind a notification, bound now if it is new. NULL: gone, or out of memory. */
struct task *task_of_notification(int host_tid);
/* Binds the children of `t`'s own clones. */
void birth_resolve(struct task *t);
/* pid 1: made when the sandbox is. -ENOMEM. */
int birth_init_process(int host_pid, struct task **ret);
void birth_thread_gone(struct task *t);
/* Binds every child there is, of all processes. Costly. */
void birth_find_all(void);
/* Of a thread that task_of_notification() has no memory for: its process, or NULL. */
struct process *birth_process_of(int host_tid);
/* Such a thread ended: its charge goes. */
void birth_unknown_left(struct process *p);
/* The process ends: threads that were never seen are not awaited any more. */
void birth_process_exit(struct process *p);
/* The process is dead: its last children are bound. */
void birth_process_gone(struct process *p);
