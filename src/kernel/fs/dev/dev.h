/* Character devices, and the file system at /dev. */
#pragma once

struct call;
struct file;
struct inode;

/*
 * Opens a device node of any file system by its number: sets file->ops and file->priv.
 * -ENXIO when there is no such device; block devices never are.
 */
int dev_open(struct call *c, struct inode *inode, struct file *file);

/* Mounts /dev with its nodes, and /dev/pts; makes the mount point /dev/shm. */
int devfs_mount(void);
