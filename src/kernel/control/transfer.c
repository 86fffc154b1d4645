/*
 * FS_READ and FS_WRITE: a file's bytes to and from a stream of the peer. One piece per turn; where
 * the stream takes or has no more, the transfer sleeps until it does. Nothing is kept between pieces:
 * what the stream did not take is read again, which the page cache makes cheap.
 *
 * A read ends where the file ended when it began, so that a program that keeps writing cannot feed it
 * for ever; files that do not know their size (/proc) are read to their end. A write that fails or
 * is cancelled leaves what has arrived.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/util.h"
#include "kernel/control/control.h"
#include "kernel/control/fs_internal.h"
#include "kernel/control/op_kinds.h"
#include "kernel/control/stream.h"
#include "kernel/core/arena.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/rw.h"
#include "kernel/fs/vfs.h"
#include "kernel/host/channel_host.h"

#define PIECE_MAX    (256u << 10)
#define PIECE_MIN    (32u << 10)
#define METADATA_MAX 16384u /* bytes of all keys and values */

struct transfer {
	struct op op;
	struct stream stream;
	struct file *file;
	uint64_t pos;
	uint64_t left;	/* READ: still to send */
	uint32_t piece; /* READ: what the stream is likely to take */
	struct user user;
	char *metadata; /* WRITE: strings back to back */
	uint32_t metadata_count;
	char path[PATH_MAX_BYTES];
};

static char buffer[PIECE_MAX];

static struct transfer *transfer_of(struct op *op)
{
	return container_of(op, struct transfer, op);
}

static void release(struct op *op)
{
	struct transfer *t = transfer_of(op);

	stream_close(&t->stream);
	if (t->file)
		file_put(t->file);
	kfree(t->metadata);
}

void read_release(struct op *op)
{
	release(op);
}

void write_release(struct op *op)
{
	release(op);
}

static enum op_result fail(struct transfer *t, int error)
{
	fs_refuse(t->op.request, error, t->path);
	return OP_END;
}

/* The peer closed its end, or gave us something that does not work. */
static enum op_result fail_stream(struct transfer *t, int error)
{
	control_error(t->op.request, -error, WIRE_ABOUT_REQUEST, "the passed stream");
	return OP_END;
}

/* The record with its stream; the request's descriptor is used up. */
static int transfer_new(enum op_kind kind, struct fs_request *r, struct transfer **ret)
{
	struct transfer *t;
	int err = op_new(kind, r->request, sizeof(*t), &t);

	if (err < 0) {
		host_close(r->fd);
		return err;
	}
	memcpy(t->path, r->path, sizeof(t->path));
	t->user = r->user;
	t->piece = PIECE_MAX;
	err = stream_open(&t->stream, &t->op, r->fd);
	if (err < 0) {
		op_free(&t->op);
		return err;
	}
	*ret = t;
	return 0;
}

/* ---- to the peer ---- */

static int open_for_reading(struct transfer *t, const struct wire_fs *w)
{
	int r = file_open_kernel(t->path, O_RDONLY, 0, &t->file);

	if (r < 0)
		return r;
	if (!file_ops(t->file)->read)
		return -EINVAL;
	uint64_t size = t->file->inode->size;
	struct kstat st;
	if (vfs_stat(NULL, t->file->path, &st) == 0)
		size = st.size;
	t->pos = w->offset;
	t->left = w->length;
	if (size > 0)
		t->left = w->offset < size ? MIN(w->length, size - w->offset) : 0;
	return 0;
}

void fs_read(struct fs_request *r)
{
	struct transfer *t;
	int err = r->wire->offset <= INT64_MAX ? transfer_new(OP_READ, r, &t) : -EINVAL;

	if (err < 0) {
		control_error(r->request, -err, WIRE_ABOUT_REQUEST, r->path);
		return;
	}
	err = open_for_reading(t, r->wire);
	if (err < 0) {
		fs_refuse(r->request, err, r->path);
		op_free(&t->op);
		return;
	}
	fs_send_entry(r->request, t->file->path, r->path);
	op_start(&t->op);
}

