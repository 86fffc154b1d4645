/* Status flags of open files. */
#pragma once

#include <stdint.h>

struct file;

/* Sets file->flags, telling the object (F_SETFL, FIONBIO). */
int file_set_flags(struct file *f, uint32_t flags);
