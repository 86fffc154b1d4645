/*
 * What is in use in the kernel process of tests/faults, and how two such reports differ.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "faults.h"

static struct faults_report report(void)
{
	struct faults_report r = { 0 };
	while (syscall(SYS_personality, FAULTS_SHRINK) > 0)
		;
	if (syscall(SYS_personality, FAULTS_REPORT, &r) != 0) {
		printf("Bail out! this kernel process has no faults to offer\n");
		exit(2);
	}
	return r;
}

/* NULL if there is none. */
static const char *difference(const struct faults_report *a, const struct faults_report *b)
{
	static char text[200];
	if (a->objects == b->objects && a->files == b->files && a->buffers == b->buffers && a->disk_bytes == b->disk_bytes &&
	    a->inodes == b->inodes && a->pids == b->pids)
		return NULL;
	snprintf(text, sizeof(text), "objects %+ld files %+ld buffers %+ld bytes %+ld inodes %+ld pids %+ld",
		 (long)(b->objects - a->objects), (long)(b->files - a->files), (long)(b->buffers - a->buffers),
		 (long)(b->disk_bytes - a->disk_bytes), (long)(b->inodes - a->inodes), (long)(b->pids - a->pids));
	return text;
}

/* The names of files that were mapped last are remembered: as many as there is room for. */
static void map_many(void)
{
	for (int i = 0; i < 5000; i++) {
		int fd = (int)syscall(SYS_memfd_create, "warm", 0);
		if (ftruncate(fd, 1) < 0)
			exit(3);
		munmap(mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), 1);
		close(fd);
	}
}
