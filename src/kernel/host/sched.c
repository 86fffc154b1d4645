/*
 * Thin wrappers of scheduling and limit calls on guest threads. The guests have no privilege
 * outside, so the worst these can do is to make a guest slower than it was.
 *
 * host-syscalls: prlimit64 getpriority setpriority sched_getscheduler sched_setscheduler
 * host-syscalls: sched_getaffinity sched_setaffinity uname
 */
#include "kernel/host/sched.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/util.h"

int host_set_soft_limit(int host_pid, int resource, uint64_t soft)
{
	struct rlimit limit;

	if (syscall(SYS_prlimit64, host_pid, resource, NULL, &limit) < 0)
		return -errno;
	limit.rlim_cur = MIN((rlim_t)soft, limit.rlim_max);
	return syscall(SYS_prlimit64, host_pid, resource, &limit, NULL) < 0 ? -errno : 0;
}

int host_set_limit(int host_pid, int resource, const struct rlimit *limit)
{
	return syscall(SYS_prlimit64, host_pid, resource, limit, NULL) < 0 ? -errno : 0;
}

int host_get_nice(int host_tid, int *ret_nice)
{
	/* The system call itself answers 20 - nice, so that errors are recognisable. */
	long value = syscall(SYS_getpriority, PRIO_PROCESS, host_tid);
	if (value < 0)
		return -errno;
	*ret_nice = (int)(20 - value);
	return 0;
}

int host_set_nice(int host_tid, int nice)
{
	return syscall(SYS_setpriority, PRIO_PROCESS, host_tid, nice) < 0 ? -errno : 0;
}

int host_get_policy(int host_tid, int *ret_policy)
{
	long policy = syscall(SYS_sched_getscheduler, host_tid);
	if (policy < 0)
		return -errno;
	*ret_policy = (int)policy;
	return 0;
}

int host_set_policy(int host_tid, int policy)
{
	struct sched_param param = { 0 };
	return syscall(SYS_sched_setscheduler, host_tid, policy, &param) < 0 ? -errno : 0;
}

int host_get_affinity(int host_tid, void *mask, size_t size)
{
	long n = syscall(SYS_sched_getaffinity, host_tid, size, mask);
	return n < 0 ? -errno : (int)n;
}

int host_set_affinity(int host_tid, const void *mask, size_t size)
{
	return syscall(SYS_sched_setaffinity, host_tid, size, mask) < 0 ? -errno : 0;
}

int host_uname(char *ret_release, char *ret_machine)
{
	struct utsname name;

	if (uname(&name) < 0)
		return -errno;
	memcpy(ret_release, name.release, sizeof(name.release));
	memcpy(ret_machine, name.machine, sizeof(name.machine));
	return 0;
}
