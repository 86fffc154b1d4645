/*
 * A number on each guest process that only the kernel process can write and that fork copies. It
 * tells, whatever became of parents meanwhile, which process an unknown one was cloned by.
 */
#pragma once

#include <stdint.h>

/* Finds a place for tags that the host lets us use. 0 or -errno. */
int host_tag_init(void);
int host_tag_set(int host_pid, uint32_t tag);
int host_tag_get(int host_pid, uint32_t *ret_tag);
