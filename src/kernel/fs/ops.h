/*
 * Every operations table by name. The numbers in inodes and files (enum inode_ops_id, enum
 * file_ops_id) index the tables in ops.c.
 */
#pragma once

#include "kernel/fs/file.h"
#include "kernel/fs/vfs.h"


extern const struct inode_ops tree_inode_ops;
extern const struct inode_ops host_inode_ops;
extern const struct inode_ops proc_inode_ops;
extern const struct inode_ops sys_inode_ops;
extern const struct inode_ops devpts_inode_ops;
extern const struct inode_ops passed_inode_ops;

extern const struct file_ops tree_file_ops;
extern const struct file_ops host_file_ops;
extern const struct file_ops dir_file_ops;
extern const struct file_ops path_file_ops;
extern const struct file_ops passed_file_ops;
extern const struct file_ops pipe_file_ops;
extern const struct file_ops eventfd_file_ops;
extern const struct file_ops timerfd_file_ops;
extern const struct file_ops signalfd_file_ops;
extern const struct file_ops epoll_file_ops;
extern const struct file_ops inotify_file_ops;
extern const struct file_ops pidfd_file_ops;
extern const struct file_ops proc_file_ops;
extern const struct file_ops sys_file_ops;
extern const struct file_ops null_file_ops;
extern const struct file_ops zero_file_ops;
extern const struct file_ops full_file_ops;
extern const struct file_ops random_file_ops;
extern const struct file_ops tty_file_ops;
extern const struct file_ops ptmx_file_ops;
extern const struct file_ops unix_file_ops;
extern const struct file_ops inet_file_ops;
extern const struct file_ops netlink_file_ops;
