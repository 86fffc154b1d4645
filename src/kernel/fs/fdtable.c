/*
 * Descriptor tables: what CLONE_FILES shares and fork copies.
 *
 * A plain array of entries, grown by doubling up to RLIMIT_NOFILE. `first_free` is a lower bound of
 * the lowest free number, so that the usual open and close cost no search.
 *
 * The guest process may own a host descriptor of the same number, installed for mmap
 * (fd_entry.injected). It goes when the guest closes its own: close(2) is then completed by the host
 * (see openclose.c); exec drops all of them, they are close-on-exec.
 */
#include <errno.h>

#include "kernel/core/arena.h"
#include "kernel/fs/file.h"
#include "kernel/fs/locks.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/task.h"

#define CAPACITY_INITIAL 32u
#define CAPACITY_MAX (1u << 20)

struct fdtable *fdtable_new(void)
{
	struct fdtable *t = knew(struct fdtable);
	if (!t)
		return NULL;
	t->entries = knew_array(struct fd_entry, CAPACITY_INITIAL);
	if (!t->entries) {
		kfree(t);
		return NULL;
	}
	t->refs = 1;
	t->capacity = CAPACITY_INITIAL;
	return t;
}

/* One past the highest descriptor in use. */
static uint32_t highest(const struct fdtable *t)
{
	uint32_t n = t->capacity;
	while (n > 0 && !t->entries[n - 1].file)
		n--;
	return n;
}

struct fdtable *fdtable_copy(const struct fdtable *from)
{
	struct fdtable *t = knew(struct fdtable);
	uint32_t n = highest(from), capacity = CAPACITY_INITIAL;
	if (!t)
		return NULL;
	while (capacity < n)
		capacity *= 2;
	t->entries = knew_array(struct fd_entry, capacity);
	if (!t->entries) {
		kfree(t);
		return NULL;
	}
	t->refs = 1;
	t->capacity = capacity;
	t->count = from->count;
	t->first_free = from->first_free;
	for (uint32_t i = 0; i < n; i++) {
		t->entries[i] = from->entries[i];
		if (t->entries[i].file)
			file_get(t->entries[i].file);
	}
	return t;
}

struct fdtable *fdtable_get(struct fdtable *t)
{
	t->refs++;
	return t;
}

/* What every close of a descriptor does with its file. */
static void close_file(struct fdtable *t, struct file *f, struct task *closer)
{
	if (file_ops(f)->flush)
		file_ops(f)->flush(f, closer);
	if (f->inode->locks)
		locks_close(f, t);
	file_put(f);
}

static void clear_entry(struct fdtable *t, uint32_t fd, struct task *closer)
{
	struct file *f = t->entries[fd].file;
	t->entries[fd] = (struct fd_entry){ 0 };
	t->count--;
	if (fd < t->first_free)
		t->first_free = fd;
	close_file(t, f, closer);
}

void fdtable_put(struct fdtable *t, struct task *closer)
{
	if (!t || --t->refs > 0)
		return;
	for (uint32_t i = 0; i < t->capacity && t->count > 0; i++) {
		if (t->entries[i].file)
			clear_entry(t, i, closer);
	}
	kfree(t->entries);
	kfree(t);
}

void fdtable_close_on_exec(struct fdtable *t, struct task *task)
{
	for (uint32_t i = 0; i < t->capacity; i++) {
		struct fd_entry *e = &t->entries[i];
		e->injected = false;
		if (e->file && e->cloexec)
			clear_entry(t, i, task);
	}
}

struct fd_entry *fd_entry(struct task *t, int fd)
{
	struct fdtable *files = t->files;
	if ((unsigned)fd >= files->capacity || !files->entries[fd].file)
		return NULL;
	return &files->entries[fd];
}

struct file *fd_file(struct task *t, int fd)
{
	struct fd_entry *e = fd_entry(t, fd);
	return e ? e->file : NULL;
}

/* Makes room for descriptor `fd`. */
static int grow(struct fdtable *t, uint32_t fd)
{
	uint32_t capacity = t->capacity;
	if (fd < capacity)
		return 0;
	while (capacity <= fd)
		capacity *= 2;
	if (capacity > CAPACITY_MAX)
		return -EMFILE;
	struct fd_entry *e = krealloc(t->entries, t->capacity * sizeof(*e), capacity * sizeof(*e));
	if (!e)
		return -ENOMEM;
	t->entries = e;
	t->capacity = capacity;
	return 0;
}

static void set_entry(struct fdtable *t, uint32_t fd, struct file *f, bool cloexec)
{
	t->entries[fd] = (struct fd_entry){ .file = f, .cloexec = cloexec };
	t->count++;
}

int fd_install(struct task *task, struct file *f, int min, bool cloexec)
{
	struct fdtable *t = task->files;
	uint64_t limit = task_rlimit(task, RLIMIT_NOFILE);
	uint32_t fd = MAX((uint32_t)min, t->first_free);
	while (fd < t->capacity && t->entries[fd].file)
		fd++;
	if (fd >= limit)
		return -EMFILE;
	int r = grow(t, fd);
	if (r < 0)
		return r;
	if ((uint32_t)min <= t->first_free)
		t->first_free = fd + 1;
	set_entry(t, fd, f, cloexec);
	return (int)fd;
}

int fd_install_at(struct task *task, struct file *f, int fd, bool cloexec)
{
	struct fdtable *t = task->files;
	if (fd < 0 || (uint64_t)fd >= task_rlimit(task, RLIMIT_NOFILE))
		return -EBADF;
	int r = grow(t, (uint32_t)fd);
	if (r < 0)
		return r;
	bool injected = t->entries[fd].injected; /* the host's descriptor stays where it is */
	if (t->entries[fd].file)
		clear_entry(t, (uint32_t)fd, task);

	if ((uint32_t)fd == t->first_free)
		t->first_free++;
	set_entry(t, (uint32_t)fd, f, cloexec);
	t->entries[fd].injected = t->entries[fd].injected_stale = injected;
	return fd;
}

int fd_close(struct task *task, int fd)
{
	if (!fd_entry(task, fd))
		return -EBADF;
	clear_entry(task->files, (uint32_t)fd, task);
	return 0;
}

long fd_return(struct call *c, struct file *f, bool cloexec)
{
	if (!f)
		return -ENOMEM;
	int fd = fd_install(c->task, f, 0, cloexec);
	if (fd < 0)
		file_put(f);
	return fd;
}
