/*
 * File locks: POSIX record locks and open-file-description locks of fcntl(2), and flock(2).
 * Advisory, per inode. See locks.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct call;
struct fdtable;
struct file;
struct inode;

/* fcntl F_GETLK F_SETLK F_SETLKW and their OFD forms; `arg` is a guest struct flock. */
long locks_fcntl(struct call *c, struct file *f, unsigned cmd, uint64_t arg);

/* A descriptor of `f` is closed in `owner`: its record locks on the inode go. */
void locks_close(struct file *f, struct fdtable *owner);
/* The open file goes: its flock and OFD locks go. */
void locks_release_file(struct file *f);
/* The inode goes. */
void locks_inode_gone(struct inode *inode);

/* Visits every lock, for /proc/locks. `kind`: "POSIX", "OFDLCK" or "FLOCK". */
typedef void (*locks_visit_fn)(void *ctx, const char *kind, bool write, int pid, const struct inode *inode,
			       uint64_t start, uint64_t end);
void locks_visit(void *ctx, locks_visit_fn fn);
