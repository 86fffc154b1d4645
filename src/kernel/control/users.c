#include "kernel/control/users.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/task.h"

#define TEXT_MAX 65536

/* A small file of the sandbox into the scratch buffer, NUL-terminated. NULL when it cannot be. */
static char *read_text(struct task *t, const char *name)
{
	char *text = scratch_buffer();
	struct path p;
	struct uio u;
	uint64_t pos = 0;
	ssize_t n = -EIO;

	if (path_lookup(t, AT_FDCWD, name, LOOKUP_FOLLOW, &p) < 0)
		return NULL;
	struct file *f = file_new(FOPS_NONE, p, p.dentry->inode, O_RDONLY);
	if (f && S_ISREG(p.dentry->inode->mode) && inode_ops(p.dentry->inode)->open &&
	    inode_ops(p.dentry->inode)->open(NULL, p.dentry->inode, f) == 0 && file_ops(f)->read) {
		uio_kernel(&u, text, TEXT_MAX - 1);
		n = file_ops(f)->read(f, &u, &pos);
	}
	if (f)
		file_put(f);
	path_put(&p);
	if (n < 0)
		return NULL;
	text[n] = '\0';
	return text;
}

/* Cuts a line at ':' into at most `max` fields. */
static int split(char *line, char **fields, int max)
{
	int n = 0;

	while (n < max) {
		fields[n++] = line;
		line = strchr(line, ':');
		if (!line)
			break;
		*line++ = '\0';
	}
	return n;
}

static bool parse_number(const char *s, uint32_t *ret)
{
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	unsigned long v = strtoul(s, &end, 10);
	*ret = (uint32_t)v;
	return *end == '\0' && v < UINT32_MAX;
}

/* Finds the passwd line by name, or by uid when `name` is NULL. */
static int find_passwd(struct task *t, const char *name, uint32_t uid, struct user *ret)
{
	char *text = read_text(t, "/etc/passwd"), *save = NULL;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *f[7];
		uint32_t line_uid, gid;
		if (split(line, f, 7) < 6 || !parse_number(f[2], &line_uid) ||
		    !parse_number(f[3], &gid))
			continue;
		if (name ? strcmp(f[0], name) != 0 : line_uid != uid)
			continue;
		ret->uid = line_uid;
		ret->gid = gid;
		snprintf(ret->name, sizeof(ret->name), "%s", f[0]);
		snprintf(ret->home, sizeof(ret->home), "%s", f[5]);
		return 0;
	}
	return -ENOENT;
}

int user_resolve(struct task *t, const char *spec, const char *default_name, struct user *ret)
{
	char uid_part[32];
	uint32_t uid;

	memset(ret, 0, sizeof(*ret));
	if (!*spec)
		spec = default_name;
	const char *colon = strchr(spec, ':');
	snprintf(uid_part, sizeof(uid_part), "%.*s", colon ? (int)MIN(colon - spec, 31) : 31, spec);
	if (!parse_number(uid_part, &uid))
		return colon ? -EINVAL : find_passwd(t, spec, 0, ret);
	if (find_passwd(t, NULL, uid, ret) < 0) {
		ret->uid = ret->gid = uid;
		snprintf(ret->home, sizeof(ret->home), "/");
	}
	if (colon && !parse_number(colon + 1, &ret->gid))
		return -EINVAL;
	return 0;
}

static bool listed(char *members, const char *name)
{
	char *save = NULL;

	for (char *m = strtok_r(members, ",", &save); m; m = strtok_r(NULL, ",", &save)) {
		if (!strcmp(m, name))
			return true;
	}
	return false;
}

struct cred *user_cred(struct task *t, const struct user *u)
{
	struct cred *c = cred_new(u->uid, u->gid);
	char *text = c ? read_text(t, "/etc/group") : NULL, *save = NULL;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *f[4];
		uint32_t gid;
		if (split(line, f, 4) == 4 && parse_number(f[2], &gid) && listed(f[3], u->name) &&
		    c->group_count < CRED_GROUPS_MAX)
			c->groups[c->group_count++] = gid;
	}
	return c;
}

void user_name(uint32_t uid, char *dst, size_t capacity)
{
	struct user u;

	if (find_passwd(NULL, NULL, uid, &u) == 0)
		snprintf(dst, capacity, "%s", u.name);
	else
		snprintf(dst, capacity, "%u", uid);
}

void group_name(uint32_t gid, char *dst, size_t capacity)
{
	char *text = read_text(NULL, "/etc/group"), *save = NULL;

	snprintf(dst, capacity, "%u", gid);
	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *f[4];
		uint32_t number;
		if (split(line, f, 4) < 3 || !parse_number(f[2], &number) || number != gid)
			continue;
		snprintf(dst, capacity, "%s", f[0]);
		return;
	}
}

/* ---- paths ---- */

/* One component behind what is there; ".." takes one away. */
static bool add_component(char *dst, size_t capacity, size_t *length, const char *name, size_t size)
{
	if (size == 0 || (size == 1 && name[0] == '.'))
		return true;
	if (size == 2 && name[0] == '.' && name[1] == '.') {
		while (*length > 0 && dst[--*length] != '/')
			;
		return true;
	}
	if (*length + size + 2 > capacity)
		return false;
	dst[(*length)++] = '/';
	memcpy(dst + *length, name, size);
	*length += size;
	return true;
}

static bool add_components(char *dst, size_t capacity, size_t *length, const char *path)
{
	while (*path) {
		size_t size = strcspn(path, "/");
		if (!add_component(dst, capacity, length, path, size))
			return false;
		path += size + (path[size] == '/');
	}
	return true;
}

int home_path(const char *home, const char *path, char *dst, size_t capacity)
{
	size_t length = 0;

	if (capacity < 2)
		return -ENAMETOOLONG;
	if (path[0] == '~' && path[1] && path[1] != '/')
		return -EINVAL;
	if (path[0] != '/' && !add_components(dst, capacity, &length, home))
		return -ENAMETOOLONG;
	if (!add_components(dst, capacity, &length, path[0] == '~' ? path + 1 : path))
		return -ENAMETOOLONG;
	if (length == 0)
		dst[length++] = '/';
	dst[length] = '\0';
	return 0;
}
