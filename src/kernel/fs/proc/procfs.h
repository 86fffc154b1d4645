/* The file system of /proc: proc(5). It keeps no state of its own. */
#pragma once

#include <stdbool.h>

struct inode;
struct process;

/* Mounts it on /proc. 0 or -errno. */
int procfs_mount(void);

/* Is this the directory /proc/PID, and of which process? NULL also when that is gone. */
bool procfs_is_process(const struct inode *inode);
struct process *procfs_process(const struct inode *inode);
