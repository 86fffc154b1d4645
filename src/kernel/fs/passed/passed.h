/* Descriptors that the caller of the sandbox passed. See passed.c. */
#pragma once

#include <stdint.h>

struct file;
struct host_ref;

/*
 * An open file for a passed host descriptor (host_ref_passed()); takes over *ref. `flags`: extra
 * O_* status flags; the access mode is the descriptor's own. NULL: -ENOMEM, -ENFILE, a directory,
 * or a descriptor that does not work; *ref is dropped then.
 */
struct file *file_new_passed(struct host_ref *ref, uint32_t flags, uint32_t uid, uint32_t gid);
