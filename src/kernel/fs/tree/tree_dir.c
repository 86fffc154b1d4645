/*
 * The names a directory has in the private layer: a chained hash table that grows, and a list that
 * keeps the order of creation for readdir. Most directories are small or clean: the table is made
 * with the first name.
 */
#include <string.h>

#include "kernel/core/arena.h"
#include "kernel/core/hash.h"
#include "kernel/fs/tree/tree_internal.h"

#define FIRST_BUCKETS 8u

static uint32_t hash_name(struct qstr name)
{
	return hash_bytes(name.name, name.length, 0);
}

static struct tree_dir *dir_get(struct inode *dir)
{
	struct tree_node *node = tree_node(dir);

	if (node->dir)
		return node->dir;
	struct tree_dir *d = knew(struct tree_dir);
	if (!d)
		return NULL;
	d->buckets = knew_array(struct tree_entry *, FIRST_BUCKETS);
	if (!d->buckets) {
		kfree(d);
		return NULL;
	}
	d->bucket_count = FIRST_BUCKETS;
	list_init(&d->order);
	node->dir = d;
	return d;
}

/* Doubles the table; without memory the chains just get longer. */
static void grow(struct tree_dir *d)
{
	uint32_t count = d->bucket_count * 2;
	struct tree_entry **buckets = knew_array(struct tree_entry *, count);
	struct tree_entry *e;

	if (!buckets)
		return;
	list_for_each(e, &d->order, order)
	{
		struct tree_entry **head = &buckets[e->hash & (count - 1)];
		e->next = *head;
		*head = e;
	}
	kfree(d->buckets);
	d->buckets = buckets;
	d->bucket_count = count;
}

struct tree_entry *tree_entry_find(struct inode *dir, struct qstr name)
{
	struct tree_dir *d = tree_node(dir)->dir;

	if (!d || d->count == 0)
		return NULL;
	uint32_t hash = hash_name(name);
	for (struct tree_entry *e = d->buckets[hash & (d->bucket_count - 1)]; e; e = e->next)
		if (e->hash == hash && e->length == name.length &&
		    !memcmp(e->name, name.name, name.length))
			return e;
	return NULL;
}

struct tree_entry *tree_entry_add(struct inode *dir, struct qstr name)
{
	struct tree_dir *d = dir_get(dir);
	struct tree_entry *e;

	if (!d)
		return NULL;
	if (d->count >= d->bucket_count)
		grow(d);
	e = kmalloc(sizeof(*e) + name.length + 1u);
	if (!e)
		return NULL;
	e->kind = TREE_ENTRY_WHITEOUT;
	e->hash = hash_name(name);
	e->length = (uint8_t)name.length;
	memcpy(e->name, name.name, name.length);
	struct tree_entry **head = &d->buckets[e->hash & (d->bucket_count - 1)];
	e->next = *head;
	*head = e;
	list_add_tail(&d->order, &e->order);
	d->count++;
	return e;
}

void tree_entry_set(struct tree_entry *e, struct inode *inode)
{
	struct inode *old = e->inode;

	if (e->kind == TREE_ENTRY_GRAFT) {
		kfree(e->graft_path);
		e->graft_path = NULL;
	}
	e->kind = inode ? TREE_ENTRY_INODE : TREE_ENTRY_WHITEOUT;
	e->inode = inode;
	if (old)
		inode_put(old);
}

void tree_entry_graft(struct tree_entry *e, unsigned root, char *path)
{
	tree_entry_set(e, NULL);
	e->kind = TREE_ENTRY_GRAFT;
	e->graft_root = (uint16_t)root;
	e->graft_path = path;
}

void tree_entry_remove(struct inode *dir, struct tree_entry *e)
{
	struct tree_dir *d = tree_node(dir)->dir;
	struct tree_entry **p = &d->buckets[e->hash & (d->bucket_count - 1)];
	struct inode *inode = e->inode;

	while (*p != e)
		p = &(*p)->next;
	*p = e->next;
	list_del(&e->order);
	d->count--;
	kfree(e->graft_path);
	kfree(e);
	if (inode)
		inode_put(inode);
}

void tree_dir_free(struct inode *dir)
{
	struct tree_node *node = tree_node(dir);
	struct tree_dir *d = node->dir;

	if (!d)
		return;
	while (!list_empty(&d->order))
		tree_entry_remove(dir, list_first(&d->order, struct tree_entry, order));
	kfree(d->buckets);
	kfree(d);
	node->dir = NULL;
}
