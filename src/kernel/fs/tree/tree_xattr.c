/*
 * Extended attributes (xattr(7)): user.*, trusted.* and security.* live in the inode. Who may use
 * which name space is checked by the caller. Lower files show none of the host's attributes.
 * system.* (POSIX ACLs) is EOPNOTSUPP, as on a tmpfs without ACLs.
 */
#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/core/limits.h"
#include "kernel/fs/tree/tree_internal.h"

#define XATTR_TOTAL_MAX (128u << 10) /* names and values of one inode */
#define XATTR_VALUE_MAX (64u << 10)

static bool has_prefix(const char *name, const char *prefix)
{
	size_t length = strlen(prefix);
	return !strncmp(name, prefix, length) && name[length];
}

static bool supported(const struct inode *inode, const char *name)
{
	if (has_prefix(name, "user."))
		return S_ISREG(inode->mode) || S_ISDIR(inode->mode);
	return has_prefix(name, "trusted.") || has_prefix(name, "security.");
}

static struct tree_xattr **find(struct inode *inode, const char *name)
{
	struct tree_xattr **p = &tree_node(inode)->xattrs;

	while (*p && strcmp((*p)->name, name) != 0)
		p = &(*p)->next;
	return p;
}

ssize_t tree_getxattr(struct inode *inode, const char *name, void *dst, size_t capacity)
{
	if (!supported(inode, name))
		return has_prefix(name, "user.") ? -ENODATA : -EOPNOTSUPP;
	struct tree_xattr *x = *find(inode, name);
	if (!x)
		return -ENODATA;
	if (capacity == 0)
		return (ssize_t)x->size;
	if (capacity < x->size)
		return -ERANGE;
	memcpy(dst, x->value, x->size);
	return (ssize_t)x->size;
}

static void xattr_free(struct tree_node *node, struct tree_xattr *x)
{
	size_t bytes = strlen(x->name) + x->size;

	node->xattr_bytes -= bytes;
	limit_release(LIMIT_DISK_BYTES, bytes);
	kfree(x->name);
	kfree(x->value);
	kfree(x);
}

static struct tree_xattr *xattr_new(struct tree_node *node, const char *name, const void *value,
				    size_t size)
{
	size_t bytes = strlen(name) + size;

	if (!limit_charge(LIMIT_DISK_BYTES, bytes))
		return NULL;
	struct tree_xattr *x = knew(struct tree_xattr);
	if (x) {
		x->name = kstrdup(name);
		x->value = kmemdup0(value, size);
	}
	if (!x || !x->name || !x->value) {
		limit_release(LIMIT_DISK_BYTES, bytes);
		if (x) {
			kfree(x->name);
			kfree(x->value);
			kfree(x);
		}
		return NULL;
	}
	x->size = size;
	node->xattr_bytes += bytes;
	return x;
}

int tree_setxattr(struct inode *inode, const char *name, const void *value, size_t size, int flags)
{
	struct tree_node *node = tree_node(inode);

	if (!supported(inode, name))
		return has_prefix(name, "user.") ? -EPERM : -EOPNOTSUPP;
	if (size > XATTR_VALUE_MAX)
		return -E2BIG;
	struct tree_xattr **p = find(inode, name);
	if (*p && (flags & XATTR_CREATE))
		return -EEXIST;
	if (!*p && (flags & XATTR_REPLACE))
		return -ENODATA;
	if (node->xattr_bytes + strlen(name) + size > XATTR_TOTAL_MAX)
		return -ENOSPC;
	int err = tree_keep(inode);
	if (err < 0)
		return err;
	struct tree_xattr *x = xattr_new(node, name, value, size);
	if (!x)
		return -ENOSPC;
	struct tree_xattr *old = *p;
	x->next = old ? old->next : NULL;
	*p = x;
	if (old)
		xattr_free(node, old);
	inode->ctime = clock_real();
	return 0;
}

ssize_t tree_listxattr(struct inode *inode, char *dst, size_t capacity)
{
	size_t total = 0;

	for (struct tree_xattr *x = tree_node(inode)->xattrs; x; x = x->next) {
		size_t length = strlen(x->name) + 1;
		if (capacity > 0 && total + length > capacity)
			return -ERANGE;
		if (capacity > 0)
			memcpy(dst + total, x->name, length);
		total += length;
	}
	return (ssize_t)total;
}

int tree_removexattr(struct inode *inode, const char *name)
{
	struct tree_xattr **p = find(inode, name);
	struct tree_xattr *x = *p;

	if (!supported(inode, name) && !has_prefix(name, "user."))
		return -EOPNOTSUPP;
	if (!x)
		return -ENODATA;
	*p = x->next;
	xattr_free(tree_node(inode), x);
	inode->ctime = clock_real();
	return 0;
}

void tree_xattr_free(struct inode *inode)
{
	struct tree_node *node = tree_node(inode);

	while (node->xattrs) {
		struct tree_xattr *x = node->xattrs;
		node->xattrs = x->next;
		xattr_free(node, x);
	}
}
