/* Shared by the files of fs/tty only. */
#pragma once

#include <signal.h>
#include <sys/epoll.h>

/* The kernel's terminal constants; must not meet <termios.h>. */
#include <asm/ioctls.h>
#include <asm/termbits.h>

#include "kernel/core/arena.h"
#include "kernel/core/call.h"
#include "kernel/core/user.h"
#include "kernel/core/wait.h"
#include "kernel/fs/file.h"
#include "kernel/fs/tty/ldisc.h"
#include "kernel/fs/tty/tty.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/task.h"

#define TTY_MAX 1024u		   /* terminals of a sandbox */
#define TTY_QUEUE_BYTES (32u << 10) /* each direction */
#define TTY_SLAVE_MAJOR 136u	   /* of /dev/pts/N; the minor is N */
#define TTY_GROUP 5u		   /* gid of "tty" */

/* The kernel's struct winsize. */
struct tty_winsize {
	uint16_t rows, cols, xpixel, ypixel;
};

struct tty {
	uint32_t refs; /* master, slave files, processes that are controlled by it */
	uint32_t index;
	uint32_t slave_count; /* open files of the slave */
	uint32_t generation;  /* hang-ups so far: older files are dead */
	bool master_open;
	bool locked;	   /* TIOCSPTLCK: the slave cannot be opened */
	bool slave_closed; /* it was open and is not: HUP for the master */
	bool exclusive;	   /* TIOCEXCL */
	bool packet;	   /* TIOCPKT */
	uint8_t packet_status;
	int session, pgrp; /* 0 = none */
	struct tty_winsize winsize;
	struct inode *inode; /* in devpts, a reference; NULL when removed from there */
	struct waitq master_waitq, slave_waitq;

	/* One raw read with VTIME at a time. */
	struct timer vtime;
	int vtime_tid; /* whose */
	bool vtime_over;
	uint32_t vtime_seen; /* bytes that were there when the clock was started */

	struct byte_queue input; /* from the master, when the line discipline takes no more */
	struct ldisc ld;
};

/* The private part of an open file of either side. */
struct tty_file {
	struct tty *tty;
	uint32_t generation;
	bool master;
	/* Between read() and read_done(), write() and write_done(). */
	bool read_status;	/* the packet mode status byte */
	bool read_header;	/* a packet mode data byte in front */
	bool read_eof;
	uint32_t read_count;
	struct ldisc_columns columns;
};

struct tty_root {
	struct tty *table[TTY_MAX];
	uint32_t count;
	struct superblock *devpts;
	struct inode *ptmx;
	uint8_t bounce[8192]; /* between a guest's memory and the line discipline */
};
struct tty_root *tty_root(void);

#define TTY_NOT_MINE 1L /* of the parts of ioctl: the command belongs to another part */

/* ---- tty.c ---- */
int tty_new(uint32_t uid, struct tty **ret);
struct tty *tty_find(uint32_t index);
void tty_close_master(struct tty *t);
void tty_close_slave(struct tty *t);
void tty_hangup(struct tty *t);
/* Feeds waiting input to the line discipline and does what it asks for: signals, wake-ups. */
void tty_settle(struct tty *t);
void tty_packet_event(struct tty *t, uint8_t clear, uint8_t set);
void tty_signal_foreground(struct tty *t, int sig);
void tty_set_winsize(struct tty *t, const struct tty_winsize *ws);
void tty_vtime_cancel(struct tty *t);

/* The kernel's 32-bit form of a device number. */
static inline uint32_t tty_device_number(uint32_t major_nr, uint32_t minor_nr)
{
	return (minor_nr & 0xff) | major_nr << 8 | (minor_nr & ~0xffu) << 12;
}

static inline bool tty_file_dead(const struct tty_file *tf)
{
	return !tf->master && tf->generation != tf->tty->generation;
}

/* ---- tty_job.c: sessions and job control ---- */
/* 0: go on. FILE_WAIT_SIGNAL: the caller's group got `sig`. -EIO: orphaned, or it does not listen. */
int tty_check_background(struct tty *t, struct task *task, int sig);
/* Opening: the rule of O_NOCTTY. */
void tty_open_acquire(struct tty *t, struct process *p, const struct file *file);
/* No process of the session has it as controlling terminal any more. */
void tty_clear_session(int sid);
long tty_ioctl_job(struct call *c, struct file *f, uint32_t cmd, uint64_t arg);

/* ---- tty_file.c ---- */
struct tty_file *tty_file_new(struct tty *t, bool master);
int tty_file_open_slave(struct tty *t, struct task *task, struct file *file);

/* ---- tty_termios.c, tty_ioctl.c ---- */
long tty_ioctl_termios(struct call *c, struct file *f, uint32_t cmd, uint64_t arg);
long tty_ioctl(struct call *c, struct file *f, uint32_t cmd, uint64_t arg);

/* ---- devpts.c ---- */
int devpts_add(struct tty *t, uint32_t uid);
void devpts_remove(struct tty *t);
struct path devpts_path(struct tty *t); /* with references; dentry NULL when it cannot be made */
