/*
 * Tags live in a soft resource limit that Linux keeps and copies but no longer looks at. Guests
 * have no native call that reads or writes limits: what they see is virtual (task/rlimit.c).
 *
 * host-syscalls: prlimit64
 */
#include "kernel/host/tag.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"

static int place = RLIMIT_LOCKS;

int host_tag_init(void)
{
	static const int unused[] = { RLIMIT_LOCKS, RLIMIT_RSS, RLIMIT_RTTIME };
	struct rlimit limit;

	for (size_t i = 0; i < ARRAY_SIZE(unused); i++) {
		if (getrlimit(unused[i], &limit) < 0 || limit.rlim_max < UINT32_MAX)
			continue;
		place = unused[i];
		return 0;
	}
	return -EPERM;
}

int host_tag_set(int host_pid, uint32_t tag)
{
	struct rlimit limit;

	if (syscall(SYS_prlimit64, host_pid, place, NULL, &limit) < 0)
		return -errno;
	limit.rlim_cur = tag;
	return syscall(SYS_prlimit64, host_pid, place, &limit, NULL) < 0 ? -errno : 0;
}

int host_tag_get(int host_pid, uint32_t *ret_tag)
{
	struct rlimit limit;

	if (syscall(SYS_prlimit64, host_pid, place, NULL, &limit) < 0)
		return -errno;
	if (limit.rlim_cur > UINT32_MAX)
		return -ENOENT;
	*ret_tag = (uint32_t)limit.rlim_cur;
	return 0;
}
