/*
 * Reading ELF images (elf(5)): everything in the file is hostile and checked here; what comes out
 * can be mapped as it is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/stub.h"

struct file;

struct elf_image {
	uint16_t type; /* ET_EXEC or ET_DYN */
	uint64_t entry, phdr; /* virtual addresses, without base; phdr 0 = not mapped */
	uint16_t phnum;
	uint64_t low, high; /* span of the PT_LOAD segments, page-aligned */
	uint64_t align;	    /* largest p_align, at least a page */
	bool exec_stack;
	char interp[256]; /* "" = none */
	uint32_t segment_count;
	struct stub_segment segments[STUB_SEGMENTS_MAX / 2]; /* addresses without base */
};

/* 0, -ENOEXEC (not an image for this machine), -EINVAL, -EIO, -ENOMEM. */
int elf_read(struct file *f, struct elf_image *ret);
