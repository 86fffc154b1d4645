/*
 * What FS_ENTRY says about a file. The texts lie in static buffers that the next entry overwrites;
 * names of owners are remembered for the length of one turn.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/util.h"
#include "kernel/control/control.h"
#include "kernel/control/fs_internal.h"
#include "kernel/core/user.h"
#include "kernel/fs/vfs.h"

#define METADATA_PREFIX	       "user.e2b."
#define METADATA_PREFIX_LENGTH (sizeof(METADATA_PREFIX) - 1)
/* Names and values of one file together; more is left out. */
#define METADATA_BYTES 8192u
#define OWNERS_MAX     16u

static struct {
	bool group;
	uint32_t id;
	char name[64];
} owners[OWNERS_MAX];
static uint32_t owner_count;

void fs_entry_begin(void)
{
	owner_count = 0;
}

static const char *owner_name(bool group, uint32_t id)
{
	for (uint32_t i = 0; i < owner_count; i++) {
		if (owners[i].group == group && owners[i].id == id)
			return owners[i].name;
	}
	/* A full table starts again, but never under the entry that is being made: it needs two. */
	uint32_t i = owner_count < OWNERS_MAX ? owner_count++ : OWNERS_MAX - 1 - group;
	owners[i].group = group;
	owners[i].id = id;
	if (group)
		group_name(id, owners[i].name, sizeof(owners[i].name));
	else
		user_name(id, owners[i].name, sizeof(owners[i].name));
	return owners[i].name;
}

/* Where the link at `path` ends, and what is there. */
static void resolve_link(const char *path, struct wire_entry *e)
{
	static char target[PATH_MAX_BYTES];
	struct kstat st;
	struct path p;

	e->target = path;
	e->target_mode = 0;
	if (path_lookup(NULL, AT_FDCWD, path, LOOKUP_FOLLOW, &p) < 0)
		return;
	if (vfs_stat(NULL, p, &st) == 0 &&
	    path_format(p, root_path(), target, sizeof(target)) > 0) {
		e->target = target;
		e->target_mode = st.mode;
	}
	path_put(&p);
}

/* `length`: of what follows the prefix, with its end. Values with a NUL in them cannot travel as a string. */
static void add_metadata(struct inode *inode, const char *name, size_t length, char *texts,
			 size_t *used, struct wire_entry *e)
{

	if (e->metadata_count == WIRE_METADATA_MAX || length + 1 > METADATA_BYTES - *used)
		return;
	char *key = texts + *used, *value = key + length;
	ssize_t n =
		inode_ops(inode)->getxattr(inode, name, value, METADATA_BYTES - *used - length - 1);
	if (n < 0 || memchr(value, '\0', (size_t)n))
		return;
	memcpy(key, name + METADATA_PREFIX_LENGTH, length);
	value[n] = '\0';
	e->metadata[e->metadata_count++] = (struct wire_pair){ key, value };
	*used += length + (size_t)n + 1;
}

static void read_metadata(struct inode *inode, struct wire_entry *e)
{
	static char texts[METADATA_BYTES];
	const struct inode_ops *ops = inode_ops(inode);
	char *list = scratch_buffer();
	size_t used = 0, length;

	e->metadata_count = 0;
	if (!ops->listxattr || !ops->getxattr)
		return;
	ssize_t size = ops->listxattr(inode, list, SCRATCH_SIZE - 1);
	if (size <= 0)
		return;
	list[size] = '\0';
	for (char *name = list; name < list + size; name += length + 1) {
		length = strlen(name);
		if (length >= METADATA_PREFIX_LENGTH &&
		    !memcmp(name, METADATA_PREFIX, METADATA_PREFIX_LENGTH))
			add_metadata(inode, name, length - METADATA_PREFIX_LENGTH + 1, texts, &used,
				     e);
	}
}

static uint32_t type_of(uint32_t mode)
{
	return S_ISREG(mode)   ? WIRE_ENTRY_FILE
	       : S_ISDIR(mode) ? WIRE_ENTRY_DIRECTORY
			       : WIRE_ENTRY_OTHER;
}

int fs_entry(struct path p, const char *path, struct wire_entry *ret)
{
	struct kstat st;
	int r = vfs_stat(NULL, p, &st);

	if (r < 0)
		return r;
	const char *slash = strrchr(path, '/');
	ret->name = slash && slash[1] ? slash + 1 : path;
	ret->path = path;
	ret->mode = ret->target_mode = st.mode;
	ret->uid = st.uid;
	ret->gid = st.gid;
	ret->size = st.size;
	ret->mtime_ns = st.mtime;
	ret->owner = owner_name(false, st.uid);
	ret->group = owner_name(true, st.gid);
	ret->target = "";
	if (S_ISLNK(st.mode))
		resolve_link(path, ret);
	ret->type = type_of(ret->target_mode);
	read_metadata(p.dentry->inode, ret);
	return 0;
}

void fs_send_entry(uint32_t request, struct path p, const char *path)
{
	static struct wire_entry e;
	static uint8_t bytes[FS_ENTRY_BYTES];
	struct wire_out o = { bytes, 0, sizeof(bytes), false };

	fs_entry_begin();
	int r = fs_entry(p, path, &e);
	if (r == 0) {
		wire_put_entry(&o, &e);
		r = o.failed ? -ENAMETOOLONG : 0;
	}
	if (r < 0)
		fs_refuse(request, r, path);
	else
		control_send(WIRE_FS_ENTRY, request, bytes, o.length);
}

/* Which of a list are ours; the list is read anew because removing changes it. */
static int remove_metadata(struct inode *inode)
{
	const struct inode_ops *ops = inode_ops(inode);
	char *list = scratch_buffer();
	ssize_t size = ops->listxattr(inode, list, SCRATCH_SIZE - 1);

	if (size <= 0)
		return size == -EOPNOTSUPP ? 0 : (int)size;
	list[size] = '\0';
	for (char *name = list; name < list + size; name += strlen(name) + 1) {
		if (strncmp(name, METADATA_PREFIX, METADATA_PREFIX_LENGTH))
			continue;
		int r = ops->removexattr(inode, name);
		if (r < 0)
			return r;
	}
	return 0;
}

int fs_set_metadata(struct inode *inode, const char *texts, uint32_t count)
{
	const struct inode_ops *ops = inode_ops(inode);
	char name[NAME_MAX_BYTES + 1];

	if (!ops->listxattr || !ops->setxattr || !ops->removexattr)
		return 0;
	int r = remove_metadata(inode);
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		const char *key = texts, *value = key + strlen(key) + 1;
		size_t length = strlen(key), size = strlen(value);
		texts = value + size + 1;
		if (length == 0 || length + METADATA_PREFIX_LENGTH > NAME_MAX_BYTES ||
		    size > METADATA_BYTES)
			return -EINVAL;
		memcpy(name, METADATA_PREFIX, METADATA_PREFIX_LENGTH);
		memcpy(name + METADATA_PREFIX_LENGTH, key, length + 1);
		r = ops->setxattr(inode, name, value, size, 0);
		if (r == -EOPNOTSUPP)
			return 0;
	}
	return r;
}
