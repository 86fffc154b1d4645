/*
 * Credentials of guest threads.
 *
 * A struct cred is shared by reference: threads of a process usually point to one object, fork
 * takes another reference, and a change makes a copy (task_set_cred() swaps it in). Nothing here
 * touches the host: outside, every guest process has the same unprivileged user.
 *
 * The root user of a sandbox gets the capability set that container engines give by default. It
 * is what programs expect of "root in a container"; none of it means anything to the host.
 *
 * Rules: credentials(7), capabilities(7) "Transformation of capabilities during execve()",
 * ptrace(2) "Ptrace access mode checking", kill(2).
 */
#include "kernel/task/cred.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <string.h>
#include <sys/stat.h>

#include "kernel/core/arena.h"
#include "kernel/task/task.h"

#define CAP(n) (1ull << (n))

static const uint64_t container_caps =
	CAP(CAP_CHOWN) | CAP(CAP_DAC_OVERRIDE) | CAP(CAP_FOWNER) | CAP(CAP_FSETID) | CAP(CAP_KILL) |
	CAP(CAP_SETGID) | CAP(CAP_SETUID) | CAP(CAP_SETPCAP) | CAP(CAP_NET_BIND_SERVICE) |
	CAP(CAP_NET_RAW) | CAP(CAP_SYS_CHROOT) | CAP(CAP_MKNOD) | CAP(CAP_AUDIT_WRITE) |
	CAP(CAP_SETFCAP);

struct cred *cred_new(uint32_t uid, uint32_t gid)
{
	struct cred *c = knew(struct cred);
	if (!c)
		return NULL;
	c->refs = 1;
	c->uid = c->euid = c->suid = c->fsuid = uid;
	c->gid = c->egid = c->sgid = c->fsgid = gid;
	c->cap_bounding = container_caps;
	if (uid == 0)
		c->cap_permitted = c->cap_effective = container_caps;
	return c;
}

struct cred *cred_copy(const struct cred *from)
{
	struct cred *c = knew(struct cred);
	if (!c)
		return NULL;
	*c = *from;
	c->refs = 1;
	return c;
}

struct cred *cred_get(struct cred *c)
{
	if (c->refs < UINT32_MAX)
		c->refs++;
	return c;
}

void cred_put(struct cred *c)
{
	if (!c || c->refs == UINT32_MAX)
		return;
	if (--c->refs == 0)
		kfree(c);
}

bool cred_capable(const struct cred *c, int cap)
{
	return cap >= 0 && cap <= CRED_CAP_LAST && (c->cap_effective & CAP(cap));
}

bool cred_in_group(const struct cred *c, uint32_t gid)
{
	if (c->fsgid == gid)
		return true;
	for (uint32_t i = 0; i < c->group_count; i++)
		if (c->groups[i] == gid)
			return true;
	return false;
}

void task_set_cred(struct task *t, struct cred *c)
{
	const struct cred *old = t->cred;

	if (old->euid != c->euid || old->egid != c->egid || old->fsuid != c->fsuid ||
	    old->fsgid != c->fsgid || (c->cap_permitted & ~old->cap_permitted)) {
		t->proc->dumpable = false;
		t->proc->pdeath_signal = 0;
	}
	cred_put(t->cred);
	t->cred = c;
}

/* The VFS_CAP_* attribute of a file, decoded. */
struct file_caps {
	bool present, effective;
	uint64_t permitted, inheritable;
};

static uint32_t le32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static struct file_caps parse_file_caps(const struct cred_exec *file)
{
	const uint8_t *p = file->file_caps;
	struct file_caps f = { 0 };

	if (!p || file->nosuid || file->file_caps_size < XATTR_CAPS_SZ_2)
		return f;
	uint32_t magic = le32(p);
	uint32_t revision = magic & VFS_CAP_REVISION_MASK;
	/* Revision 3 names the root user of a namespace: only ours (0) counts. */
	if (revision == VFS_CAP_REVISION_3) {
		if (file->file_caps_size < XATTR_CAPS_SZ_3 || le32(p + 20) != 0)
			return f;
	} else if (revision != VFS_CAP_REVISION_2) {
		return f;
	}
	f.present = true;
	f.effective = magic & VFS_CAP_FLAGS_EFFECTIVE;
	f.permitted = (le32(p + 4) | (uint64_t)le32(p + 12) << 32) & CRED_CAP_ALL;
	f.inheritable = (le32(p + 8) | (uint64_t)le32(p + 16) << 32) & CRED_CAP_ALL;
	return f;
}

static void apply_set_ids(struct cred *new, const struct cred_exec *file)
{
	if (file->nosuid || new->no_new_privs)
		return;
	if (file->mode & S_ISUID)
		new->euid = file->uid;
	if ((file->mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
		new->egid = file->gid;
}

/* Root without SECBIT_NOROOT: as if the file had all capabilities. */
static void apply_root(struct cred *new, const struct file_caps *f, bool *effective)
{
	if (new->securebits & SECBIT_NOROOT)
		return;
	/* A set-uid-root program with file capabilities run by somebody else gets just those. */
	if (f->present && new->euid == 0 && new->uid != 0)
		return;
	if (new->euid == 0 || new->uid == 0)
		new->cap_permitted = new->cap_bounding | new->cap_inheritable;
	if (new->euid == 0)
		*effective = true;
}

int cred_for_exec(const struct cred *from, const struct cred_exec *file, struct cred **ret,
		  bool *ret_secure)
{
	struct file_caps f = parse_file_caps(file);
	bool effective = f.effective;
	struct cred *new = cred_copy(from);

	if (!new)
		return -ENOMEM;
	apply_set_ids(new, file);
	bool set_id = new->euid != from->uid || new->egid != from->gid;
	new->cap_permitted = 0;
	if (f.present) {
		new->cap_permitted = (f.permitted & new->cap_bounding) |
				     (f.inheritable & new->cap_inheritable);
		if (f.effective && (f.permitted & ~new->cap_permitted)) {
			cred_put(new);
			return -EPERM;
		}
	}
	apply_root(new, &f, &effective);
	if (new->no_new_privs)
		new->cap_permitted &= from->cap_permitted;
	if (f.present || set_id)
		new->cap_ambient = 0;
	new->cap_permitted |= new->cap_ambient;
	new->cap_effective = effective ? new->cap_permitted : new->cap_ambient;
	new->suid = new->fsuid = new->euid;
	new->sgid = new->fsgid = new->egid;
	new->securebits &= ~(uint32_t)SECBIT_KEEP_CAPS;
	*ret_secure = set_id || (new->uid != 0 &&
				 (effective || (new->cap_permitted & ~new->cap_ambient)));
	*ret = new;
	return 0;
}

bool process_may_signal(const struct cred *c, struct process *p)
{
	struct task *leader = process_leader(p);

	if (!leader) /* a zombie: only existence matters */
		return true;
	const struct cred *target = leader->cred;
	return c->euid == target->suid || c->euid == target->uid || c->uid == target->suid ||
	       c->uid == target->uid || cred_capable(c, CAP_KILL);
}

bool process_may_inspect(const struct cred *c, struct process *p)
{
	struct task *leader = process_leader(p);

	if (!leader || leader->cred == c)
		return true;
	const struct cred *t = leader->cred;
	if (cred_capable(c, CAP_SYS_PTRACE))
		return true;
	bool same = c->fsuid == t->uid && c->fsuid == t->euid && c->fsuid == t->suid &&
		    c->fsgid == t->gid && c->fsgid == t->egid && c->fsgid == t->sgid;
	return same && p->dumpable && !(t->cap_permitted & ~c->cap_permitted);
}
