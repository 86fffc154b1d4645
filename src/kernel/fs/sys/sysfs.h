/* The file system of /sys, as much as programs read of it. It keeps no state of its own. */
#pragma once

/* Mounts it on /sys, and control groups (version 2) on /sys/fs/cgroup. 0 or -errno. */
int sysfs_mount(void);
