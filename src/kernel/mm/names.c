/*
 * Names of mapped host files.
 *
 * A set-associative table in the arena: SETS x WAYS entries, each set in order of last use, so a
 * note costs one formatted path and at most WAYS comparisons. Names are strings, not references:
 * a table that held dentries would keep deleted files alive.
 */
#include "kernel/mm/names.h"

#include <errno.h>
#include <string.h>

#include "kernel/core/arena.h"
#include "kernel/core/user.h"
#include "kernel/fs/vfs.h"

#define SETS 256u
#define WAYS 8u

struct entry {
	uint64_t dev, ino; /* of the host file; ino 0 = free */
	uint64_t guest_dev, guest_ino;
	char *path;
};

struct mm_names {
	struct entry sets[SETS][WAYS]; /* most recently noted first */
};

static struct mm_names *names;

int mm_names_init(void)
{
	names = arena_root(ROOT_MM_NAMES, sizeof(*names));
	return names ? 0 : -ENOMEM;
}

static struct entry *set_of(uint64_t dev, uint64_t ino)
{
	uint64_t hash = (ino ^ dev * 0x9e3779b97f4a7c15ull) * 0x9e3779b97f4a7c15ull;
	return names->sets[hash >> 56];
}

static struct entry *find(uint64_t dev, uint64_t ino)
{
	struct entry *set = set_of(dev, ino);

	for (unsigned i = 0; i < WAYS; i++)
		if (set[i].ino == ino && set[i].dev == dev)
			return &set[i];
	return NULL;
}

/* Puts `e` in front of its set; what it replaces is the same file or the oldest. */
static void put_first(const struct entry *e)
{
	struct entry *set = set_of(e->dev, e->ino);
	unsigned i = 0;

	while (i < WAYS - 1 && set[i].ino && !(set[i].ino == e->ino && set[i].dev == e->dev))
		i++;
	kfree(set[i].path);
	memmove(&set[1], &set[0], i * sizeof(set[0]));
	set[0] = *e;
}

void mm_note_mapping(uint64_t dev, uint64_t ino, struct path path)
{
	char name[PATH_MAX_BYTES];
	struct entry e = { .dev = dev, .ino = ino };
	if (!ino || path_format(path, root_path(), name, sizeof(name)) < 0)
		return;
	struct entry *known = find(dev, ino);
	e.guest_dev = path.dentry->inode->sb->dev;
	e.guest_ino = path.dentry->inode->ino;
	if (known && known->path && known->guest_ino == e.guest_ino && !strcmp(known->path, name))
		return;
	e.path = kstrdup(name);
	if (e.path)
		put_first(&e);
}

bool mm_find_mapping(uint64_t dev, uint64_t ino, struct mm_name *ret)
{
	struct entry *e = ino ? find(dev, ino) : NULL;

	if (!e)
		return false;
	*ret = (struct mm_name){ e->guest_dev, e->guest_ino, e->path };
	return true;
}
