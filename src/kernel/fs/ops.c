/*
 * The operations tables. Objects in the arena carry small numbers instead of pointers to code, so
 * that an arena can be restored by another process; these tables are what the numbers mean.
 */
#include "kernel/fs/ops.h"

static const struct inode_ops none_inode_ops;
static const struct file_ops none_file_ops = { .name = "none" };

const struct inode_ops *const inode_ops_table[IOPS_MAX] = {
	[IOPS_NONE] = &none_inode_ops,	   [IOPS_TREE] = &tree_inode_ops,
	[IOPS_HOST] = &host_inode_ops,	   [IOPS_PROC] = &proc_inode_ops,
	[IOPS_SYS] = &sys_inode_ops,	   [IOPS_DEVPTS] = &devpts_inode_ops, [IOPS_PASSED] = &passed_inode_ops,
};

const struct file_ops *const file_ops_table[FOPS_MAX] = {
	[FOPS_NONE] = &none_file_ops,
	[FOPS_TREE] = &tree_file_ops,
	[FOPS_HOST] = &host_file_ops,
	[FOPS_DIR] = &dir_file_ops,
	[FOPS_PATH] = &path_file_ops,
	[FOPS_PASSED] = &passed_file_ops,
	[FOPS_PIPE] = &pipe_file_ops,
	[FOPS_EVENTFD] = &eventfd_file_ops,
	[FOPS_TIMERFD] = &timerfd_file_ops,
	[FOPS_SIGNALFD] = &signalfd_file_ops,
	[FOPS_EPOLL] = &epoll_file_ops,
	[FOPS_INOTIFY] = &inotify_file_ops,
	[FOPS_PIDFD] = &pidfd_file_ops,
	[FOPS_PROC] = &proc_file_ops,
	[FOPS_SYS] = &sys_file_ops,
	[FOPS_DEV_NULL] = &null_file_ops,
	[FOPS_DEV_ZERO] = &zero_file_ops,
	[FOPS_DEV_FULL] = &full_file_ops,
	[FOPS_DEV_RANDOM] = &random_file_ops,
	[FOPS_TTY] = &tty_file_ops,
	[FOPS_PTMX] = &ptmx_file_ops,
	[FOPS_UNIX] = &unix_file_ops,
	[FOPS_INET] = &inet_file_ops,
	[FOPS_NETLINK] = &netlink_file_ops,
};
