/* Users as the sandbox's /etc/passwd and /etc/group name them. */
#pragma once

#include <stdint.h>

struct task;
struct cred;

struct user {
	uint32_t uid, gid;
	char name[64];
	char home[256];
};

/*
 * "name", "uid", "uid:gid" or "" (the given default). Numbers need not exist in passwd. -ENOENT for
 * an unknown name.
 */
int user_resolve(struct task *t, const char *spec, const char *default_name, struct user *ret);
/* Credentials of the user with the groups that /etc/group lists. NULL = -ENOMEM. */
struct cred *user_cred(struct task *t, const struct user *u);
