/* Tables of paths and generated text; see generated.h. */
#include "kernel/fs/generated.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "kernel/core/arena.h"

const char *generated_name(const char *path, const char *dir)
{
	size_t length = strlen(dir);

	if (length) {
		if (strncmp(path, dir, length) || path[length] != '/')
			return NULL;
		path += length + 1;
	}
	return *path && !strchr(path, '/') ? path : NULL;
}

void generated_release(struct file *f)
{
	struct seq *s = f->priv;

	if (!s)
		return;
	seq_free(s);
	kfree(s);
	f->priv = NULL;
}

/* After a failure nothing is kept: the next read tries again. */
static int renew(struct file *f, struct task *reader, generate_fn generate)
{
	struct seq *s = f->priv ? f->priv : knew(struct seq);

	if (!s)
		return -ENOMEM;
	f->priv = s;
	s->size = 0;
	s->error = 0;
	int error = generate(f, reader, s);
	if (!error)
		error = s->error;
	if (error)
		generated_release(f);
	return error;
}

ssize_t generated_read(struct file *f, struct uio *u, uint64_t *pos, generate_fn generate)
{
	if (!f->priv || *pos == 0) {
		int error = renew(f, u->task, generate);
		if (error)
			return error;
	}
	const struct seq *s = f->priv;
	if (*pos >= s->size)
		return 0;
	ssize_t n = uio_put(u, s->data + *pos, MIN(u->resid, s->size - (size_t)*pos));
	if (n > 0)
		*pos += (uint64_t)n;
	return n;
}
