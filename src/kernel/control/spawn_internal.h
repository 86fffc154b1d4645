/* Between spawn.c (records, pid 1) and spawn_child.c (what the child gets). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "kernel/core/wait.h"
#include "wire/wire.h"

struct file;
struct terminal;

#define STANDARD_FILES 3 /* 0, 1 and 2: what a terminal stands for */

enum spawn_state { SPAWN_QUEUED, SPAWN_ORDERED, SPAWN_FETCHED, SPAWN_RUNNING };

struct spawn {
	struct list link;
	uint32_t request;
	uint8_t state;
	uint8_t step; /* what is being done: enum wire_about */
	bool main;
	bool login; /* WIRE_SPAWN_LOGIN */
	bool failed;
	int guest_pid;
	struct file *files[WIRE_SPAWN_FDS_MAX]; /* what the process has at first, by number */
	uint32_t file_count;			/* up to the last of them */
	struct terminal *terminal; /* instead of 0, 1 and 2 */
	uint32_t argc, envc, args_size;
	char *args; /* argc then envc strings, back to back */
	char *path, *user, *cwd;
};

struct spawn *spawn_find(uint32_t request);
const char *spawn_default_user(void);
/* Bytes of the block that spawn_fetch() writes, at most. */
uint64_t spawn_blob_size(const struct spawn *s);
