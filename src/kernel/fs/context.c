/* Root, working directory and umask of a process: what CLONE_FS shares. */
#include "kernel/core/arena.h"
#include "kernel/fs/path.h"

struct fs_context *fs_context_copy(struct fs_context *from)
{
	struct fs_context *fs = knew(struct fs_context);
	if (!fs)
		return NULL;
	fs->refs = 1;
	fs->umask = from->umask;
	fs->root = path_get(from->root);
	fs->cwd = path_get(from->cwd);
	return fs;
}

struct fs_context *fs_context_get(struct fs_context *fs)
{
	fs->refs++;
	return fs;
}

void fs_context_put(struct fs_context *fs)
{
	if (!fs || --fs->refs > 0)
		return;
	path_put(&fs->root);
	path_put(&fs->cwd);
	kfree(fs);
}
