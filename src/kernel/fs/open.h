/*
 * Opening, for open(2) and for the kernel's own users (exec, control).
 */
#pragma once

#include "kernel/fs/file.h"

/*
 * Opens what `path` names with O_* `flags` (no O_CREAT): permission, type, ETXTBSY. `call` may be
 * NULL when the object cannot block or be a FIFO. *ret gets one reference. Also -ENFILE;
 * CALL_BLOCK for a FIFO without its other end.
 */
int file_open_path(struct call *c, struct task *t, struct path path, uint32_t flags,
		   struct file **ret);
