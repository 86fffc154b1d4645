/*
 * Pieces of read and write that the copying calls (sendfile, splice) and others share.
 */
#pragma once

#include "kernel/fs/file.h"

/*
 * Before writing `size` bytes to a regular file at `pos`: RLIMIT_FSIZE. The count that may be
 * written, or -EFBIG (SIGXFSZ is then due: return call_signal(c, SIGXFSZ, -EFBIG)).
 */
int64_t write_limit(struct task *t, const struct file *f, uint64_t pos, uint64_t size);

/* After a successful read or write: inotify, access time, setuid bits. */
void file_accessed(struct file *f);
void file_modified(struct task *t, struct file *f);
