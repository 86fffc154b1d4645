/*
 * File data: bytes in the arena, a read-only host file, or a store file; the moves between them,
 * and the accounting.
 *
 * Accounting of a store file: as long as the file was only ever written from the front, the pages
 * of [0, dense_end) are exactly what it has, and no host call is needed. A hole, a punch or a
 * shared writable mapping makes it `sparse`: from then on the host's st_blocks is asked after each
 * change. Charges are taken before data is written and corrected afterwards. Pages that a guest
 * makes through a mapping are charged when we next look; the store itself has a hard size. On a
 * host's disk (--store) it has none, and a host memfd (only those that can be sealed) is outside of
 * it: there the whole size of a file is charged once it is mapped shared and writable, whether
 * used or not.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/core/limits.h"
#include "kernel/fs/tree/orphan.h"
#include "kernel/fs/tree/tree_internal.h"
#include "kernel/host/host_file.h"

#define FILE_SIZE_MAX ((uint64_t)INT64_MAX - PAGE_SIZE)

static uint64_t page_up(uint64_t n)
{
	return ALIGN_UP(n, (uint64_t)PAGE_SIZE);
}

/* ---- accounting ---- */

/* All of its size counts: the guest can make any page of it without asking. */
static bool fully_charged(const struct tree_node *node)
{
	return node->mapped && (node->ref.kind == HOST_REF_MEMFD || host_store_unbounded());
}

static bool charge_to(struct inode *inode, uint64_t bytes)
{
	struct tree_node *node = tree_node(inode);

	if (bytes > node->charged_bytes) {
		if (!orphan_disk_charge(bytes - node->charged_bytes))
			return false;
	} else {
		limit_release(LIMIT_DISK_BYTES, node->charged_bytes - bytes);
	}
	node->charged_bytes = bytes;
	inode->blocks = bytes / 512;
	return true;
}

void tree_reconcile(struct inode *inode)
{
	struct tree_node *node = tree_node(inode);
	struct stat st;

	if (node->storage != TREE_STORE)
		return;
	if (!node->sparse && !node->mapped) {
		charge_to(inode, page_up(node->dense_end));
		return;
	}
	if (host_fstat(&node->ref, &st) < 0)
		return;
	uint64_t bytes = page_up((uint64_t)st.st_blocks * 512);
	if (fully_charged(node))
		bytes = MAX(bytes, page_up(inode->size));
	/* What is there is there: at the limit the charge stays where it can. */
	(void)charge_to(inode, bytes);
	inode->blocks = page_up((uint64_t)st.st_blocks * 512) / 512;
}

/* Pages that a write of [offset, end) may add. */
static uint64_t may_add(const struct tree_node *node, uint64_t offset, uint64_t end)
{
	uint64_t have = page_up(node->dense_end);
	uint64_t first = MAX(ALIGN_DOWN(offset, (uint64_t)PAGE_SIZE), have);

	return page_up(end) > first ? page_up(end) - first : 0;
}

static bool reserve(struct inode *inode, uint64_t offset, uint64_t end)
{
	struct tree_node *node = tree_node(inode);

	if (offset > page_up(node->dense_end))
		node->sparse = true;
	if (fully_charged(node))
		return charge_to(inode, MAX(node->charged_bytes, page_up(end)));
	uint64_t more = may_add(node, offset, end);
	return more == 0 || charge_to(inode, node->charged_bytes + more);
}

/* After data was written to [.., end). */
static void written(struct inode *inode, uint64_t end)
{
	struct tree_node *node = tree_node(inode);

	if (!node->sparse && end > node->dense_end)
		node->dense_end = end;
	if (end > inode->size)
		inode->size = end;
	if (node->sparse || page_up(node->dense_end) != node->charged_bytes)
		tree_reconcile(inode);
}

/* ---- inline data ---- */

