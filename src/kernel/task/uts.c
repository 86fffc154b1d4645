/*
 * The sandbox as a machine.
 *
 * Names: the release is the host's version number with our suffix, so that programs which choose
 * by kernel version choose right, while nothing else about the host is told. The CPU count is that of
 * the sandbox's limits: what runtimes size their pools by. Memory and load are in usage.c.
 */
#include "kernel/abi/structs.h"
#include "kernel/task/uts.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/call.h"
#include "kernel/core/clock.h"
#include "kernel/core/limits.h"
#include "kernel/core/user.h"
#include "kernel/host/sched.h"
#include "kernel/task/cred.h"
#include "kernel/task/task.h"
#include "kernel/task/usage.h"

static struct uts *state;
static uint32_t host_cpus;

struct uts *uts(void)
{
	if (!state)
		uts_init(NULL);
	return state;
}

static void make_release(char *dst)
{
	char release[UTS_LENGTH] = "6.1.0", machine[UTS_LENGTH];
	size_t digits;

	host_uname(release, machine);
	digits = strspn(release, "0123456789.");
	while (digits > 0 && release[digits - 1] == '.')
		digits--;
	snprintf(dst, UTS_LENGTH, "%.*s-hotcell", (int)MIN(digits, (size_t)40), release);
}

static uint32_t count_host_cpus(void)
{
	uint64_t mask[128] = { 0 };
	uint32_t count = 0;
	int n = host_get_affinity(0, mask, sizeof(mask));

	for (int i = 0; i < n / 8; i++)
		count += (uint32_t)__builtin_popcountll(mask[i]);
	return count ? count : 1;
}

int uts_init(const char *nodename)
{
	state = arena_root(ROOT_UTS, sizeof(*state));
	if (!state)
		return -ENOMEM;
	host_cpus = count_host_cpus();
	if (state->release[0])
		return 0;
	if (!nodename || !*nodename)
		nodename = "hotcell";
	snprintf(state->nodename, UTS_LENGTH, "%s", nodename);
	snprintf(state->domainname, UTS_LENGTH, "(none)");
	snprintf(state->version, UTS_LENGTH, "#1 SMP PREEMPT_DYNAMIC Hotcell");
	make_release(state->release);
	return 0;
}

uint32_t cpu_count(void)
{
	uint64_t milli = limit_value(LIMIT_CPU_MILLI);

	if (!host_cpus)
		host_cpus = count_host_cpus();
	uint64_t cpus = milli == LIMIT_NONE ? host_cpus : milli / 1000 + (milli % 1000 != 0);

	return (uint32_t)MAX(MIN(cpus, (uint64_t)host_cpus), 1ull);
}

/* ---- system calls ---- */
long sys_uname(struct call *c)
{
	struct utsname name = { 0 };

	memcpy(name.sysname, "Linux", sizeof("Linux"));
	memcpy(name.nodename, uts()->nodename, UTS_LENGTH);
	memcpy(name.release, state->release, UTS_LENGTH);
	memcpy(name.version, state->version, UTS_LENGTH);
	memcpy(name.domainname, state->domainname, UTS_LENGTH);
	/* PER_LINUX32, as setarch(8) sets it. */
	if ((c->task->proc->personality & 0xff) == 8)
		memcpy(name.machine, "i686", sizeof("i686"));
	else
		memcpy(name.machine, "x86_64", sizeof("x86_64"));
	return user_write(c->task, CALL_ARG_PTR(c, 0), &name, sizeof(name));
}

static long set_name(struct call *c, char *dst)
{
	char name[UTS_LENGTH] = { 0 };
	int length = (int)c->args[1];

	if (!cred_capable(c->task->cred, CAP_SYS_ADMIN))
		return -EPERM;
	if (length < 0 || length >= UTS_LENGTH)
		return -EINVAL;
	if (user_read(c->task, name, CALL_ARG_PTR(c, 0), (size_t)length))
		return -EFAULT;
	memcpy(dst, name, UTS_LENGTH);
	return 0;
}

long sys_sethostname(struct call *c)
{
	return set_name(c, uts()->nodename);
}

long sys_setdomainname(struct call *c)
{
	return set_name(c, uts()->domainname);
}

long sys_sysinfo(struct call *c)
{
	struct abi_sysinfo info = { 0 };
	struct memory_info memory;

	memory_info(&memory);
	load_sample();
	info.uptime = (int64_t)(clock_boot() / NSEC_PER_SEC);
	for (int i = 0; i < 3; i++)
		info.loads[i] = state->load[i] << (16 - 11);
	info.totalram = memory.total;
	info.freeram = memory.free;
	info.sharedram = memory.shared;
	info.procs = (unsigned short)MIN(thread_count(), 65535u);
	info.mem_unit = 1;
	return user_write(c->task, CALL_ARG_PTR(c, 0), &info, sizeof(info));
}
