/*
 * Failing allocations on order. This kernel process's personality(2) takes, besides what Linux knows:
 *
 *   personality(FAULTS_ARM, n, count)   `count` allocations fail from the n-th on, 1 = the next
 *   personality(FAULTS_REPORT, &report) fills a struct faults_report
 *   personality(FAULTS_SHRINK)          gives back what is only cached or unreachable
 *   personality(FAULTS_SITES, sites)    who made the objects in use: FAULTS_SITES_MAX rows; how many
 *
 * The linker puts this function in the real one's place (--wrap); nothing of it is in the product.
 */
#include "../escape/faults.h"
#include "ledger.h"

#include "kernel/core/arena.h"
#include "kernel/core/call.h"
#include "kernel/core/limits.h"
#include "kernel/core/user.h"
#include "kernel/fs/vfs.h"
#include "kernel/net/unix/unix.h"

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

static long report_sites(struct call *c)
{
	static struct faults_site sites[FAULTS_SITES_MAX];
	uint32_t count = ledger_sites(sites, FAULTS_SITES_MAX);
	long r = user_write(c->task, CALL_ARG_PTR(c, 1), sites, count * sizeof(sites[0]));

	return r < 0 ? r : count;
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
		unix_gc_timer_fired(&unix_root()->gc_timer);
		return (long)dentry_shrink(UINT32_MAX / 4);
	case FAULTS_SITES:
		return report_sites(c);
	default:
		return __real_sys_personality(c);
	}
}
