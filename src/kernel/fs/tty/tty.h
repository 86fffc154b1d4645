/*
 * Terminals: pairs of a master (/dev/ptmx, or the control channel) and a slave (/dev/pts/N) with a
 * line discipline between them; pty(7), ioctl_tty(2).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/core/timer.h"

struct call;
struct file;
struct inode;
struct process;
struct tty;
struct waitq;

int tty_init(void);

/* Mounts the file system of the slaves at /dev/pts; called by devfs_mount(). */
int devpts_mount(void);

struct tty *tty_get(struct tty *t);
void tty_put(struct tty *t);

/* TIMER_TTY: VTIME of a raw read is over. */
void tty_timer_fired(struct timer *timer);

/* ---- opening: called by dev_open() ---- */
int tty_open_master(struct call *c, struct inode *inode, struct file *file);  /* 5:2 */
int tty_open_slave(struct call *c, struct inode *inode, struct file *file);   /* 136:N of devpts */
int tty_open_current(struct call *c, struct inode *inode, struct file *file); /* 5:0 */

/* ---- sessions: called by task/ ---- */
/* fork: the child has its parent's controlling terminal. */
void tty_fork(struct process *child, const struct process *parent);
/* setsid(2): the process has no controlling terminal any more. */
void tty_setsid(struct process *p);
/*
 * A process is gone; call it after its descriptors were closed and while pgid and sid are still
 * valid. The end of a session leader hangs up: SIGHUP to the foreground group, and the session
 * loses its terminal.
 */
void tty_session_exit(struct process *p);
/* Numbers for /proc/PID/stat: tty_nr, and tpgid (-1 without a terminal). */
void tty_proc_stat(const struct process *p, int *ret_tty_nr, int *ret_tpgid);

/* ---- a terminal whose master is the control channel ---- */
/* One reference for the caller; NULL = -ENOMEM or no number free. */
struct tty *tty_new_controlled(uint16_t rows, uint16_t cols);
/* A new open file of the slave (O_RDWR), for the program's descriptors 0 to 2. NULL = -ENFILE. */
struct file *tty_slave_file(struct tty *t);
/* Makes it the controlling terminal of a new session leader; its group comes to the foreground. */
void tty_acquire(struct tty *t, struct process *leader);
/* Typed bytes. Takes what fits (0 = full; wait on the queue and come back). */
size_t tty_control_input(struct tty *t, const void *bytes, size_t size);
/* Output: what is there, 0 when nothing is. Frees room for the programs that wait to write. */
size_t tty_control_output(struct tty *t, void *dst, size_t capacity);
void tty_control_resize(struct tty *t, uint16_t rows, uint16_t cols);
/* The master goes: SIGHUP to the session. Drops the caller's reference. */
void tty_control_hangup(struct tty *t);
/* Woken when there may be room for input, output to take, or nobody left on the slave. */
struct waitq *tty_control_waitq(struct tty *t);
