/*
 * Taking an image: a walk over the private layer of every tree that is mounted and can be written to,
 * as a machine that gives one record at a time.
 *
 *     BEGIN -> MOUNT -> NODE -> XATTR... -> DATA... -> ENTRY -> NODE of the next name
 *                ^                                       |
 *                +----- the outermost is complete -------+
 *
 * It holds no references, since nothing changes names meanwhile (control/op.h, exclusive). Hard links
 * are told by the charges of their names: the first name met gives a file its number.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "kernel/checkpoint/image.h"
#include "kernel/core/arena.h"
#include "kernel/fs/tree/tree_image.h"
#include "kernel/fs/tree/tree_internal.h"
#include "kernel/host/host_file.h"

enum { BEGIN, MOUNT, NODE, XATTR, DATA, ENTRY, END, OVER };

struct save_frame {
	struct inode *dir;
	struct list *next; /* of its entries */
};

static char text[PATH_MAX]; /* scratch: a mount's path, a link's target */
static char bytes[IMAGE_DATA_MAX];

/* Numbers of links go on from image to image, so that what an earlier one left in a node says nothing. */
static uint64_t *last_link(void)
{
	return arena_root(ROOT_IMAGE, sizeof(uint64_t));
}

/* ---- the open directories ---- */

static struct list *first_entry(const struct inode *dir)
{
	struct tree_dir *d = tree_node(dir)->dir;

	return d ? d->order.next : NULL;
}

static int push(struct tree_save *s, struct inode *dir)
{
	int r = karray_reserve(&s->frames, s->depth, &s->capacity, sizeof(*s->frames));

	if (r == 0)
		s->frames[s->depth++] = (struct save_frame){ dir, first_entry(dir) };
	return r;
}

/* The next name of the innermost directory, NULL = no more. */
static struct tree_entry *next_entry(struct tree_save *s)
{
	struct save_frame *f = &s->frames[s->depth - 1];
	struct tree_dir *d = tree_node(f->dir)->dir;

	if (!d || f->next == &d->order)
		return NULL;
	struct tree_entry *e = list_entry(f->next, struct tree_entry, order);
	f->next = f->next->next;
	return e;
}

/* ---- mounts ---- */

bool tree_is_saved(const struct mount *m)
{
	return m->root->inode->ops == IOPS_TREE && S_ISDIR(m->root->inode->mode) &&
	       !m->sb->read_only;
}

static int next_mount(struct tree_save *s, struct image_record *ret)
{
	struct list *head = mount_list();

	for (s->mount = s->mount ? s->mount->next : head->next; s->mount != head;
	     s->mount = s->mount->next) {
		struct mount *m = list_entry(s->mount, struct mount, link);
		if (!tree_is_saved(m))
			continue;
		ssize_t n =
			path_format((struct path){ m, m->root }, root_path(), text, sizeof(text));
		if (n < 0)
			return (int)n;
		*ret = (struct image_record){ .type = IMAGE_MOUNT, .name = text };
		s->current = m->root->inode;
		s->name = "";
		s->phase = NODE;
		return 1;
	}
	s->phase = END;
	return 0;
}

/* ---- nodes ---- */

static uint32_t link_number(const struct tree_save *s, const struct inode *inode)
{
	uint64_t link = tree_node(inode)->link;

	return link > s->first_link ? (uint32_t)(link - s->first_link) : 0;
}

static int fill_attr(struct inode *inode, struct image_attr *ret)
{
	struct kstat st;
	int r = inode_ops(inode)->getattr(NULL, inode, &st);

	if (r == 0)
		*ret = (struct image_attr){ .mode = st.mode,
					    .uid = st.uid,
					    .gid = st.gid,
					    .nlink = st.nlink,
					    .rdev = st.rdev,
					    .size = st.size,
					    .atime = st.atime,
					    .mtime = st.mtime,
					    .ctime = st.ctime,
					    .btime = st.btime };
	return r;
}

/* What a link points to, or where in the template the file is. */
static int fill_source(struct inode *inode, struct image_record *r)
{
	const struct tree_node *node = tree_node(inode);

	r->path = "";
	if (node->ref.kind == HOST_REF_PATH) {
		r->root = node->ref.root;
		r->path = node->ref.path;
	} else if (S_ISLNK(inode->mode)) {
		ssize_t n = tree_readlink(NULL, inode, text, sizeof(text) - 1);
		if (n < 0)
			return (int)n;
		text[n] = '\0';
		r->path = text;
	}
	return 0;
}

static int node_record(struct tree_save *s, struct image_record *ret)
{
	struct inode *inode = s->current;

	*ret = (struct image_record){ .type = IMAGE_NODE, .name = s->name };
	int r = fill_attr(inode, &ret->attr);
	if (r == 0)
		r = fill_source(inode, ret);
	if (r == 0 && S_ISDIR(inode->mode))
		r = push(s, inode);
	if (r < 0)
		return r;
	if (tree_node(inode)->charged_links > 0) {
		tree_node(inode)->link = ++*last_link();
		ret->link = link_number(s, inode);
	}
	s->xattr = tree_node(inode)->xattrs;
	s->offset = s->extent_end = 0;
	s->phase = XATTR;
	return 1;
}

