/* The rest: kernel, processor, files, Landlock, control groups, a whole sandbox. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/util.h"
#include "cli/doctor_internal.h"
#include "launch/cgroup.h"

#define LANDLOCK_VERSION_QUERY 1u

void probe_kernel(struct probe_result *r)
{
	struct utsname u;
	unsigned int major = 0, minor = 0;
	uname(&u);
	(void)sscanf(u.release, "%u.%u", &major, &minor);
	bool old = major < 5 || (major == 5 && minor < 14);
	probe_found(r, old ? FINDING_MISSING : FINDING_OK, "%.100s", u.release);
}

void probe_cpu(struct probe_result *r)
{
#ifdef __x86_64__
	const char *level = "v1";
	__builtin_cpu_init();
	if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"))
		level = "v2";
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
	    __builtin_cpu_supports("fma"))
		level = "v3";
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512bw"))
		level = "v4";
	probe_found(r, FINDING_OK, "x86-64-%s, %ld CPUs", level, sysconf(_SC_NPROCESSORS_ONLN));
#else
	probe_found(r, FINDING_MISSING, "not x86-64");
#endif
}

void probe_openat2(struct probe_result *r)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	AUTO_CLOSE int top = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int inside = (int)syscall(SYS_openat2, top, "bin", &how, sizeof(how));
	int e = errno;
	int outside = (int)syscall(SYS_openat2, top, "..", &how, sizeof(how));
	if (inside >= 0 && outside < 0)
		probe_found(r, FINDING_OK, "works");
	else if (inside < 0)
		probe_found(r, FINDING_MISSING, "%s", strerror(e));
	else
		probe_found(r, FINDING_MISSING, "does not confine");
	if (inside >= 0)
		close(inside);
	if (outside >= 0)
		close(outside);
}

void probe_landlock(struct probe_result *r)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION_QUERY);
	if (version > 0)
		probe_found(r, FINDING_OK, "ABI %ld", version);
	else if (errno == EOPNOTSUPP)
		probe_found(r, FINDING_WEAKER, "in the kernel, but switched off at boot");
	else
		probe_found(r, FINDING_WEAKER, "not in this kernel");
}

/* Makes a real group with a real limit and removes it. */
static void probe_controller(struct probe_result *r, enum cgroup_controller c)
{
	static struct cgroup_host host;
	struct cgroup_limits limits = { .memory_bytes = MIB(64), .cpu_milli = 500, .pids = 64 };
	struct cgroup cg;
	struct error err;
	cgroup_probe(&host);
	const char *version = host.version == 0	  ? "no control groups"
			      : host.version == 1 ? "version 1"
			      : host.version == 2 ? "version 2"
						  : "versions 1 and 2";
	if (!(host.usable & CGROUP_BIT(c))) {
		probe_found(r, FINDING_WEAKER, "%s: %s", version, cgroup_missing_reason(&host, c));
		return;
	}
	if (cgroup_create(&cg, &host, CGROUP_BIT(c), &limits, &err) < 0) {
		probe_found(r, FINDING_WEAKER, "%.150s", err.message);
		return;
	}
	cgroup_remove(&cg);
	for (unsigned int i = 0; i < host.count; i++) {
		if (host.hierarchies[i].controllers & CGROUP_BIT(c))
			probe_found(r, FINDING_OK, "version %d, in %.150s",
				    host.hierarchies[i].version, host.hierarchies[i].parent);
	}
}

void probe_cgroup_memory(struct probe_result *r)
{
	probe_controller(r, CGROUP_MEMORY);
}

void probe_cgroup_cpu(struct probe_result *r)
{
	probe_controller(r, CGROUP_CPU);
}

void probe_cgroup_pids(struct probe_result *r)
{
	probe_controller(r, CGROUP_PIDS);
}

/* Only hard limits count: the launcher lifts the soft ones. */
void probe_resource_limits(struct probe_result *r)
{
	static const struct {
		int which;
		const char *name;
		rlim_t need;
	} needs[] = {
		{ RLIMIT_AS, "address space", (rlim_t)128 << 30 },
		{ RLIMIT_DATA, "data", (rlim_t)16 << 30 },
		{ RLIMIT_FSIZE, "file size", (rlim_t)16 << 30 },
		{ RLIMIT_NOFILE, "descriptors", 64 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		struct rlimit l;
		if (getrlimit(needs[i].which, &l) == 0 && l.rlim_max < needs[i].need) {
			probe_found(r, FINDING_MISSING, "%s: at most %llu", needs[i].name,
				    (unsigned long long)l.rlim_max);
			return;
		}
	}
	probe_found(r, FINDING_OK, "large enough");
}

/* Path of a program beside this one. */
static int beside(const char *name, char *ret, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", ret, size - 1);
	if (n < 0)
		return -errno;
	ret[n] = '\0';
	char *slash = strrchr(ret, '/');
	if (!slash || (size_t)(slash - ret) + strlen(name) + 2 > size)
		return -ENAMETOOLONG;
	snprintf(slash + 1, size - (size_t)(slash + 1 - ret), "%s", name);
	return access(ret, X_OK) < 0 ? -errno : 0;
}

void probe_programs(struct probe_result *r)
{
	static const char *const names[] = { "hotcell-kernel", "hotcell-stub" };
	char path[4096];
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		int e = beside(names[i], path, sizeof(path));
		if (e < 0) {
			probe_found(r, FINDING_MISSING, "%s: %s", names[i], strerror(-e));
			return;
		}
	}
	path[strlen(path) - strlen("hotcell-stub")] = '\0';
	probe_found(r, FINDING_OK, "in %.150s", path);
}

/* Runs ourselves with the smallest program; its message is the finding. */
static int run_true(char *text)
{
	char path[4096];
	int ends[2], status, e = beside("hotcell", path, sizeof(path));
	if (e < 0 || pipe(ends) < 0)
		return e < 0 ? e : -errno;
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		dup2(ends[1], STDERR_FILENO);
		execl(path, path, "run", "-q", "--no-tty", "--timeout", "4s", "--", "/bin/true",
		      NULL);
		_exit(STDERR_FILENO);
	}
	close(ends[1]);
	ssize_t n = read(ends[0], text, PROBE_TEXT - 1);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return status == 0 ? 0 : -EIO;
}

void probe_sandbox(struct probe_result *r)
{
	char text[PROBE_TEXT] = "";
	uint64_t start = clock_now_ns();
	int e = probe_in_child(run_true, false, text);
	double ms = (double)(clock_now_ns() - start) / (double)NSEC_PER_MSEC;
	if (e == 0)
		probe_found(r, FINDING_OK, "ran a program in %.1f ms", ms);
	else
		probe_found(r, FINDING_MISSING, "%s", text[0] ? text : strerror(-e));
}
