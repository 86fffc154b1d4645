#include "kernel/control/tree_walk.h"

#include <errno.h>
#include <string.h>

#include "kernel/core/arena.h"
#include "kernel/fs/vfs.h"

/*
 * Names lie back to back in `text`; `heap` has their offsets, the smallest name on top. A heap gives
 * the names in order without ever doing all the sorting at once.
 */
struct walk_frame {
	struct path dir;
	char *text;
	uint32_t *heap;
	uint32_t text_size, text_capacity;
	uint32_t count, capacity;
	bool failed;
};

static bool before(const struct walk_frame *f, uint32_t a, uint32_t b)
{
	return strcmp(f->text + f->heap[a], f->text + f->heap[b]) < 0;
}

static void swap(struct walk_frame *f, uint32_t a, uint32_t b)
{
	uint32_t offset = f->heap[a];

	f->heap[a] = f->heap[b];
	f->heap[b] = offset;
}

static void sift_down(struct walk_frame *f, uint32_t at)
{
	for (;;) {
		uint32_t left = 2 * at + 1, least = at;
		if (left < f->count && before(f, left, least))
			least = left;
		if (left + 1 < f->count && before(f, left + 1, least))
			least = left + 1;
		if (least == at)
			return;
		swap(f, at, least);
		at = least;
	}
}

/* Room for one more name of `size` bytes. */
static bool reserve(struct walk_frame *f, uint32_t size)
{
	if (karray_reserve(&f->heap, f->count, &f->capacity, sizeof(*f->heap)) < 0)
		return false;
	if (size > f->text_capacity - f->text_size) {
		uint32_t more = f->text_capacity ? f->text_capacity * 2 : 1024;
		char *text = more <= INT32_MAX ? krealloc(f->text, f->text_capacity, more) : NULL;
		if (!text)
			return false;
		f->text = text;
		f->text_capacity = more;
	}
	return true;
}

static bool emit(void *ctx, const char *name, size_t length, uint64_t ino, uint8_t type)
{
	struct walk_frame *f = ctx;

	(void)ino;
	(void)type;
	if (length > NAME_MAX_BYTES || !reserve(f, (uint32_t)length + 1)) {
		f->failed = true;
		return false;
	}
	f->heap[f->count++] = f->text_size;
	memcpy(f->text + f->text_size, name, length);
	f->text[f->text_size + length] = '\0';
	f->text_size += (uint32_t)length + 1;
	return true;
}

static void frame_free(struct walk_frame *f)
{
	path_put(&f->dir);
	kfree(f->text);
	kfree(f->heap);
	memset(f, 0, sizeof(*f));
}

int tree_walk_push(struct tree_walk *w, struct path dir)
{
	struct inode *inode = dir.dentry->inode;
	const struct inode_ops *ops = inode_ops(inode);
	int r = karray_reserve(&w->frames, w->depth, &w->capacity, sizeof(*w->frames));

	if (r < 0)
		return r;
	struct walk_frame *f = &w->frames[w->depth];
	memset(f, 0, sizeof(*f));
	f->dir = path_get(dir);
	if (ops->readdir && !dir.dentry->unlinked)
		r = ops->readdir(NULL, inode, dir.dentry, f, emit);
	if (f->failed)
		r = -ENOMEM;
	if (r < 0) {
		frame_free(f);
		return r;
	}
	for (uint32_t at = f->count / 2; at-- > 0;)
		sift_down(f, at);
	w->depth++;
	return 0;
}

const char *tree_walk_next(struct tree_walk *w)
{
	struct walk_frame *f = &w->frames[w->depth - 1];

	if (!f->count)
		return NULL;
	const char *name = f->text + f->heap[0];
	f->heap[0] = f->heap[--f->count];
	sift_down(f, 0);
	return name;
}

struct path tree_walk_dir(const struct tree_walk *w)
{
	return w->frames[w->depth - 1].dir;
}

void tree_walk_pop(struct tree_walk *w)
{
	frame_free(&w->frames[--w->depth]);
}

void tree_walk_free(struct tree_walk *w)
{
	while (w->depth)
		tree_walk_pop(w);
	kfree(w->frames);
	w->frames = NULL;
	w->capacity = 0;
}