static int xattr_record(struct tree_save *s, struct image_record *ret)
{
	struct tree_xattr *x = s->xattr;

	if (!x) {
		s->phase = DATA;
		return 0;
	}
	*ret = (struct image_record){
		.type = IMAGE_XATTR, .name = x->name, .data = x->value, .length = (uint32_t)x->size
	};
	s->xattr = x->next;
	return 1;
}

/* ---- data ---- */

/* The next stretch of data from s->offset on: 1, 0 = there is none. */
static int find_extent(struct tree_save *s)
{
	struct tree_node *node = tree_node(s->current);
	uint64_t end = s->current->size;

	if (node->storage == TREE_STORE && !node->sparse && !node->mapped)
		end = MIN(end, node->dense_end);
	if (s->offset >= end)
		return 0;
	s->extent_end = end;
	if (node->storage == TREE_INLINE || (!node->sparse && !node->mapped))
		return 1;
	int64_t from = host_seek(&node->ref, (int64_t)s->offset, SEEK_DATA);
	if (from < 0 || (uint64_t)from >= end)
		return from == -ENXIO || from >= 0 ? 0 : (int)from;
	int64_t to = host_seek(&node->ref, from, SEEK_HOLE);
	if (to < 0)
		return (int)to;
	s->offset = (uint64_t)from;
	s->extent_end = MIN(end, (uint64_t)to);
	return 1;
}

static int data_record(struct tree_save *s, struct image_record *ret)
{
	struct inode *inode = s->current;
	struct uio u;
	int r = 0;

	if (S_ISREG(inode->mode) && tree_node(inode)->storage != TREE_LOWER)
		r = s->offset < s->extent_end ? 1 : find_extent(s);
	if (r <= 0) {
		s->phase = ENTRY;
		return r;
	}
	uio_kernel(&u, bytes, (size_t)MIN(s->extent_end - s->offset, (uint64_t)sizeof(bytes)));
	ssize_t n = tree_read(inode, &u, s->offset);
	if (n <= 0)
		return n < 0 ? (int)n : -EIO;
	*ret = (struct image_record){
		.type = IMAGE_DATA, .number = s->offset, .data = bytes, .length = (uint32_t)n
	};
	s->offset += (uint64_t)n;
	return 1;
}

/* ---- names ---- */

static int inode_entry(struct tree_save *s, struct tree_entry *e, struct image_record *ret)
{
	uint32_t link = link_number(s, e->inode);

	if (link) {
		*ret = (struct image_record){ .type = IMAGE_LINK, .name = s->name, .link = link };
		return 1;
	}
	s->current = e->inode;
	s->phase = NODE;
	return 0;
}

static int entry_record(struct tree_save *s, struct image_record *ret)
{
	static char name[NAME_MAX_BYTES + 1];

	if (s->depth == 0) {
		s->phase = MOUNT;
		return 0;
	}
	struct tree_entry *e = next_entry(s);
	if (!e) {
		s->depth--;
		*ret = (struct image_record){ .type = IMAGE_UP };
		return 1;
	}
	memcpy(name, e->name, e->length);
	name[e->length] = '\0';
	s->name = name;
	if (e->kind == TREE_ENTRY_INODE)
		return inode_entry(s, e, ret);
	*ret = (struct image_record){ .type = e->kind == TREE_ENTRY_GRAFT ? IMAGE_GRAFT
									  : IMAGE_WHITEOUT,
				      .name = name,
				      .root = e->graft_root,
				      .path = e->graft_path };
	return 1;
}

/* ---- the machine ---- */

static int begin_record(struct tree_save *s, struct image_record *ret)
{
	if (!last_link())
		return -ENOMEM;
	s->first_link = *last_link();
	s->phase = MOUNT;
	*ret = (struct image_record){ .type = IMAGE_BEGIN, .version = IMAGE_VERSION };
	return 1;
}

static int end_record(struct tree_save *s, struct image_record *ret)
{
	s->phase = OVER;
	*ret = (struct image_record){ .type = IMAGE_END, .number = s->records };
	return 1;
}

/* 1 = a record, 0 = there was none in this phase. */
static int (*const phases[])(struct tree_save *s, struct image_record *ret) = {
	[BEGIN] = begin_record, [MOUNT] = next_mount, [NODE] = node_record,
	[XATTR] = xattr_record, [DATA] = data_record, [ENTRY] = entry_record,
	[END] = end_record,
};

int tree_save_next(struct tree_save *s, struct image_record *ret)
{
	int r = 0;

	while (r == 0 && s->phase != OVER)
		r = phases[s->phase](s, ret);
	if (r > 0)
		s->records++;
	return r;
}

void tree_save_end(struct tree_save *s)
{
	kfree(s->frames);
	s->frames = NULL;
	s->depth = s->capacity = 0;
}
