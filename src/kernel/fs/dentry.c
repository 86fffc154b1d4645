/*
 * The dentry cache.
 *
 *   buckets[hash(parent, name)] --hash_link--> dentry --hash_link--> dentry
 *   parent.children --sibling--> dentry      every live child
 *   vfs.lru --lru_link--> dentry             candidates for eviction, oldest first
 *
 * States of a dentry:
 *   referenced   refs > 0. May still sit on the LRU list from before; the evictor takes it off.
 *   cached       refs == 0, hashed, on the LRU list. Positive or negative.
 *   unlinked     out of the hash and of its parent's list, freed with its last reference.
 *
 * Every dentry holds a reference on its parent until it is freed, so a cached child keeps the whole
 * chain up to the root, and a path walk never sees a dangling parent. Eviction is second chance:
 * a hit sets `referenced`, the evictor clears it once before it evicts. It runs only when a dentry
 * is made, never inside dentry_put(), so code that iterates over children may drop references.
 *
 * Superblocks with no_dcache (proc, host directories) are asked at every lookup; a hashed dentry is
 * reused when the file system answers with the same inode, so that paths stay comparable. Theirs are
 * freed at zero references, but for directories where the superblock says so: an inode that stays
 * keeps its host descriptor open.
 */
#include <errno.h>
#include <string.h>
#include <sys/inotify.h>

#include "kernel/core/arena.h"
#include "kernel/core/hash.h"
#include "kernel/fs/notify.h"
#include "kernel/fs/vfs_internal.h"

#define BUCKETS_INITIAL 1024u
#define BUCKETS_MAX (1u << 20)

int dentry_cache_init(struct vfs_state *state)
{
	state->buckets = knew_array(struct list, BUCKETS_INITIAL);
	if (!state->buckets)
		return -ENOMEM;
	state->bucket_count = BUCKETS_INITIAL;
	return 0;
}

static uint32_t hash_name(const struct dentry *parent, struct qstr name)
{
	return hash_bytes(name.name, name.length, (uintptr_t)parent);
}

static struct list *bucket(uint32_t hash)
{
	struct list *head = &vfs->buckets[hash & (vfs->bucket_count - 1)];
	if (!head->next)
		list_init(head);
	return head;
}

/* Doubles the table. Failure is harmless: chains get longer. */
static void grow_buckets(void)
{
	struct list *old = vfs->buckets;
	uint32_t old_count = vfs->bucket_count;
	struct list *fresh = knew_array(struct list, (size_t)old_count * 2);
	if (!fresh)
		return;
	vfs->buckets = fresh;
	vfs->bucket_count = old_count * 2;
	for (uint32_t i = 0; i < old_count; i++) {
		struct list *head = &old[i];
		while (head->next && !list_empty(head)) {
			struct dentry *d = list_first(head, struct dentry, hash_link);
			list_del(&d->hash_link);
			list_add_tail(bucket(d->hash), &d->hash_link);
		}
	}
	kfree(old);
}

static struct dentry *find_hashed(struct dentry *parent, struct qstr name, uint32_t hash)
{
	struct list *head = bucket(hash);
	for (struct list *l = head->next; l != head; l = l->next) {
		struct dentry *d = list_entry(l, struct dentry, hash_link);
		if (d->hash == hash && d->parent == parent && d->name_length == name.length &&
		    memcmp(d->name, name.name, name.length) == 0)
			return d;
	}
	return NULL;
}

struct dentry *dentry_find(struct dentry *parent, struct qstr name)
{
	return find_hashed(parent, name, hash_name(parent, name));
}

static void hash_add(struct dentry *d, uint32_t hash)
{
	if (vfs->hashed_count >= vfs->bucket_count && vfs->bucket_count < BUCKETS_MAX)
		grow_buckets();
	d->hash = hash;
	list_add_head(bucket(hash), &d->hash_link);
	vfs->hashed_count++;
}

static void unhash(struct dentry *d)
{
	if (!list_linked(&d->hash_link))
		return;
	list_del(&d->hash_link);
	vfs->hashed_count--;
}

