/*
 * The database: one SQLite file in the data directory, in WAL mode. Used from the loop's thread only.
 * Every function that changes something is one transaction, finished when it returns. A message of a
 * failure says what to do about it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct store;

/* Makes the file with the schema, or brings an older schema up to date; checks it. */
int store_open_database(const char *path, struct store **ret, struct error *err);
void store_close_database(struct store *s); /* NULL is fine */
/* Another process (`hotcell key`) may use the file at the same time; the store notices by itself. */

/* Copies the log of changes back into the file, in a connection of its own: for a worker thread. */
int store_checkpoint(const char *path);
/* Pages in the log of changes after the last transaction. */
int store_log_pages(const struct store *s);

/* Microseconds since the epoch. */
int64_t store_now_us(void);
