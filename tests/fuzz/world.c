#include "world.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "fuzz.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/core/limits.h"
#include "kernel/fs/file.h"
#include "kernel/fs/tree/tree_internal.h"
#include "kernel/fs/vfs_internal.h"
#include "kernel/modules.h"

static struct task *task;
static struct superblock *sb;

static void make_files(void)
{
	struct tree_options o = { .magic = TMPFS_MAGIC_NUMBER, .root_mode = 0755 };
	FUZZ_CHECK(tree_sb_new(&o, &sb) == 0);
	FUZZ_CHECK(mount_add(sb, NULL, 0, "root") == 0);
	struct inode *etc;
	FUZZ_CHECK(tree_add_path(sb->root->inode, "etc", 0755, 0, 0, &etc) == 0);
	static const char *const names[] = { "program", "script", "passwd", "group" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		FUZZ_CHECK(tree_add_file(etc, names[i], 0755, 0, 0, "", 0) == 0);
}

static void make_task(void)
{
	task = knew(struct task);
	FUZZ_CHECK(task);
	task->proc = knew(struct process);
	task->cred = cred_new(0, 0);
	task->fs = knew(struct fs_context);
	task->files = fdtable_new();
	FUZZ_CHECK(task->proc && task->cred && task->fs && task->files);
	task->proc->pid = task->tid = 7;
	task->proc->refs = 1;
	task->host_tid = task->proc->host_pid = (int)getpid();
	list_init(&task->proc->threads);
	list_add_tail(&task->proc->threads, &task->sibling);
	task->proc->rlimits[RLIMIT_NOFILE] = (struct rlimit){ 1024, 1024 };
	task->fs->refs = 1;
	task->fs->root = path_get(root_path());
	task->fs->cwd = path_get(root_path());
}

struct task *world_task(void)
{
	if (task)
		return task;
	FUZZ_CHECK(arena_init(MIB(256)) == 0 && clock_init() == 0 && limits_init() == 0);
	FUZZ_CHECK(vfs_init() == 0 && modules_init() == 0);
	limit_set(LIMIT_DISK_INODES, 100000);
	limit_set(LIMIT_FILES, 1000);
	limit_set(LIMIT_BUFFER_BYTES, MIB(64));
	make_files();
	make_task();
	FUZZ_CHECK(world_call(sys_mkdir, WORLD_PTR("/w"), 0777, 0, 0, 0) == 0);
	FUZZ_CHECK(world_call(sys_chdir, WORLD_PTR("/w"), 0, 0, 0, 0) == 0);
	return task;
}

long world_call(long (*handler)(struct call *c), uint64_t a, uint64_t b, uint64_t c, uint64_t d,
		uint64_t e)
{
	struct call call = { .task = world_task(), .args = { a, b, c, d, e } };
	list_init(&call.waiters);
	list_init(&call.run_link);
	return handler(&call);
}

void world_put(const char *name, const void *data, size_t size)
{
	struct path p;
	world_task();
	FUZZ_CHECK(path_lookup(NULL, AT_FDCWD, name, 0, &p) == 0);
	FUZZ_CHECK(tree_set_content(p.dentry->inode, data, size) == 0);
	path_put(&p);
}

uint64_t world_used(void)
{
	return limit_used(LIMIT_FILES) + limit_used(LIMIT_DISK_INODES) +
	       limit_used(LIMIT_BUFFER_BYTES);
}