static int inline_grow(struct tree_node *node, uint32_t size)
{
	uint32_t capacity = 64;

	if (size <= node->inline_capacity)
		return 0;
	while (capacity < size)
		capacity *= 2;
	char *data = krealloc(node->inline_data, node->inline_capacity, capacity);
	if (!data)
		return -ENOMEM;
	node->inline_data = data;
	node->inline_capacity = capacity;
	return 0;
}

static int inline_resize(struct inode *inode, uint64_t size)
{
	struct tree_node *node = tree_node(inode);

	if (!charge_to(inode, size ? PAGE_SIZE : 0))
		return -ENOSPC;
	int err = inline_grow(node, (uint32_t)size);
	if (err < 0)
		return err;
	if (size < inode->size)
		memset(node->inline_data + size, 0, inode->size - size);
	inode->size = size;
	return 0;
}

/* ---- moves ---- */

static void set_store(struct inode *inode, struct host_ref *store, uint64_t size)
{
	struct tree_node *node = tree_node(inode);

	host_ref_drop(&node->ref);
	host_ref_move(&node->ref, store);
	node->storage = TREE_STORE;
	node->dense_end = size;
	node->sparse = false;
	kfree(node->inline_data);
	node->inline_data = NULL;
	node->inline_capacity = 0;
}

/* The data in a store file of its own; -ENOSPC, -ENOMEM, host errors. */
static int make_store(struct inode *inode)
{
	struct tree_node *node = tree_node(inode);
	struct host_ref store;

	if (node->storage != TREE_INLINE)
		return 0;
	if (inode->size > 0 && !charge_to(inode, PAGE_SIZE))
		return -ENOSPC;
	int err = host_store_create(&store);
	if (err < 0)
		return err;
	if (inode->size > 0) {
		ssize_t n = host_pwrite(&store, node->inline_data, inode->size, 0);
		if (n != (ssize_t)inode->size) {
			host_ref_drop(&store);
			return n < 0 ? (int)n : -ENOSPC;
		}
	}
	set_store(inode, &store, inode->size);
	return 0;
}

static int copy_up_inline(struct inode *inode, uint64_t size)
{
	struct tree_node *node = tree_node(inode);
	char data[TREE_INLINE_MAX];
	ssize_t n = size ? host_pread(&node->ref, data, size, 0) : 0;

	if (n < 0)
		return (int)n;
	if (!charge_to(inode, n ? PAGE_SIZE : 0))
		return -ENOSPC;
	int err = inline_grow(node, (uint32_t)n);
	if (err < 0) {
		charge_to(inode, 0);
		return err;
	}
	if (n > 0)
		memcpy(node->inline_data, data, (size_t)n);
	host_ref_drop(&node->ref);
	node->storage = TREE_INLINE;
	inode->size = (uint64_t)n;
	return 0;
}

static int copy_up_store(struct inode *inode, uint64_t size)
{
	struct tree_node *node = tree_node(inode);
	struct host_ref store;

	if (!charge_to(inode, page_up(size)))
		return -ENOSPC;
	int err = host_store_create(&store);
	if (err == 0)
		err = host_copy(&node->ref, &store, size);
	if (err == 0)
		err = host_truncate(&store, size);
	if (err < 0) {
		host_ref_drop(&store);
		charge_to(inode, 0);
		return err;
	}
	set_store(inode, &store, size);
	inode->size = size;
	node->sparse = true; /* holes were kept: let the host count once */
	tree_reconcile(inode);
	node->sparse = node->charged_bytes < page_up(size);
	return 0;
}

/* The first change of a lower file: its first `size` bytes become ours. */
static int copy_up(struct inode *inode, uint64_t size)
{
	int err = tree_keep(inode);

	if (err < 0)
		return err;
	uint64_t blocks = inode->blocks;
	err = size <= TREE_INLINE_MAX ? copy_up_inline(inode, size) : copy_up_store(inode, size);
	if (err < 0)
		inode->blocks = blocks;
	return err;
}

