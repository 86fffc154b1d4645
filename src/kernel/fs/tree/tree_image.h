/*
 * Every tree file system of the sandbox as an image (checkpoint/image.h), and back. Record by record, so
 * that whoever drives it can stop between two. While an image is taken nothing may change a name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/checkpoint/image.h"

struct inode;
struct list;
struct superblock;
struct tree_xattr;

/* ---- taking: tree_save.c ---- */

struct tree_save {
	uint8_t phase;
	struct save_frame *frames; /* the open directories */
	uint32_t depth, capacity;
	struct list *mount;	     /* of the mount list */
	struct inode *current;	     /* of the last NODE */
	const char *name;	     /* its name */
	struct tree_xattr *xattr;    /* the next of its attributes */
	uint64_t offset, extent_end; /* in its data */
	uint64_t first_link;	     /* link numbers begin behind it */
	uint64_t records;
};

/* Zeroed is the beginning. 1 = *ret, valid until the next call; 0 = that was all; -ENOMEM and errors of
 * reading. */
int tree_save_next(struct tree_save *s, struct image_record *ret);
void tree_save_end(struct tree_save *s);

/* ---- putting back: tree_load.c ---- */

struct tree_load {
	bool begun;
	bool root_due;		   /* a MOUNT wants its root */
	bool skip;		   /* until the next MOUNT: nothing is mounted there */
	struct superblock *sb;	   /* of the MOUNT, NULL before the first one */
	struct load_frame *frames; /* the open directories */
	uint32_t depth, capacity;
	struct inode *current; /* of the last NODE, NULL when that is not there; held by its name */
	struct image_attr attr; /* what it is to have when it is complete */
	struct inode **links;	/* NODEs with more than one name, by number - 1; NULL = not there */
	uint32_t link_count, link_capacity;
	uint64_t records;
	uint64_t missing; /* references to files that the template does not have */
};

/*
 * Applies a record to a sandbox that is as it was started: *l zeroed at first. 0; 1 = that was the END;
 * -EPROTO = not an image; -ENOSPC, -ENOMEM and others. After an error the files are neither as before nor
 * as in the image.
 */
int tree_load_record(struct tree_load *l, const struct image_record *r);
void tree_load_end(struct tree_load *l);
