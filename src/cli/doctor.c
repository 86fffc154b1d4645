/*
 * `hotcell doctor`: what this host offers and what Hotcell makes of it.
 *
 * One table: a row per facility with what it is for, what is lost without it and how to get it.
 * Nothing is concluded from version numbers or files alone: each probe tries the thing, in a child
 * process with the rights that a kernel process would have.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/options.h"
#include "base/util.h"
#include "cli/doctor_internal.h"
#include "cli/json.h"
#include "cli/verbs.h"
#include "cli/version.h"
#include "launch/identity.h"

static const struct check {
	const char *id;
	const char *what;
	void (*probe)(struct probe_result *r);
	const char *used_for;
	const char *cost;
	const char *fix;
} checks[] = {
	{ "kernel", "Linux kernel", probe_kernel, "everything below", "Hotcell does not work",
	  "use Linux 5.14 or newer; 6.6 or newer is faster" },
	{ "cpu", "processor", probe_cpu, "the system call table and the program loader",
	  "Hotcell does not work", "use an x86-64 machine" },
	{ "user_namespace", "user namespace", probe_user_namespace,
	  "starting without privileges; the jail of the kernel process",
	  "Hotcell does not work for this user",
	  "sysctl user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1" },
	{ "namespaces", "other namespaces", probe_other_namespaces,
	  "mount, pid, network, ipc, uts and cgroup namespace of the jail",
	  "a broken kernel process would see more of the host",
	  "allow them in the container or security profile that surrounds Hotcell" },
	{ "proc_mount", "own /proc", probe_proc_mount,
	  "the kernel process sees its sandbox's processes and no others", "Hotcell does not work",
	  "the surrounding container must not mask /proc (Docker: "
	  "--security-opt systempaths=unconfined)" },
	{ "seccomp_notify", "seccomp user notification", probe_seccomp_notify,
	  "system calls of the sandbox reach the application kernel", "Hotcell does not work",
	  "use Linux 5.14 or newer, and no surrounding seccomp supervisor" },
	{ "seccomp_addfd", "seccomp descriptor passing", probe_seccomp_addfd,
	  "mapping files and loading programs", "Hotcell does not work",
	  "use Linux 5.14 or newer" },
	{ "seccomp_wakeup", "seccomp synchronous wake-up", probe_seccomp_wakeup,
	  "system calls switch directly between program and kernel process",
	  "served system calls take about three times as long", "use Linux 6.6 or newer" },
	{ "ptrace", "stopping a child (ptrace)", probe_ptrace, "execve without a race",
	  "Hotcell does not work", "sysctl kernel.yama.ptrace_scope=1 (or 0)" },
	{ "process_vm", "process_vm_readv", probe_process_vm,
	  "arguments of system calls are read from the program's memory", "Hotcell does not work",
	  "sysctl kernel.yama.ptrace_scope=1 (or 0)" },
	{ "children", "/proc/PID/task/TID/children", probe_children_file,
	  "a new process is told apart from its siblings", "Hotcell does not work",
	  "a kernel with CONFIG_PROC_CHILDREN (all distributions have it)" },
	{ "pidfd", "pidfd", probe_pidfd, "ends of processes are noticed", "Hotcell does not work",
	  "use Linux 5.14 or newer" },
	{ "openat2", "openat2", probe_openat2, "no path leads out of a template or a mount",
	  "Hotcell does not work", "use Linux 5.14 or newer" },
	{ "idmap", "idmapped mounts", probe_idmap,
	  "when root starts a sandbox: its directories, without root's rights",
	  "root's private files in mounted directories are not readable inside",
	  "use Linux 5.12 or newer and a file system that supports them (ext4, xfs, btrfs)" },
	{ "cgroup_memory", "memory control group", probe_cgroup_memory,
	  "--memory as a hard limit; exact peak memory",
	  "the application kernel measures memory itself and notices too much a little late",
	  "as root nothing is needed; as a user: systemd-run --user --scope -p Delegate=yes hotcell ..." },
	{ "cgroup_cpu", "cpu control group", probe_cgroup_cpu, "--cpus as a quota",
	  "--cpus pins the sandbox to processors; fractions are rounded up",
	  "delegate the cpu controller (systemd: Delegate=cpu memory pids)" },
	{ "cgroup_pids", "pids control group", probe_cgroup_pids, "a second wall behind --pids",
	  "the application kernel counts alone",
	  "delegate the pids controller (systemd: Delegate=cpu memory pids)" },
	{ "landlock", "Landlock", probe_landlock,
	  "nothing yet: mount trees and the system call filter confine the kernel process",
	  "nothing today", "boot with lsm=landlock,..." },
	{ "resource_limits", "resource limits", probe_resource_limits,
	  "address space and descriptors of the kernel process", "Hotcell does not work",
	  "ulimit -H -v unlimited, -H -n 64 or more, -H -f unlimited (limits.conf, systemd unit)" },
	{ "programs", "hotcell's own programs", probe_programs, "starting sandboxes",
	  "Hotcell does not work",
	  "build or install hotcell-kernel and hotcell-stub beside hotcell" },
	{ "sandbox", "a sandbox", probe_sandbox, "everything together: runs /bin/true inside",
	  "Hotcell does not work", "see the lines above" },
};

void probe_found(struct probe_result *r, enum finding finding, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vsnprintf(r->found, sizeof(r->found), format, ap);
	va_end(ap);
	r->finding = finding;
}

struct child_answer {
	int result;
	char text[PROBE_TEXT];
};

/* As the kernel process of a sandbox would be: without privileges, but inspectable by itself. */
static void become_unprivileged(void)
{
	uint32_t uid, gid;
	identity_choose(&uid, &gid);
	if (geteuid() == 0 && setresgid(gid, gid, gid) == 0 && setresuid(uid, uid, uid) == 0)
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

int probe_in_child(int (*fn)(char *text), bool unprivileged, char *ret_text)
{
	struct child_answer answer = { .result = -ECHILD };
	int ends[2];
	if (pipe(ends) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return -EAGAIN;
	}
	if (pid == 0) {
		close(ends[0]);
		alarm(5);
		if (unprivileged)
			become_unprivileged();
		answer.result = fn(answer.text);
		ssize_t n = write(ends[1], &answer, sizeof(answer));
		_exit(n != (ssize_t)sizeof(answer));
	}
	close(ends[1]);
	ssize_t n = read(ends[0], &answer, sizeof(answer));
	close(ends[0]);
	int status = 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (n != (ssize_t)sizeof(answer))
		return WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? -ETIMEDOUT : -ECHILD;
	if (ret_text) {
		memcpy(ret_text, answer.text, PROBE_TEXT);
		ret_text[PROBE_TEXT - 1] = '\0';
	}
	return answer.result;
}

static const char *finding_name(enum finding f)
{
	return f == FINDING_OK ? "ok" : f == FINDING_WEAKER ? "weaker" : "missing";
}

static void print_row(const struct check *c, const struct probe_result *r, bool color)
{
	static const char *const colors[] = { "\033[32m", "\033[33m", "\033[31m" };
	printf("%s%-8s%s%-29s %-34s %s\n", color ? colors[r->finding] : "",
	       finding_name(r->finding), color ? "\033[0m" : "", c->what, r->found, c->used_for);
	if (r->finding == FINDING_OK)
		return;
	printf("%8s  cost: %s\n%8s  fix:  %s\n", "", c->cost, "", r->fix ? r->fix : c->fix);
}

static void write_json(const struct probe_result *results, bool usable)
{
	struct json j;
	fflush(stdout);
	json_init(&j, STDOUT_FILENO);
	json_object_begin(&j, NULL);
	json_string(&j, "hotcell", HOTCELL_VERSION);
	json_bool(&j, "usable", usable);
	json_array_begin(&j, "checks");
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		const struct check *c = &checks[i];
		const struct probe_result *r = &results[i];
		json_object_begin(&j, NULL);
		json_string(&j, "id", c->id);
		json_string(&j, "what", c->what);
		json_string(&j, "state", finding_name(r->finding));
		json_string(&j, "found", r->found);
		json_string(&j, "used_for", c->used_for);
		json_string(&j, "cost_if_missing", c->cost);
		json_string(&j, "fix", r->fix ? r->fix : c->fix);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	(void)json_finish(&j);
}

struct doctor_options {
	int json, help;
};

/* clang-format off */
static const struct option_spec specs[] = {
	{ .name = "json", .kind = OPTION_FLAG, .offset = offsetof(struct doctor_options, json),
	  .value = 1, .help = "machine-readable output" },
	{ .name = "help", .letter = 'h', .kind = OPTION_FLAG,
	  .offset = offsetof(struct doctor_options, help), .value = 1, .help = "this text" },
};
/* clang-format on */

static void print_summary(bool usable, unsigned int weaker)
{
	if (!usable)
		printf("\nHotcell cannot run sandboxes here; see what is missing above.\n");
	else if (weaker)
		printf("\nHotcell works here; %u thing%s could be better.\n", weaker,
		       weaker == 1 ? "" : "s");
	else
		printf("\nHotcell works here, with everything it can use.\n");
}

static void run_checks(struct probe_result *results, bool *ret_usable, unsigned int *ret_weaker)
{
	*ret_usable = true;
	*ret_weaker = 0;
	fflush(stdout); /* children must not print what we have buffered */
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		checks[i].probe(&results[i]);
		*ret_usable &= results[i].finding != FINDING_MISSING;
		*ret_weaker += results[i].finding == FINDING_WEAKER;
	}
}

int verb_doctor(const struct verb_context *ctx, int argc, char **argv)
{
	static struct probe_result results[ARRAY_SIZE(checks)];
	struct doctor_options options = { 0 };
	struct error err;
	int r = options_parse(specs, ARRAY_SIZE(specs), &options, argc, argv, &err);
	if (r >= 0 && r < argc)
		r = error_set(&err, 0, "doctor takes no arguments");
	if (r < 0) {
		fprintf(stderr, "hotcell: %s\n", err.message);
		return 2;
	}
	if (options.help) {
		printf("Usage: hotcell doctor [--json]\n\nTries everything that Hotcell needs of this "
		       "host. Exit status: 0 usable, 1 not.\n\n");
		options_help(specs, ARRAY_SIZE(specs));
		return 0;
	}
	bool usable;
	unsigned int weaker;
	run_checks(results, &usable, &weaker);
	if (options.json) {
		write_json(results, usable);
		return usable ? 0 : 1;
	}
	printf("%-8s%-29s %-34s %s\n", "STATE", "WHAT", "FOUND", "USED FOR");
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		print_row(&checks[i], &results[i], isatty(STDOUT_FILENO));
	print_summary(usable, weaker);
	return usable ? 0 : 1;
}
