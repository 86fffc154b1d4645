/* What the files of the store share: statements, transactions, errors. */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

#include "server/store/keys.h"
#include "server/store/statements.h"
#include "server/store/snapshots.h"
#include "server/store/store.h"

struct cached_key {
	struct key key;
	uint8_t hash[32];
	int64_t used_written_us;
};

struct store {
	sqlite3 *db;
	char path[512];
	sqlite3_stmt *statements[STATEMENT_COUNT];
	int log_pages;
	struct cached_key *keys; /* keys.c */
	unsigned int key_count;
	int64_t keys_version; /* PRAGMA data_version when they were read; -1 = read again */
};

/* Ready to bind; NULL never: a statement that does not compile is a programming error. */
sqlite3_stmt *store_statement(struct store *s, enum statement n);
/* Runs to the end. 0, or -errno with *err set; counts changes in sqlite3_changes(). */
int store_run(struct store *s, sqlite3_stmt *q, struct error *err);
/* One row: 1, none: 0, else -errno with *err set. Reset it after use. */
int store_step(struct store *s, sqlite3_stmt *q, struct error *err);
int store_begin(struct store *s, struct error *err);
/* Commits when r >= 0, else rolls back. Returns r, or the failure of the commit. */
int store_end(struct store *s, int r, struct error *err);
/* The error of the last call, as a sentence that says what to do. */
int store_failure(struct store *s, const char *what, struct error *err);
int store_migrate(struct store *s, struct error *err);

/* NULL binds NULL; texts are not copied: they must live until the statement is reset. */
void store_bind_text(sqlite3_stmt *q, int n, const char *text);
/* Copies a column, cut to the size; NULL is "". */
void store_column_text(sqlite3_stmt *q, int n, char *ret, size_t size);

/* templates.c */
#define DEFAULT_TAG "default"

struct template_reference {
	char name[128]; /* in lower case, with its namespace if it has one */
	char tag[64];
	bool tagged; /* it names a tag; else that is DEFAULT_TAG */
};
int template_parse(const char *text, struct template_reference *ret);
int template_set_tag(struct store *s, enum statement how, const char *id, const char *tag,
		     const char *build_id, struct error *err);
