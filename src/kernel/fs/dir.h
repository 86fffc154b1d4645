/* Reading directories: see dir.c. */
#pragma once

struct dir_snapshot;
void dir_snapshot_free(struct dir_snapshot *s); /* NULL is fine */
