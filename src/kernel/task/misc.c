/*
 * Small calls about the process itself that need no state of their own: personality, memory
 * policy, mincore, seccomp, get_robust_list.
 */
#include <errno.h>
#include <linux/mempolicy.h>
#include <string.h>

#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/call.h"
#include "kernel/core/user.h"
#include "kernel/mm/maps.h"
#include "kernel/task/task.h"

#define MINCORE_PAGES_MAX (1u << 22)
#define NODE_MASK_BYTES 128 /* numbers of NUMA nodes up to 1024 */

/*
 * personality(2). Kept, shown in /proc/PID/personality and obeyed by uname; not given to the host:
 * the layout of address spaces belongs to the program loader.
 */
long sys_personality(struct call *c)
{
	struct process *p = c->task->proc;
	uint32_t before = p->personality;

	if ((uint32_t)c->args[0] != UINT32_MAX)
		p->personality = (uint32_t)c->args[0];
	return before;
}

/* Another thread's list head is an address to attack it by: nobody needs it. */
long sys_get_robust_list(struct call *c)
{
	(void)c;
	return -EPERM;
}

/* As a kernel built without filters answers; programs then go without. */
long sys_seccomp(struct call *c)
{
	(void)c;
	return -EINVAL;
}

/* ---- NUMA: one node, every policy is the same ---- */
static bool policy_known(uint64_t mode)
{
	return (mode & ~(uint64_t)MPOL_MODE_FLAGS) < MPOL_MAX;
}

long sys_set_mempolicy(struct call *c)
{
	return policy_known((uint32_t)c->args[0]) ? 0 : -EINVAL;
}

long sys_mbind(struct call *c)
{
	if ((c->args[0] & (PAGE_SIZE - 1)) || !policy_known((uint32_t)c->args[2]))
		return -EINVAL;
	return 0;
}

long sys_get_mempolicy(struct call *c)
{
	uint8_t mask[NODE_MASK_BYTES] = { 0 };
	uint64_t bits = c->args[2], flags = c->args[4];

	if (flags & ~(uint64_t)(MPOL_F_NODE | MPOL_F_ADDR | MPOL_F_MEMS_ALLOWED))
		return -EINVAL;
	if (flags & MPOL_F_MEMS_ALLOWED)
		mask[0] = 1;
	if (c->args[0] && user_write_u32(c->task, CALL_ARG_PTR(c, 0), MPOL_DEFAULT))
		return -EFAULT;
	if (!c->args[1])
		return 0;
	if (bits == 0)
		return -EINVAL;
	size_t size = (size_t)MIN(ALIGN_UP(bits, 64ull) / 8, (uint64_t)sizeof(mask));
	return user_write(c->task, CALL_ARG_PTR(c, 1), mask, size);
}

/*
 * mincore(2). Pages that are mapped count as resident: the true answer leaks what other users of
 * the page cache do, which is why Linux itself lies to those without write access.
 */
static bool range_is_mapped(struct task *t, uint64_t start, uint64_t end)
{
	struct mm_map map;
	struct mm_maps_iter iter;
	bool mapped = false;

	if (mm_maps_begin(&iter, t->host_tid, "maps"))
		return false;
	while (!mapped && mm_maps_next(&iter, &map)) {
		if (map.end <= start)
			continue;
		if (map.start > start) /* a hole */
			break;
		start = map.end;
		mapped = start >= end;
	}
	mm_maps_end(&iter);
	return mapped;
}

long sys_mincore(struct call *c)
{
	uint64_t start = c->args[0], size = c->args[1], end;
	uint8_t ones[1024];

	if (start & (PAGE_SIZE - 1))
		return -EINVAL;
	if (__builtin_add_overflow(start, size, &end) || end > 1ull << 47)
		return -ENOMEM;
	uint64_t pages = ALIGN_UP(size, (uint64_t)PAGE_SIZE) / PAGE_SIZE;
	if (pages > MINCORE_PAGES_MAX)
		return -ENOMEM;
	if (pages && !range_is_mapped(c->task, start, start + pages * PAGE_SIZE))
		return -ENOMEM;
	memset(ones, 1, sizeof(ones));
	for (uint64_t done = 0; done < pages; ) {
		size_t n = (size_t)MIN(pages - done, (uint64_t)sizeof(ones));
		if (user_write(c->task, uaddr_add(CALL_ARG_PTR(c, 2), done), ones, n))
			return -EFAULT;
		done += n;
	}
	return 0;
}
