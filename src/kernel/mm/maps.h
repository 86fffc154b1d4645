/*
 * The mappings of a guest process, read from the host a piece at a time:
 *
 *	struct mm_maps_iter iter;
 *	if (!mm_maps_begin(&iter, host_tid, "maps")) {
 *		while (mm_maps_next(&iter, &map))
 *			...
 *		mm_maps_end(&iter);
 *	}
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mm_map {
	uint64_t start, end, offset;
	uint64_t dev; /* makedev(3) form */
	uint64_t ino; /* 0: anonymous */
	char perms[5];
	const char *name; /* as the host says it; valid until the next step */
};

struct mm_maps_iter {
	int fd;
	size_t used, next; /* bytes in the buffer, start of the next line */
	bool end;
	char buffer[6000]; /* a line with the longest path fits */
};

/* `name`: "maps", "smaps" or another file of lines. 0 or -errno. */
int mm_maps_begin(struct mm_maps_iter *iter, int host_tid, const char *name);
/* The next line without its newline, NUL-terminated; NULL at the end. */
char *mm_maps_line(struct mm_maps_iter *iter);
/* The next mapping; lines that are not one are skipped. */
bool mm_maps_next(struct mm_maps_iter *iter, struct mm_map *ret);
bool mm_maps_parse(char *line, struct mm_map *ret);
void mm_maps_end(struct mm_maps_iter *iter);