void tree_data_free(struct inode *inode)
{
	struct tree_node *node = tree_node(inode);

	kfree(node->inline_data);
	node->inline_data = NULL;
	orphan_drop(&node->ref, node->charged_bytes);
	node->charged_bytes = 0;
}

int tree_set_content(struct inode *inode, const void *data, size_t size)
{
	struct tree_node *node = tree_node(inode);

	if (size > TREE_INLINE_MAX * 32)
		return -EFBIG;
	int err = inline_grow(node, (uint32_t)size);
	if (err < 0)
		return err;
	if (size)
		memcpy(node->inline_data, data, size);
	inode->size = size;
	inode->blocks = page_up(size) / 512;
	return 0;
}

/* ---- the operations ---- */

ssize_t tree_read(struct inode *inode, struct uio *u, uint64_t pos)
{
	struct tree_node *node = tree_node(inode);

	if (pos >= inode->size)
		return 0;
	if (node->storage == TREE_INLINE)
		return uio_put(u, node->inline_data + pos,
			       (size_t)MIN((uint64_t)u->resid, inode->size - pos));
	return host_read(&node->ref, u, pos, inode->size);
}

static ssize_t write_inline(struct inode *inode, struct uio *u, uint64_t pos)
{
	struct tree_node *node = tree_node(inode);
	uint64_t old_size = inode->size, end = pos + u->resid;

	if (end > old_size) {
		int err = inline_resize(inode, end);
		if (err < 0)
			return err;
	}
	ssize_t n = uio_get(u, node->inline_data + pos, u->resid);
	if (end > old_size)
		inline_resize(inode, MAX(old_size, n > 0 ? pos + (uint64_t)n : 0));
	return n;
}

/* How much of a write still fits below the limit; 0 = nothing. */
static size_t reserve_some(struct inode *inode, uint64_t pos, size_t want)
{
	while (!reserve(inode, pos, pos + want)) {
		if (want <= PAGE_SIZE) {
			/* The rest of a page that exists already costs nothing. */
			size_t rest = (size_t)(PAGE_SIZE - pos % PAGE_SIZE);
			return rest < want && reserve(inode, pos, pos + rest) ? rest : 0;
		}
		want /= 2;
	}
	return want;
}

/* One chunk of a write to a store file. */
static ssize_t write_chunk(struct inode *inode, struct uio *u, uint64_t pos)
{
	size_t want = reserve_some(inode, pos, MIN(u->resid, (size_t)SCRATCH_SIZE));

	if (want == 0)
		return -ENOSPC;
	ssize_t n = host_write(&tree_node(inode)->ref, u, want, pos);
	if (n > 0)
		written(inode, pos + (uint64_t)n);
	else
		tree_reconcile(inode);
	return n;
}

static ssize_t write_store(struct inode *inode, struct uio *u, uint64_t pos)
{
	ssize_t total = 0;

	while (u->resid > 0) {
		ssize_t n = write_chunk(inode, u, pos);
		if (n <= 0)
			return total ? total : n;
		total += n;
		pos += (uint64_t)n;
	}
	return total;
}

ssize_t tree_write(struct inode *inode, struct uio *u, uint64_t pos)
{
	struct tree_node *node = tree_node(inode);
	ssize_t n;
	int err = 0;

	if (u->resid == 0)
		return 0;
	if (pos >= FILE_SIZE_MAX || u->resid > FILE_SIZE_MAX - pos)
		return -EFBIG;
	if (node->storage == TREE_LOWER)
		err = copy_up(inode, inode->size);
	if (err == 0 && node->storage == TREE_INLINE && pos + u->resid > TREE_INLINE_MAX)
		err = make_store(inode);
	if (err < 0)
		return err;
	if (node->storage == TREE_INLINE)
		n = write_inline(inode, u, pos);
	else
		n = write_store(inode, u, pos);
	if (n > 0)
		inode->mtime = inode->ctime = clock_real();
	return n;
}