/* Makes it findable by its present parent and name. */
static void hash_again(struct dentry *d)
{
	if (!list_linked(&d->hash_link))
		hash_add(d, hash_name(d->parent, (struct qstr){ d->name, d->name_length }));
}

static void lru_del(struct dentry *d)
{
	if (!list_linked(&d->lru_link))
		return;
	list_del(&d->lru_link);
	vfs->lru_count--;
}

struct dentry *dentry_get(struct dentry *d)
{
	d->refs++;
	return d;
}

/* Frees `d`; returns its parent whose reference the caller now has to drop, or NULL. */
static struct dentry *dentry_free(struct dentry *d)
{
	struct dentry *parent = d->parent;
	unhash(d);
	lru_del(d);
	list_del(&d->sibling);
	struct inode *inode = d->inode;
	/* The last name of a removed file, and nobody has it open. */
	if (inode && d->unlinked && inode->nlink == 0 && !list_empty(&inode->watches)) {
		notify_inode(inode, IN_DELETE_SELF);
		notify_inode_gone(inode);
	}
	kfree(d->name);
	kfree(d);
	inode_put(inode);
	return parent == d ? NULL : parent;
}

/* Does it stay without references? */
static bool kept(const struct dentry *d)
{
	const struct superblock *sb = d->parent->inode->sb;

	if (!list_linked(&d->hash_link) || d->parent->unlinked)
		return false;
	return !sb->no_dcache || (sb->keep_directories && d->inode && S_ISDIR(d->inode->mode));
}

void dentry_put(struct dentry *d)
{
	while (d && --d->refs == 0) {
		if (kept(d)) {
			d->referenced = true;
			if (!list_linked(&d->lru_link)) {
				list_add_tail(&vfs->lru, &d->lru_link);
				vfs->lru_count++;
			}
			return;
		}
		d = dentry_free(d);
	}
}

uint32_t dentry_shrink(uint32_t count)
{
	uint32_t evicted = 0;
	/* Each step either takes one off the list or clears one mark: at most two rounds. */
	for (uint32_t steps = vfs->lru_count * 2; steps > 0 && evicted < count; steps--) {
		if (list_empty(&vfs->lru))
			break;
		struct dentry *d = list_first(&vfs->lru, struct dentry, lru_link);
		lru_del(d);
		if (d->refs > 0)
			continue;
		/* A watched inode stays: inotify knows it by its address. */
		if (d->inode && !list_empty(&d->inode->watches))
			d->referenced = true;
		if (d->referenced) {
			d->referenced = false;
			list_add_tail(&vfs->lru, &d->lru_link);
			vfs->lru_count++;
			continue;
		}
		dentry_put(dentry_free(d));
		evicted++;
	}
	return evicted;
}

static struct dentry *alloc_dentry(struct qstr name)
{
	if (vfs->lru_count > DENTRY_CACHE_MAX)
		dentry_shrink(vfs->lru_count - DENTRY_CACHE_MAX + 64);
	struct dentry *d = knew(struct dentry);
	char *copy = d ? kmemdup0(name.name, name.length) : NULL;
	if (!copy) {
		kfree(d);
		return NULL;
	}
	d->name = copy;
	d->name_length = (uint8_t)name.length;
	d->refs = 1;
	list_init(&d->hash_link);
	list_init(&d->sibling);
	list_init(&d->children);
	list_init(&d->lru_link);
	return d;
}

struct dentry *dentry_new(struct dentry *parent, struct qstr name, struct inode *inode)
{
	struct dentry *d = alloc_dentry(name);
	if (!d) {
		/* The arena is full: give back what is only cached, then try once more. */
		if (dentry_shrink(1024) == 0 || !(d = alloc_dentry(name)))
			return NULL;
	}
	d->parent = dentry_get(parent);
	d->inode = inode ? inode_get(inode) : NULL;
	list_add_tail(&parent->children, &d->sibling);
	return d;
}

int superblock_set_root(struct superblock *sb, struct inode *root)
{
	struct dentry *d = alloc_dentry((struct qstr){ "/", 1 });
	if (!d) {
		inode_put(root);
		return -ENOMEM;
	}
	d->parent = d;
	d->inode = root;
	sb->root = d;
	return 0;
}

