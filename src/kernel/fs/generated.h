/*
 * What the generated file systems (/proc, /sys) share: directories made of a table of paths, files
 * whose text is made when it is read.
 */
#pragma once

#include "kernel/fs/file.h"
#include "kernel/fs/seq.h"

/* The name that `path` of a table has in directory `dir`; NULL when it is not directly in there. */
const char *generated_name(const char *path, const char *dir);

/* Writes the text of an open file. 0 or -errno, which is what read(2) then answers. */
typedef int (*generate_fn)(struct file *f, struct task *reader, struct seq *s);

/*
 * The text is generated when it is read at position 0 and kept with the open file (file->priv), so
 * that one pass over a file sees one state, and a reader that seeks back gets fresh numbers.
 */
ssize_t generated_read(struct file *f, struct uio *u, uint64_t *pos, generate_fn generate);
void generated_release(struct file *f);
