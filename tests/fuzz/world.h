/* An application kernel in this process, without a guest: file system, sockets and one task whose
 * memory is our own, so that handlers of system calls can be called with pointers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernel/core/call.h"
#include "kernel/fs/path.h"
#include "kernel/task/task.h"

/* Made by the first call: root of the sandbox, uid 0, current directory "/w". */
struct task *world_task(void);
/* Runs a handler once; its answer, whether given or returned. It must not wait. */
long world_call(long (*handler)(struct call *c), uint64_t a, uint64_t b, uint64_t c, uint64_t d,
		uint64_t e);
/* Gives a file this content: one of /etc/program, script, passwd, group. At most 64 KiB. */
void world_put(const char *name, const void *data, size_t size);
/* Everything that an input made has to be gone again: objects and bytes in use. */
uint64_t world_used(void);

#define WORLD_PTR(p) ((uint64_t)(uintptr_t)(p))
