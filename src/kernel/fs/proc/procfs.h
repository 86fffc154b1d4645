/* The file system of /proc: proc(5). */
#pragma once

/* Makes or, after a restore, finds its state. 0 or -ENOMEM. */
int procfs_init(void);
/* Mounts it on /proc. 0 or -errno. */
int procfs_mount(void);