static enum op_result end_of_read(struct transfer *t)
{
	stream_end(&t->stream);
	stream_close(&t->stream); /* before DONE: what the stream says is complete by then */
	control_done(t->op.request);
	return OP_END;
}

enum op_result read_step(struct op *op)
{
	struct transfer *t = transfer_of(op);
	size_t want = (size_t)MIN(t->left, (uint64_t)t->piece);
	uint64_t pos = t->pos;
	struct uio u;

	if (!want)
		return end_of_read(t);
	uio_kernel(&u, buffer, want);
	ssize_t got = file_ops(t->file)->read(t->file, &u, &pos);
	if (got < 0)
		return fail(t, (int)got);
	if (got == 0)
		return end_of_read(t);
	ssize_t sent = stream_write(&t->stream, buffer, (size_t)got);
	if (sent == -EAGAIN)
		return OP_WAIT;
	if (sent < 0)
		return fail_stream(t, (int)sent);
	t->pos += (uint64_t)sent;
	t->left -= (uint64_t)sent;
	if (sent < got)
		t->piece = MAX(ALIGN_UP((uint32_t)sent, 4096u), PIECE_MIN);
	else if (t->piece < PIECE_MAX)
		t->piece *= 2;
	t->piece = MIN(t->piece, PIECE_MAX);
	return OP_AGAIN;
}

/* ---- from the peer ---- */

static int copy_metadata(struct transfer *t, const struct wire_fs *w)
{
	char *at = buffer;
	size_t total = 0;

	for (uint32_t i = 0; i < w->metadata_count; i++) {
		size_t key = strlen(w->metadata[i].key) + 1;
		size_t value = strlen(w->metadata[i].value) + 1;
		total += key + value;
		if (total > METADATA_MAX)
			return -E2BIG;
		memcpy(at, w->metadata[i].key, key);
		memcpy(at + key, w->metadata[i].value, value);
		at += key + value;
	}
	t->metadata = kmemdup0(buffer, total);
	t->metadata_count = w->metadata_count;
	return t->metadata ? 0 : -ENOMEM;
}

static int open_for_writing(struct transfer *t)
{
	int r = fs_make_parents(t->path, &t->user);

	if (r == 0)
		r = file_open_kernel(t->path, O_WRONLY | O_CREAT | O_TRUNC, 0644, &t->file);
	if (r < 0)
		return r;
	r = fs_set_owner(t->file->path, t->user.uid, t->user.gid);
	/* Files of a host directory have the owner that the host gives them. */
	return t->file->inode->ops == IOPS_HOST ? 0 : r;
}

void fs_write(struct fs_request *r)
{
	struct transfer *t;
	int err = transfer_new(OP_WRITE, r, &t);

	if (err < 0) {
		control_error(r->request, -err, WIRE_ABOUT_REQUEST, r->path);
		return;
	}
	err = copy_metadata(t, r->wire);
	if (err == 0)
		err = open_for_writing(t);
	if (err < 0) {
		fs_refuse(r->request, err, r->path);
		op_free(&t->op);
		return;
	}
	op_start(&t->op);
}

static enum op_result end_of_write(struct transfer *t)
{
	int r = fs_set_metadata(t->file->inode, t->metadata, t->metadata_count);

	if (r < 0)
		return fail(t, r);
	struct path p = path_get(t->file->path);
	file_put(t->file);
	t->file = NULL;
	fs_send_entry(t->op.request, p, t->path);
	path_put(&p);
	return OP_END;
}

static int write_all(struct file *f, size_t size, uint64_t *pos)
{
	struct uio u;

	uio_kernel(&u, buffer, size);
	while (u.resid > 0) {
		ssize_t n = file_ops(f)->write(f, &u, pos);
		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
	}
	file_modified(NULL, f);
	return 0;
}

enum op_result write_step(struct op *op)
{
	struct transfer *t = transfer_of(op);
	ssize_t got = stream_read(&t->stream, buffer, PIECE_MAX);

	if (got == -EAGAIN)
		return OP_WAIT;
	if (got < 0)
		return fail_stream(t, (int)got);
	if (got == 0)
		return end_of_write(t);
	int r = write_all(t->file, (size_t)got, &t->pos);
	return r < 0 ? fail(t, r) : OP_AGAIN;
}
