#include "launch/identity.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/util.h"

/* Above the ranges that distributions and container managers hand out. */
#define IDENTITY_BASE 0x70000000u
/* Above what a pid can add to that: one range for each of 1024 launchers at a time. */
#define IDENTITY_SLOT_BASE 0x71000000u
#define IDENTITY_SLOTS	   4096u
#define IDENTITY_LAUNCHERS 1024u
/* Inside a container that maps only 65536 ids. */
#define IDENTITY_SMALL_BASE  60000u
#define IDENTITY_SMALL_COUNT 5000u
#define IDENTITY_NOBODY	     65534u

/* Whether the id exists in our own user namespace. */
static bool mapped(const char *map, uint32_t id)
{
	for (const char *line = map; *line;) {
		unsigned long first, outside, count;
		if (sscanf(line, "%lu %lu %lu", &first, &outside, &count) == 3 && id >= first &&
		    id - first < count)
			return true;
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return false;
}

static uint32_t choose(const char *map_path, uint32_t wide, uint32_t small, uint32_t own)
{
	char map[4096];
	if (io_read_file(AT_FDCWD, map_path, map, sizeof(map)) < 0)
		return IDENTITY_NOBODY;
	const uint32_t candidates[] = {
		wide,
		IDENTITY_SMALL_BASE + small % IDENTITY_SMALL_COUNT,
		IDENTITY_NOBODY,
	};
	for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
		if (mapped(map, candidates[i]))
			return candidates[i];
	}
	return own;
}

static void choose_both(uint32_t wide, uint32_t small, uint32_t *ret_uid, uint32_t *ret_gid)
{
	*ret_uid = geteuid();
	*ret_gid = getegid();
	if (*ret_uid != 0)
		return;
	*ret_uid = choose("/proc/self/uid_map", wide, small, *ret_uid);
	*ret_gid = choose("/proc/self/gid_map", wide, small, *ret_gid);
}

void identity_choose(uint32_t *ret_uid, uint32_t *ret_gid)
{
	uint32_t pid = (uint32_t)getpid();
	choose_both(IDENTITY_BASE + pid, pid, ret_uid, ret_gid);
}

void identity_choose_slot(uint32_t slot, uint32_t *ret_uid, uint32_t *ret_gid)
{
	uint32_t pid = (uint32_t)getpid();
	uint32_t range = IDENTITY_SLOT_BASE + pid % IDENTITY_LAUNCHERS * IDENTITY_SLOTS;
	choose_both(range + slot % IDENTITY_SLOTS, pid + slot, ret_uid, ret_gid);
}
