/* Users as the sandbox's /etc/passwd and /etc/group name them. */
#pragma once

#include <stddef.h>
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
 * an unknown name. `t` may be NULL: the kernel itself looks.
 */
int user_resolve(struct task *t, const char *spec, const char *default_name, struct user *ret);
/*
 * What a path given from outside means: "" is the home, "~" and "~/x" and what is relative are
 * below it. Without "." and ".." and repeated slashes. -EINVAL for "~other", -ENAMETOOLONG.
 */
int home_path(const char *home, const char *path, char *dst, size_t capacity);
/* The name of a uid or gid, or the number as text. */
void user_name(uint32_t uid, char *dst, size_t capacity);
void group_name(uint32_t gid, char *dst, size_t capacity);
/* Credentials of the user with the groups that /etc/group lists. NULL = -ENOMEM. */
struct cred *user_cred(struct task *t, const struct user *u);
