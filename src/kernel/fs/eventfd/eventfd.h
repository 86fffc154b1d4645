/* eventfd(2). The calls are declared in kernel/abi/syscalls.h. */
#pragma once

struct file_ops;
extern const struct file_ops eventfd_file_ops; /* FOPS_EVENTFD */
