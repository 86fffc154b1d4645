/*
 * Reading /proc/PID/maps and smaps of the host line by line. Nothing is kept between calls: the
 * host is the authority on address spaces, and a guest changes its own natively at any time.
 */
#include "kernel/mm/maps.h"

#include <string.h>
#include <sys/sysmacros.h>

#include "kernel/host/proc.h"

int mm_maps_begin(struct mm_maps_iter *iter, int host_tid, const char *name)
{
	iter->used = iter->next = 0;
	iter->end = false;
	iter->fd = host_proc_open(host_tid, name);
	return iter->fd < 0 ? iter->fd : 0;
}

void mm_maps_end(struct mm_maps_iter *iter)
{
	host_proc_close(iter->fd);
	iter->fd = -1;
}

static bool fill(struct mm_maps_iter *iter)
{
	if (iter->end)
		return false;
	memmove(iter->buffer, iter->buffer + iter->next, iter->used - iter->next);
	iter->used -= iter->next;
	iter->next = 0;
	size_t room = sizeof(iter->buffer) - 1 - iter->used;
	ssize_t n = room ? host_proc_next(iter->fd, iter->buffer + iter->used, room) : 0;
	if (n <= 0)
		iter->end = true;
	else
		iter->used += (size_t)n;
	return n > 0;
}

char *mm_maps_line(struct mm_maps_iter *iter)
{
	for (;;) {
		char *start = iter->buffer + iter->next;
		char *end = memchr(start, '\n', iter->used - iter->next);
		if (end) {
			*end = 0;
			iter->next = (size_t)(end - iter->buffer) + 1;
			return start;
		}
		if (!fill(iter))
			return NULL;
	}
}

static uint64_t parse_hex(char **p)
{
	uint64_t value = 0;

	for (;; (*p)++) {
		char ch = **p;
		if (ch >= '0' && ch <= '9')
			value = value << 4 | (uint64_t)(ch - '0');
		else if (ch >= 'a' && ch <= 'f')
			value = value << 4 | (uint64_t)(ch - 'a' + 10);
		else
			return value;
	}
}

static bool skip(char **p, char ch)
{
	if (**p != ch)
		return false;
	(*p)++;
	return true;
}

/* "start-end perms offset major:minor inode      name" */
bool mm_maps_parse(char *line, struct mm_map *ret)
{
	char *p = line;

	ret->start = parse_hex(&p);
	if (p == line || !skip(&p, '-'))
		return false;
	ret->end = parse_hex(&p);
	if (!skip(&p, ' ') || strlen(p) < 5)
		return false;
	memcpy(ret->perms, p, 4);
	ret->perms[4] = 0;
	p += 4;
	if (!skip(&p, ' '))
		return false;
	ret->offset = parse_hex(&p);
	if (!skip(&p, ' '))
		return false;
	unsigned major = (unsigned)parse_hex(&p);
	if (!skip(&p, ':'))
		return false;
	unsigned minor = (unsigned)parse_hex(&p); /* makedev() may evaluate its arguments twice */
	ret->dev = makedev(major, minor);
	if (!skip(&p, ' '))
		return false;
	ret->ino = 0;
	for (; *p >= '0' && *p <= '9'; p++)
		ret->ino = ret->ino * 10 + (uint64_t)(*p - '0');
	while (*p == ' ')
		p++;
	ret->name = p;
	return true;
}

bool mm_maps_next(struct mm_maps_iter *iter, struct mm_map *ret)
{
	char *line;

	while ((line = mm_maps_line(iter)))
		if (mm_maps_parse(line, ret))
			return true;
	return false;
}
