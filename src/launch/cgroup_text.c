/* Reading /proc/self/mountinfo, /proc/self/cgroup and control files. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "launch/cgroup_internal.h"

bool cgroup_has_word(const char *list, const char *word, const char *separators)
{
	size_t length = strlen(word);
	while (*list) {
		list += strspn(list, separators);
		size_t n = strcspn(list, separators);
		if (n == length && memcmp(list, word, n) == 0)
			return true;
		list += n;
	}
	return false;
}

/* Copies the n-th (from 0) space separated field of a line; octal escapes of mountinfo stay as
 * they are: nobody mounts cgroups on a path with blanks. */
static bool field(const char *line, const char *end, unsigned int n, char *ret, size_t size)
{
	for (; n > 0; n--) {
		line = memchr(line, ' ', (size_t)(end - line));
		if (!line)
			return false;
		line++;
	}
	const char *stop = memchr(line, ' ', (size_t)(end - line));
	size_t length = (size_t)((stop ? stop : end) - line);
	if (length >= size)
		return false;
	memcpy(ret, line, length);
	ret[length] = '\0';
	return true;
}

static bool parse_mount_line(const char *line, const char *end, const char *type,
			     struct cgroup_mount *ret)
{
	/* 36 35 98:0 /root /point rw,opts [optional...] - type source super */
	const char *dash = NULL;
	for (const char *p = line; p + 3 <= end; p++) {
		if (memcmp(p, " - ", 3) == 0) {
			dash = p + 3;
			break;
		}
	}
	char found[32];
	return dash && field(dash, end, 0, found, sizeof(found)) && strcmp(found, type) == 0 &&
	       field(line, end, 3, ret->root, sizeof(ret->root)) &&
	       field(line, end, 4, ret->point, sizeof(ret->point)) &&
	       field(dash, end, 2, ret->super, sizeof(ret->super));
}

bool cgroup_next_mount(const char **cursor, const char *type, struct cgroup_mount *ret)
{
	const char *p = *cursor;
	while (*p) {
		const char *end = p + strcspn(p, "\n");
		bool found = parse_mount_line(p, end, type, ret);
		p = end + (*end == '\n');
		if (found) {
			*cursor = p;
			return true;
		}
	}
	*cursor = p;
	return false;
}

bool cgroup_own_path(const char *self, const char *controller, char *ret, size_t size)
{
	/* 4:memory:/a/b ; 0::/a/b */
	for (const char *line = self; *line;) {
		const char *end = line + strcspn(line, "\n");
		const char *list = memchr(line, ':', (size_t)(end - line));
		const char *path = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;
		char controllers[256];
		if (path && (size_t)(path - list - 1) < sizeof(controllers)) {
			memcpy(controllers, list + 1, (size_t)(path - list - 1));
			controllers[path - list - 1] = '\0';
			bool match = *controller ? cgroup_has_word(controllers, controller, ",")
						 : controllers[0] == '\0';
			if (match && (size_t)(end - path - 1) < size) {
				memcpy(ret, path + 1, (size_t)(end - path - 1));
				ret[end - path - 1] = '\0';
				return true;
			}
		}
		line = end + (*end == '\n');
	}
	return false;
}

const char *cgroup_relative(const char *path, const char *mount_root)
{
	size_t length = strlen(mount_root);
	if (strcmp(mount_root, "/") == 0)
		return path;
	if (strncmp(path, mount_root, length) == 0 && (path[length] == '/' || !path[length]))
		return path + length;
	return NULL;
}

bool cgroup_join(const struct cgroup_mount *m, const char *path, char *ret, size_t size)
{
	const char *relative = cgroup_relative(path, m->root);
	/* "/.." is a group above our cgroup namespace: no path leads there. */
	if (!relative || strncmp(relative, "/..", 3) == 0)
		relative = "";
	int n = snprintf(ret, size, "%s%s", m->point, relative);
	if (n < 0 || (size_t)n >= size)
		return false;
	while (n > 1 && ret[n - 1] == '/')
		ret[--n] = '\0';
	struct stat st;
	return stat(ret, &st) == 0 && S_ISDIR(st.st_mode);
}

int cgroup_read_number(int dir_fd, const char *file, uint64_t *ret)
{
	char text[64];
	ssize_t n = io_read_file(dir_fd, file, text, sizeof(text));
	if (n < 0)
		return (int)n;
	if (strncmp(text, "max", 3) == 0) {
		*ret = UINT64_MAX;
		return 0;
	}
	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	*ret = strtoull(text, NULL, 10);
	return 0;
}

int cgroup_read_key(int dir_fd, const char *file, const char *key, uint64_t *ret)
{
	char text[4096];
	ssize_t n = io_read_file(dir_fd, file, text, sizeof(text));
	if (n < 0)
		return (int)n;
	size_t length = strlen(key);
	for (const char *line = text; *line;) {
		if (strncmp(line, key, length) == 0 && line[length] == ' ') {
			*ret = strtoull(line + length + 1, NULL, 10);
			return 0;
		}
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return -ENOENT;
}

int cgroup_write_number(int dir_fd, const char *file, uint64_t value, struct error *err)
{
	char text[32];
	snprintf(text, sizeof(text), "%" PRIu64, value);
	int r = io_write_file(dir_fd, file, text);
	return r < 0 ? error_set(err, -r, "write %s to %s", text, file) : 0;
}