struct dentry *dentry_anon(struct inode *inode, const char *name)
{
	size_t n = strlen(name);
	struct dentry *d = alloc_dentry((struct qstr){ name, (uint16_t)MIN(n, NAME_MAX_BYTES) });
	if (!d)
		return NULL;
	d->parent = d;
	d->inode = inode_get(inode);
	return d;
}

void dentry_instantiate(struct dentry *d, struct inode *inode)
{
	d->inode = inode_get(inode);
}

/* Names that a removed directory was asked for and never had must not keep it alive. */
static void drop_cached_children(struct dentry *d)
{
	struct dentry *child, *next;

	list_for_each_safe(child, next, &d->children, sibling) {
		if (child->refs == 0) {
			dentry_free(child);
			d->refs--; /* its reference on us; the caller decides about our end */
		}
	}
}

void dentry_remove(struct dentry *d)
{
	drop_cached_children(d);
	unhash(d);
	lru_del(d);
	list_del(&d->sibling);
	d->unlinked = true;
	/* With no reference there is no later put that would free it. */
	if (d->refs == 0)
		dentry_put(dentry_free(d));
}

int dentry_move(struct dentry *d, struct dentry *new_parent, struct qstr name)
{
	char *copy = kmemdup0(name.name, name.length);
	if (!copy)
		return -ENOMEM;
	unhash(d);
	list_del(&d->sibling);
	kfree(d->name);
	d->name = copy;
	d->name_length = (uint8_t)name.length;
	struct dentry *old_parent = d->parent;
	d->parent = dentry_get(new_parent);
	list_add_tail(&new_parent->children, &d->sibling);
	hash_again(d);
	dentry_put(old_parent);
	return 0;
}

void dentry_exchange(struct dentry *a, struct dentry *b)
{
	unhash(a);
	unhash(b);
	char *name = a->name;
	a->name = b->name;
	b->name = name;
	uint8_t length = a->name_length;
	a->name_length = b->name_length;
	b->name_length = length;
	struct dentry *parent = a->parent;
	a->parent = b->parent;
	b->parent = parent;
	list_del(&a->sibling);
	list_del(&b->sibling);
	list_add_tail(&a->parent->children, &a->sibling);
	list_add_tail(&b->parent->children, &b->sibling);
	hash_again(a);
	hash_again(b);
}

bool dentry_is_below(const struct dentry *d, const struct dentry *ancestor)
{
	for (;; d = d->parent) {
		if (d == ancestor)
			return true;
		if (d->parent == d)
			return false;
	}
}

/* The file system's answer as a dentry with one reference, hashed. */
static int lookup_fresh(struct task *task, struct dentry *parent, struct qstr name, uint32_t hash,
			struct dentry *stale, struct dentry **ret)
{
	struct inode *dir = parent->inode, *inode = NULL;
	const struct inode_ops *ops = inode_ops(dir);
	int r = ops->lookup ? ops->lookup(task, dir, parent, name, &inode) : -ENOENT;
	if (r < 0 && r != -ENOENT)
		return r;
	if (r < 0)
		inode = NULL;
	if (stale) {
		/* A file system may have renewed the entry itself. */
		if (stale->inode == inode) {
			stale->referenced = true;
			*ret = dentry_get(stale);
			inode_put(inode);
			return 0;
		}
		unhash(stale);
		if (stale->refs == 0)
			dentry_put(dentry_free(stale));
	}
	struct dentry *d = dentry_new(parent, name, inode);
	inode_put(inode);
	if (!d)
		return -ENOMEM;
	hash_add(d, hash);
	*ret = d;
	return 0;
}

int dentry_lookup(struct task *task, struct dentry *parent, struct qstr name, struct dentry **ret)
{
	if (name.length > NAME_MAX_BYTES)
		return -ENAMETOOLONG;
	uint32_t hash = hash_name(parent, name);
	struct dentry *d = find_hashed(parent, name, hash);
	if (d && (!parent->inode->sb->no_dcache || d->mount_count > 0)) {
		d->refs++;
		d->referenced = true;
		*ret = d;
		return 0;
	}
	if (parent->unlinked)
		return -ENOENT;
	return lookup_fresh(task, parent, name, hash, d, ret);
}