static int truncate_store(struct inode *inode, uint64_t size)
{
	struct tree_node *node = tree_node(inode);

	if (fully_charged(node) && page_up(size) > node->charged_bytes &&
	    !charge_to(inode, page_up(size)))
		return -ENOSPC;
	int err = host_truncate(&node->ref, size);
	if (err < 0) {
		tree_reconcile(inode);
		return err;
	}
	inode->size = size;
	if (size < node->dense_end)
		node->dense_end = size;
	if (size == 0)
		node->sparse = false;
	tree_reconcile(inode);
	return 0;
}

int tree_truncate(struct inode *inode, uint64_t size)
{
	struct tree_node *node = tree_node(inode);
	int err = 0;

	if (size > FILE_SIZE_MAX)
		return -EFBIG;
	if (node->storage == TREE_LOWER)
		err = copy_up(inode, MIN(size, inode->size));
	if (err == 0 && node->storage == TREE_INLINE && size > TREE_INLINE_MAX)
		err = make_store(inode);
	if (err < 0)
		return err;
	if (node->storage == TREE_INLINE)
		err = inline_resize(inode, size);
	else
		err = truncate_store(inode, size);
	if (err == 0)
		inode->mtime = inode->ctime = clock_real();
	return err;
}

/* ZERO_RANGE is not known to every store: a hole, filled again. */
static int allocate_range(struct host_ref *ref, int mode, uint64_t offset, uint64_t length)
{
	int keep = mode & FALLOC_FL_KEEP_SIZE;
	int err = 0;

	if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
		err = host_fallocate(ref, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length);
	if (err == 0 && !(mode & FALLOC_FL_PUNCH_HOLE))
		err = host_fallocate(ref, keep, offset, length);
	return err;
}

int tree_fallocate(struct inode *inode, int mode, uint64_t offset, uint64_t length)
{
	struct tree_node *node = tree_node(inode);
	uint64_t end = offset + length;
	int err;

	if (mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
		return -EOPNOTSUPP;
	if ((mode & FALLOC_FL_PUNCH_HOLE) && mode != (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE))
		return -EOPNOTSUPP;
	if (offset > FILE_SIZE_MAX || length > FILE_SIZE_MAX - offset)
		return -EFBIG;
	err = node->storage == TREE_LOWER ? copy_up(inode, inode->size) : 0;
	if (err == 0)
		err = make_store(inode);
	if (err < 0)
		return err;
	if (!(mode & FALLOC_FL_PUNCH_HOLE) && !reserve(inode, offset, end)) {
		tree_reconcile(inode);
		return -ENOSPC;
	}
	node->sparse = true;
	err = allocate_range(&node->ref, mode, offset, length);
	if (err == 0 && !(mode & FALLOC_FL_KEEP_SIZE) && end > inode->size)
		inode->size = end;
	if (err == 0)
		inode->mtime = inode->ctime = clock_real();
	tree_reconcile(inode);
	return err;
}

int tree_map_fd(struct inode *inode, bool shared_writable, int *ret_host_fd)
{
	struct tree_node *node = tree_node(inode);
	int err = 0;

	if (shared_writable && node->storage == TREE_LOWER)
		err = copy_up(inode, inode->size);
	if (err == 0)
		err = make_store(inode);
	if (err < 0)
		return err;
	int fd = host_ref_fd_mode(&node->ref, shared_writable);
	if (fd < 0)
		return fd;
	if (shared_writable && !node->mapped) {
		node->mapped = true;
		node->host_mtime = clock_real();
		if (fully_charged(node) && page_up(inode->size) > node->charged_bytes &&
		    !charge_to(inode, page_up(inode->size))) {
			node->mapped = false;
			return -ENOMEM;
		}
	}
	*ret_host_fd = fd;
	return 0;
}
