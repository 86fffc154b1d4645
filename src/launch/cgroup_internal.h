/* What the version-independent part needs from each version. */
#pragma once

#include "launch/cgroup.h"

struct cgroup_ops {
	/* Sets the limits that this member's controllers can hold. */
	int (*limit)(int dir_fd, uint32_t controllers, const struct cgroup_limits *limits,
		     struct error *err);
	/* Adds what this member knows; fields of others stay. */
	void (*read)(int dir_fd, uint32_t controllers, struct cgroup_usage *usage);
};

extern const struct cgroup_ops cgroup_v1_ops, cgroup_v2_ops;

/* Finds hierarchies of each kind; appends to host->hierarchies. mountinfo and self are the texts
 * of /proc/self/mountinfo and /proc/self/cgroup. */
void cgroup_v1_probe(struct cgroup_host *host, const char *mountinfo, const char *self);
void cgroup_v2_probe(struct cgroup_host *host, const char *mountinfo, const char *self);

struct cgroup_mount {
	char root[CGROUP_PATH_MAX];  /* of the file system, as mounted here */
	char point[CGROUP_PATH_MAX]; /* where */
	char super[512];	     /* super block options: the controllers of version 1 */
};
/* Next mount of the file system type behind *cursor (start with the text itself). */
bool cgroup_next_mount(const char **cursor, const char *type, struct cgroup_mount *ret);
/* Whether `word` is in a list separated by any of `separators`. */
bool cgroup_has_word(const char *list, const char *word, const char *separators);
/* Path of the calling process in the hierarchy whose controller field contains `controller` ("" =
 * version 2); false when it is in none. */
bool cgroup_own_path(const char *self, const char *controller, char *ret, size_t size);
/* Joins mount and own path; false when the result is no directory. */
bool cgroup_join(const struct cgroup_mount *m, const char *path, char *ret, size_t size);
/* Reads a number from a control file; -ENOENT and so on. "max" is UINT64_MAX. */
int cgroup_read_number(int dir_fd, const char *file, uint64_t *ret);
/* Reads "key N" from a file of such lines. */
int cgroup_read_key(int dir_fd, const char *file, const char *key, uint64_t *ret);
int cgroup_write_number(int dir_fd, const char *file, uint64_t value, struct error *err);
