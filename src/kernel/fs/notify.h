/*
 * File system events for inotify(7). The VFS calls these after a successful operation; they cost
 * one test when nobody watches.
 */
#pragma once

#include <stdint.h>

struct inode;
struct dentry;
struct file;

/* An event on `d` itself and, with its name, on its parent directory. mask: IN_*; IN_ISDIR is added. */
void notify_dentry(struct dentry *d, uint32_t mask);
/* A directory entry event only (create, delete): `name` in `dir`. */
void notify_child(struct inode *dir, const char *name, uint32_t mask, uint32_t cookie);
/* An event on the inode only (IN_DELETE_SELF, IN_ATTRIB on link count change). */
void notify_inode(struct inode *inode, uint32_t mask);
/* Both halves of a rename with one cookie, and IN_MOVE_SELF. */
void notify_rename(struct inode *old_dir, const char *old_name, struct inode *new_dir,
		   const char *new_name, struct inode *moved);
/*
 * `d` has just been removed from its directory (dentry_remove()); the caller holds one reference on
 * it. Watches let go of it, and if nobody else has it, the file is gone: IN_DELETE_SELF.
 */
void notify_removed(struct dentry *d);
/* The inode's last reference goes: its watches end with IN_IGNORED. */
void notify_inode_gone(struct inode *inode);
static inline uint32_t notify_close_mask(uint32_t open_flags)
{
	return (open_flags & 3) ? 0x8u /* IN_CLOSE_WRITE */ : 0x10u /* IN_CLOSE_NOWRITE */;
}
