/* memfd_create(2) and seals. */
#pragma once

#include <stdint.h>

struct file;
struct mount;

/* F_ADD_SEALS, F_GET_SEALS for any file: -EINVAL where Linux says so. */
long memfd_fcntl(struct file *f, unsigned cmd, uint64_t arg);
