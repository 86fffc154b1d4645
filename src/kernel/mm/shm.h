/* System V shared memory: what the rest of the kernel tells it. */
#pragma once

struct process;
struct seq;

int shm_init(void);
/* A child has its parent's attachments. */
void shm_fork(struct process *child, const struct process *parent);
/* exec and exit end them. */
void shm_process_exit(struct process *p);
/* No process is left: the segments go, too. */
void shm_clear(void);
/* The lines of /proc/sysvipc/shm. */
void shm_show(struct seq *out);
