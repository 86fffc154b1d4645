/*
 * Names: a small program of calls that take paths, on a tree of few names, so that they meet each
 * other: directories, links of both kinds, renames, symlinks to anything. Afterwards all of it is
 * removed, and nothing is charged.
 */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "kernel/abi/syscalls.h"
#include "kernel/core/limits.h"
#include "kernel/fs/vfs.h"
#include "world.h"

#define DEPTH 2
#define MOVED 100 /* places for what is moved up */
#define TURNS 100

/* Components from the input: mostly those few names, sometimes any bytes. */
static const char *take_path(struct fuzz_input *in, char *text, size_t capacity)
{
	static const char *const parts[] = { "a", "b", "c", "/", "..", ".", "/w", "//", "a/", "b/", "../", "/../", "" };
	const size_t part_count = sizeof(parts) / sizeof(parts[0]);
	size_t n = 0;
	uint8_t kind = fuzz_byte(in);
	for (uint8_t left = kind % 8; left; left--) {
		uint8_t b = fuzz_byte(in);
		const char *part = parts[b % part_count];
		if (b >= 250) {
			char any[2] = { (char)fuzz_byte(in), 0 };
			n += (size_t)snprintf(text + n, capacity - n, "%s", any);
			continue;
		}
		n += (size_t)snprintf(text + n, capacity - n, "%s%s", n && text[n - 1] != '/' && *part != '/' ? "/" : "",
				      part);
	}
	text[n] = '\0';
	if (kind == 255) { /* as long as it may be, and longer */
		memset(text, 'x', capacity - 1);
		text[capacity - 1 - fuzz_byte(in)] = '\0';
	}
	return text;
}

static void look(const char *path, unsigned flags)
{
	static char name[PATH_MAX_BYTES];
	struct path p;
	if (path_lookup(world_task(), AT_FDCWD, path, flags & 0xff, &p) < 0)
		return;
	ssize_t n = path_format(p, root_path(), name, sizeof(name));
	FUZZ_CHECK(n < (ssize_t)sizeof(name));
	if (n > 0) /* with or without the NUL: what is named can be found, unless it is removed */
		FUZZ_CHECK(name[0] == '/');
	path_put(&p);
}

static void step(struct fuzz_input *in)
{
	static char one[PATH_MAX_BYTES + 300], two[PATH_MAX_BYTES + 300];
	uint8_t op = fuzz_byte(in), flags = fuzz_byte(in);
	uint64_t a = WORLD_PTR(take_path(in, one, sizeof(one)));
	uint64_t b = WORLD_PTR(op % 8 < 4 ? take_path(in, two, sizeof(two)) : "");
	switch (op % 8) {
	case 0:
		world_call(sys_rename, a, b, 0, 0, 0);
		break;
	case 1:
		world_call(sys_renameat2, (uint64_t)AT_FDCWD, a, (uint64_t)AT_FDCWD, b, flags % 8);
		break;
	case 2:
		world_call(sys_linkat, (uint64_t)AT_FDCWD, a, (uint64_t)AT_FDCWD, b, flags & 1 ? AT_SYMLINK_FOLLOW : 0);
		break;
	case 3:
		world_call(sys_symlink, a, b, 0, 0, 0);
		break;
	case 4:
		world_call(sys_mkdir, a, 0777, 0, 0, 0);
		break;
	case 5:
		world_call(sys_mknod, a, flags & 1 ? S_IFREG | 0644 : S_IFIFO | 0644, 0, 0, 0);
		break;
	case 6:
		world_call(flags & 1 ? sys_unlink : sys_rmdir, a, 0, 0, 0, 0);
		break;
	default:
		look(one, flags);
		break;
	}
}

static bool stays(const char *path)
{
	static const char *const kept[] = { "/w", "/etc" };
	const char *last = strrchr(path, '/') + 1;
	return !strcmp(path, kept[0]) || !strcmp(path, kept[1]) || !strcmp(last, ".") ||
	       !strcmp(last, "..");
}

/* Removes what is in a directory, deepest first; what is deeper than DEPTH is moved up for the next
 * turn. */
static void clean(const char *dir, int depth)
{
	uint8_t entries[4096];
	char name[300 * (DEPTH + 2)], up[16];
	static unsigned int moved;
	int fd = (int)world_call(sys_open, WORLD_PTR(*dir ? dir : "/"), O_RDONLY | O_DIRECTORY, 0, 0, 0);
	long n = world_call(sys_getdents64, (uint64_t)fd, WORLD_PTR(entries), sizeof(entries), 0, 0);
	world_call(sys_close, (uint64_t)fd, 0, 0, 0, 0);
	for (long at = 0; at < n;) {
		uint16_t length;
		memcpy(&length, entries + at + 16, sizeof(length));
		snprintf(name, sizeof(name), "%s/%s", dir, (const char *)entries + at + 19);
		at += length;
		if (stays(name) || world_call(sys_unlink, WORLD_PTR(name), 0, 0, 0, 0) != -EISDIR)
			continue;
		if (depth < DEPTH)
			clean(name, depth + 1);
		if (world_call(sys_rmdir, WORLD_PTR(name), 0, 0, 0, 0) == 0)
			continue;
		snprintf(up, sizeof(up), "/m%u", moved++ % MOVED);
		world_call(sys_rename, WORLD_PTR(name), WORLD_PTR(up), 0, 0, 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	world_task();
	uint64_t before = limit_used(LIMIT_DISK_INODES);
	for (int steps = 0; in.size && steps < 40; steps++)
		step(&in);
	world_call(sys_unlink, WORLD_PTR("/w"), 0, 0, 0, 0); /* whatever it has become */
	world_call(sys_mkdir, WORLD_PTR("/w"), 0777, 0, 0, 0);
	FUZZ_CHECK(world_call(sys_chdir, WORLD_PTR("/w"), 0, 0, 0, 0) == 0);
	for (int turn = 0; turn < TURNS && limit_used(LIMIT_DISK_INODES) > before; turn++) {
		clean("", 0);
		clean("/w", 0);
	}
	FUZZ_CHECK(limit_used(LIMIT_DISK_INODES) == before);
	return 0;
}
