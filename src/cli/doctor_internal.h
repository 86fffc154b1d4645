/* Probes of `hotcell doctor`. Each really does what Hotcell would do, in a child where needed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum finding {
	FINDING_OK,	 /* there, will be used */
	FINDING_WEAKER,	 /* Hotcell works without, at a cost */
	FINDING_MISSING, /* Hotcell does not work without */
};

struct probe_result {
	enum finding finding;
	char found[200];
	const char *fix; /* when the probe knows better than the table */
};

__attribute__((format(printf, 3, 4))) void probe_found(struct probe_result *r, enum finding finding,
						       const char *format, ...);

/*
 * Runs fn in a child of ours, which gets five seconds. fn returns 0 or -errno, and may put a text
 * into `text`. -ETIMEDOUT and -ECHILD (crashed) come from here. With unprivileged = true and a
 * caller that is root, the child first becomes what a kernel process would be.
 */
#define PROBE_TEXT 160
int probe_in_child(int (*fn)(char *text), bool unprivileged, char *ret_text);

/* doctor_seccomp.c */
void probe_seccomp_notify(struct probe_result *r);
void probe_seccomp_wakeup(struct probe_result *r);
void probe_seccomp_addfd(struct probe_result *r);
/* doctor_process.c */
void probe_ptrace(struct probe_result *r);
void probe_process_vm(struct probe_result *r);
void probe_children_file(struct probe_result *r);
void probe_pidfd(struct probe_result *r);
/* doctor_namespace.c */
void probe_user_namespace(struct probe_result *r);
void probe_other_namespaces(struct probe_result *r);
void probe_proc_mount(struct probe_result *r);
void probe_idmap(struct probe_result *r);
/* doctor_host.c */
void probe_kernel(struct probe_result *r);
void probe_cpu(struct probe_result *r);
void probe_openat2(struct probe_result *r);
void probe_landlock(struct probe_result *r);
void probe_cgroup_memory(struct probe_result *r);
void probe_cgroup_cpu(struct probe_result *r);
void probe_cgroup_pids(struct probe_result *r);
void probe_resource_limits(struct probe_result *r);
void probe_programs(struct probe_result *r);
void probe_sandbox(struct probe_result *r);
