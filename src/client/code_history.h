/*
 * What was typed in sessions, one file per language below $XDG_STATE_HOME/hotcell (~/.local/state). An
 * entry is a line of it, with line ends as \n and backslashes doubled. Entries are appended one by
 * one, so that several sessions share the file; it is cut to its newest entries at a start.
 */
#pragma once

#define HISTORY_ENTRIES_MAX 1000
#define HISTORY_ENTRY_SIZE  (64u << 10) /* longer ones are not kept */

struct history_file;

/* Calls `each` for the entries, oldest first. NULL = there is none; a session works without. */
struct history_file *history_file_open(const char *language,
				       void (*each)(void *ctx, const char *entry), void *ctx);
void history_file_add(struct history_file *h, const char *entry);
void history_file_close(struct history_file *h); /* NULL is fine */
