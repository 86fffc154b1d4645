/* pidfd_open(2) and relatives. The calls are declared in kernel/abi/syscalls.h. */
#pragma once

struct file_ops;
extern const struct file_ops pidfd_file_ops; /* FOPS_PIDFD */
