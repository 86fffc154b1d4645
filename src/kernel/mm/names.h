/*
 * Guest names of mapped host files, for /proc/PID/maps: (device, inode) of the host file behind a
 * mapping -> path in the guest. A bounded table; what has been pushed out is shown without a name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/fs/path.h"

int mm_names_init(void);

/* A guest file has been mapped (mmap, execve): remembers its present name. */
void mm_note_mapping(uint64_t dev, uint64_t ino, struct path path);

struct mm_name {
	uint64_t guest_dev, guest_ino; /* what stat(2) of the guest says */
	const char *path;	       /* valid until the next mm_note_mapping() */
};
/* False when nothing is known. */
bool mm_find_mapping(uint64_t dev, uint64_t ino, struct mm_name *ret);
