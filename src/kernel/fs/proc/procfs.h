/* The file system of /proc: proc(5). It keeps no state of its own. */
#pragma once

/* Mounts it on /proc. 0 or -errno. */
int procfs_mount(void);
