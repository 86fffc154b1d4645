/* Limits, names, scheduling and other facts about a process. */
/* also as root */
#include "check.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

TEST(prlimit_reads_and_sets_at_once)
{
	struct rlimit old, set = { 1 << 20, 2 << 20 }, now;
	CHECK_EQ(prlimit(0, RLIMIT_FSIZE, &set, &old), 0);
	CHECK_EQ(prlimit(getpid(), RLIMIT_FSIZE, NULL, &now), 0);
	CHECK_EQ(now.rlim_cur, 1 << 20);
	CHECK_EQ(now.rlim_max, 2 << 20);
	CHECK_ERRNO(prlimit(0x7fffff0, RLIMIT_FSIZE, NULL, &now), ESRCH);
	CHECK_ERRNO(syscall(SYS_prlimit64, 0, 16, NULL, &now), EINVAL);
	set.rlim_cur = 3 << 20;
	CHECK_ERRNO(prlimit(0, RLIMIT_FSIZE, &set, NULL), EINVAL);
}

TEST(limits_are_inherited)
{
	struct rlimit l;
	int status;
	CHECK_EQ(getrlimit(RLIMIT_STACK, &l), 0);
	l.rlim_cur = 4 << 20;
	CHECK_EQ(setrlimit(RLIMIT_STACK, &l), 0);
	pid_t pid = fork();
	if (pid == 0) {
		CHECK_EQ(getrlimit(RLIMIT_STACK, &l), 0);
		CHECK_EQ(l.rlim_cur, 4 << 20);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

static void fork_fails(int want)
{
	int status;
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	if (want) {
		CHECK(pid == -1 && errno == want);
		return;
	}
	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

TEST(processes_of_a_user_are_limited)
{
	struct rlimit old, l;
	CHECK_EQ(getrlimit(RLIMIT_NPROC, &old), 0);
	l = old;
	l.rlim_cur = 0;
	CHECK_EQ(setrlimit(RLIMIT_NPROC, &l), 0);
	if (getuid() == 0) {
		fork_fails(0); /* root is exempt */
		CHECK_EQ(setresuid(4321, 4321, 4321), 0);
	}
	fork_fails(EAGAIN);
	l.rlim_cur = l.rlim_max;
	CHECK_EQ(setrlimit(RLIMIT_NPROC, &l), 0);
	fork_fails(0);
}

TEST(address_space_is_limited)
{
	struct rlimit l;
	CHECK_EQ(getrlimit(RLIMIT_AS, &l), 0);
	l.rlim_cur = 512 << 20;
	CHECK_EQ(setrlimit(RLIMIT_AS, &l), 0);
	void *p = mmap(NULL, 1ul << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p == MAP_FAILED && errno == ENOMEM);
	p = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
}

TEST(cpu_time_is_limited)
{
	struct rlimit l = { 1, RLIM_INFINITY };
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		if (setrlimit(RLIMIT_CPU, &l))
			_exit(1);
		for (;;)
			;
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU);
}

TEST(raising_a_hard_limit_takes_privilege)
{
	struct rlimit l = { 10, 10 };
	if (geteuid() == 0 && setuid(1234))
		SKIP("cannot drop privileges");
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &l), 0);
	l.rlim_max = 20;
	CHECK_ERRNO(setrlimit(RLIMIT_NOFILE, &l), EPERM);
}

TEST(nice_values)
{
	errno = 0;
	int before = getpriority(PRIO_PROCESS, 0);
	CHECK_EQ(errno, 0);
	CHECK_EQ(setpriority(PRIO_PROCESS, 0, before + 3), 0);
	CHECK_EQ(getpriority(PRIO_PROCESS, 0), before + 3);
	CHECK_EQ(getpriority(PRIO_PROCESS, getpid()), before + 3);
	CHECK_ERRNO(getpriority(PRIO_PROCESS, 0x7fffff0), ESRCH);
	CHECK_ERRNO(getpriority(77, 0), EINVAL);
	pid_t pid = fork();
	int status;
	if (pid == 0)
		_exit(getpriority(PRIO_PROCESS, 0) == before + 3 ? 0 : 1);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

TEST(unprivileged_users_cannot_hurry)
{
	if (geteuid() == 0 && setuid(1234))
		SKIP("cannot drop privileges");
	struct rlimit l = { 0, 0 };
	setrlimit(RLIMIT_NICE, &l);
	CHECK_EQ(setpriority(PRIO_PROCESS, 0, 5), 0);
	CHECK_ERRNO(setpriority(PRIO_PROCESS, 0, 1), EACCES);
	struct sched_param p = { .sched_priority = 10 };
	CHECK_ERRNO(sched_setscheduler(0, SCHED_FIFO, &p), EPERM);
}

TEST(scheduling_policies)
{
	struct sched_param p = { 0 };
	CHECK_EQ(sched_getscheduler(0), SCHED_OTHER);
	CHECK_EQ(sched_setscheduler(0, SCHED_BATCH, &p), 0);
	CHECK_EQ(sched_getscheduler(0), SCHED_BATCH);
	CHECK_EQ(sched_setscheduler(0, SCHED_OTHER, &p), 0);
	CHECK_EQ(sched_setparam(0, &p), 0);
	p.sched_priority = 3;
	CHECK_ERRNO(sched_setparam(0, &p), EINVAL);
	CHECK_ERRNO(sched_setscheduler(0, 99, &p), EINVAL);
	CHECK_ERRNO(sched_setscheduler(0x7fffff0, SCHED_OTHER, &(struct sched_param){ 0 }), ESRCH);
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t a, b, c;
	} attr;
	CHECK_EQ(syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0), 0);
	CHECK_EQ(attr.size, 48);
	CHECK_EQ(attr.policy, SCHED_OTHER);
	attr.nice = 7;
	CHECK_EQ(syscall(SYS_sched_setattr, 0, &attr, 0), 0);
	CHECK_EQ(getpriority(PRIO_PROCESS, 0), 7);
}

