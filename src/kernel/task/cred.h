/*
 * Credentials: virtual. Outside, every guest process runs as one unprivileged user; users, groups
 * and capabilities exist only here (credentials(7), capabilities(7)). A struct cred is immutable
 * once shared: change = copy, edit, swap.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CRED_GROUPS_MAX 64
#define CRED_CAP_LAST 40 /* CAP_CHECKPOINT_RESTORE */
#define CRED_CAP_ALL ((1ull << (CRED_CAP_LAST + 1)) - 1)

struct task;

struct cred {
	uint32_t refs;
	uint32_t uid, euid, suid, fsuid;
	uint32_t gid, egid, sgid, fsgid;
	uint32_t group_count;
	uint32_t groups[CRED_GROUPS_MAX];
	uint64_t cap_permitted, cap_effective, cap_inheritable, cap_bounding, cap_ambient;
	uint32_t securebits;
	bool no_new_privs;
};

struct cred *cred_new(uint32_t uid, uint32_t gid); /* uid 0: the container's capability set */
struct cred *cred_copy(const struct cred *from);
struct cred *cred_get(struct cred *c);
void cred_put(struct cred *c);

/* `cap` is a CAP_* number of linux/capability.h. */
bool cred_capable(const struct cred *c, int cap);
bool cred_in_group(const struct cred *c, uint32_t gid); /* fsgid or supplementary */

/*
 * Gives `c` (one reference, taken over) to the thread. When effective ids change or capabilities
 * grow the process stops being dumpable and loses its parent-death signal, as on Linux.
 */
void task_set_cred(struct task *t, struct cred *c);

/* A file about to be executed, as far as credentials depend on it. */
struct cred_exec {
	uint32_t mode, uid, gid;
	bool nosuid;		/* its mount has MS_NOSUID */
	const void *file_caps;	/* value of the security.capability attribute, or NULL */
	size_t file_caps_size;
};

/*
 * Credentials after execve(2) of that file (set-uid, set-gid, file capabilities, ambient set,
 * no_new_privs). *ret has one reference and is ready for task_set_cred(); *ret_secure is AT_SECURE.
 * -ENOMEM; -EPERM when file capabilities cannot be given but the file insists (effective bit).
 */
int cred_for_exec(const struct cred *from, const struct cred_exec *file, struct cred **ret,
		  bool *ret_secure);
