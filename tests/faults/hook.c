/*
 * Failing allocations on order. This kernel process's personality(2) takes, besides what Linux knows:
 *
 *   personality(FAULTS_ARM, n, count)   `count` allocations fail from the n-th on, 1 = the next
 *   personality(FAULTS_REPORT, &report) fills a struct faults_report
 *   personality(FAULTS_SHRINK)          gives back what is only cached
 *
 * The linker puts this function in the real one's place (--wrap); nothing of it is in the product.
 */
#include "../escape/faults.h"

#include "kernel/core/arena.h"
#include "kernel/core/call.h"
#include "kernel/core/limits.h"
#include "kernel/core/user.h"
#include "kernel/fs/vfs.h"

long __real_sys_personality(struct call *c);
long __wrap_sys_personality(struct call *c);

static long report(struct call *c)
{
	struct faults_report r = { .objects = arena_objects(),
				   .allocations = arena_allocations(),
				   .files = limit_used(LIMIT_FILES),
				   .buffers = limit_used(LIMIT_BUFFER_BYTES),
				   .disk_bytes = limit_used(LIMIT_DISK_BYTES),
				   .inodes = limit_used(LIMIT_DISK_INODES),
				   .pids = limit_used(LIMIT_PIDS) };

	return user_write(c->task, CALL_ARG_PTR(c, 1), &r, sizeof(r));
}

long __wrap_sys_personality(struct call *c)
{
	switch ((uint32_t)c->args[0]) {
	case FAULTS_ARM:
		arena_fail(c->args[1], c->args[2]);
		return 0;
	case FAULTS_REPORT:
		return report(c);
	case FAULTS_SHRINK:
		return (long)dentry_shrink(UINT32_MAX / 4);
	default:
		return __real_sys_personality(c);
	}
}