TEST(affinity)
{
	cpu_set_t all, one;
	CHECK_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
	CHECK(CPU_COUNT(&all) >= 1);
	int first = 0;
	while (!CPU_ISSET(first, &all))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	CHECK_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
	CHECK_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
	CHECK_EQ(CPU_COUNT(&all), 1);
	CPU_ZERO(&one);
	CHECK_ERRNO(sched_setaffinity(0, sizeof(one), &one), EINVAL);
}

TEST(personality_is_kept)
{
	int before = personality(0xffffffff);
	CHECK(before >= 0);
	CHECK_EQ(personality((unsigned long)before | ADDR_NO_RANDOMIZE), before);
	CHECK_EQ(personality(0xffffffff), before | ADDR_NO_RANDOMIZE);
	CHECK_EQ(personality(PER_LINUX32), before | ADDR_NO_RANDOMIZE);
	struct utsname u;
	CHECK_EQ(uname(&u), 0);
	CHECK_STR(u.machine, "i686");
}

TEST(parent_death_signal)
{
	int sig = -1;
	CHECK_EQ(prctl(PR_SET_PDEATHSIG, SIGUSR1), 0);
	CHECK_EQ(prctl(PR_GET_PDEATHSIG, &sig), 0);
	CHECK_EQ(sig, SIGUSR1);
	CHECK_ERRNO(prctl(PR_SET_PDEATHSIG, 100), EINVAL);
	int p[2];
	char c;
	CHECK_EQ(pipe(p), 0);
	pid_t middle = fork();
	if (middle == 0) {
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			CHECK_EQ(write(p[1], "r", 1), 1);
			pause();
			_exit(0);
		}
		CHECK_EQ(read(p[0], &c, 1), 1);
		_exit(0);
	}
	close(p[1]);
	CHECK_EQ(waitpid(middle, NULL, 0), middle);
	CHECK_EQ(read(p[0], &c, 1), 0); /* the grandchild is dead: no writer is left */
}

TEST(orphans_go_to_the_subreaper)
{
	int on = 0, p[2], status;
	pid_t grandchild;
	CHECK_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	CHECK_EQ(prctl(PR_GET_CHILD_SUBREAPER, &on), 0);
	CHECK_EQ(on, 1);
	CHECK_EQ(pipe(p), 0);
	pid_t middle = fork();
	if (middle == 0) {
		grandchild = fork();
		if (grandchild == 0) {
			while (getppid() == middle)
				sched_yield();
			_exit(7);
		}
		CHECK_EQ(write(p[1], &grandchild, sizeof(grandchild)), sizeof(grandchild));
		_exit(0);
	}
	CHECK_EQ(read(p[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	CHECK_EQ(waitpid(middle, &status, 0), middle);
	CHECK_EQ(waitpid(grandchild, &status, 0), grandchild);
	CHECK_EQ(WEXITSTATUS(status), 7);
}

TEST(dumpable)
{
	CHECK_EQ(prctl(PR_GET_DUMPABLE), 1);
	CHECK_EQ(prctl(PR_SET_DUMPABLE, 0), 0);
	CHECK_EQ(prctl(PR_GET_DUMPABLE), 0);
	CHECK_ERRNO(prctl(PR_SET_DUMPABLE, 2), EINVAL);
	CHECK_EQ(prctl(PR_SET_DUMPABLE, 1), 0);
}

TEST(prctl_rest)
{
	CHECK_ERRNO(prctl(0x7fff), EINVAL);
	CHECK(prctl(PR_GET_TIMERSLACK) > 0);
	CHECK_EQ(prctl(PR_SET_TIMERSLACK, 70000), 0);
	CHECK_EQ(prctl(PR_GET_TIMERSLACK), 70000);
	CHECK_EQ(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0), 1);
}

TEST(mincore_knows_what_is_mapped)
{
	unsigned char vec[4];
	char *p = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
	memset(p, 1, 4 * 4096);
	CHECK_EQ(mincore(p, 4 * 4096, vec), 0);
	CHECK(vec[0] & 1);
	CHECK_EQ(munmap(p + 2 * 4096, 4096), 0);
	CHECK_ERRNO(mincore(p, 4 * 4096, vec), ENOMEM);
	CHECK_ERRNO(mincore(p + 1, 4096, vec), EINVAL);
}

TEST(host_name_takes_privilege)
{
	if (geteuid() == 0 && setuid(1234))
		SKIP("cannot drop privileges");
	CHECK_ERRNO(sethostname("other", 5), EPERM);
}

CHECK_MAIN()
