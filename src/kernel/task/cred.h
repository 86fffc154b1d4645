/*
 * Credentials: virtual. Outside, every guest process runs as one unprivileged user; users, groups
 * and capabilities exist only here (credentials(7), capabilities(7)). A struct cred is immutable
 * once shared: change = copy, edit, swap.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CRED_GROUPS_MAX 64

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
