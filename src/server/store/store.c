/*
 * Theory of operation
 *
 * One connection, one thread, WAL: a commit is one write() into the log of changes and no fsync
 * (synchronous=NORMAL), so a transition costs some 50 us; a power failure may lose the last ones, but
 * leaves a sound file. Copying the log back (which does fsync) is left to a worker thread with a
 * connection of its own (store_checkpoint()), because it may take as long as the disk likes.
 *
 * Statements are one table (statements.h), prepared when first used. Errors become sentences here: a
 * full disk, a damaged file, missing rights each have a remedy.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "server/store/store_internal.h"

#define BUSY_MS	     2000
#define CHECKED_SIZE (64ll << 20) /* larger files are not checked whole at start */

int64_t store_now_us(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* ---- errors ---- */

static const struct explanation {
	int code; /* primary, of SQLite */
	int error;
	const char *text;
} explanations[] = {
	{ SQLITE_FULL, ENOSPC, "the disk is full: free some space" },
	{ SQLITE_CORRUPT, EUCLEAN,
	  "the file is damaged: restore a backup, or move it away to begin with an empty one (keys "
	  "are made anew then)" },
	{ SQLITE_NOTADB, EUCLEAN,
	  "the file is no database: restore a backup, or move it away to begin with an empty one" },
	{ SQLITE_READONLY, EROFS, "the file cannot be written: check its owner and mode" },
	{ SQLITE_CANTOPEN, EACCES,
	  "the file cannot be opened: check owner and mode of its directory" },
	{ SQLITE_PERM, EACCES, "the file cannot be opened: check its owner and mode" },
	{ SQLITE_BUSY, EBUSY, "another process holds the database" },
	{ SQLITE_IOERR, EIO, "the disk reports an error: see the host's log" },
	{ SQLITE_NOMEM, ENOMEM, "out of memory" },
};

int store_failure(struct store *s, const char *what, struct error *err)
{
	int code = s->db ? sqlite3_extended_errcode(s->db) : SQLITE_NOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(explanations); i++) {
		if (explanations[i].code != (code & 0xff))
			continue;
		error_set(err, 0, "database %s: %s (%s)", s->path, explanations[i].text, what);
		err->code = explanations[i].error;
		return -err->code;
	}
	error_set(err, 0, "database %s: %s (%s)", s->path,
		  s->db ? sqlite3_errmsg(s->db) : "out of memory", what);
	err->code = EIO;
	return -EIO;
}

/* ---- statements ---- */

sqlite3_stmt *store_statement(struct store *s, enum statement n)
{
	static const char *const sql[] = {
#define X(name, text) text,
		STATEMENTS(X)
#undef X
	};
	if (!s->statements[n]) {
		int r = sqlite3_prepare_v3(s->db, sql[n], -1, SQLITE_PREPARE_PERSISTENT,
					   &s->statements[n], NULL);
		/* Only a file that changed its schema behind our back gets here. */
		if (r != SQLITE_OK)
			fprintf(stderr, "hotcell-server: %s: %s\n", s->path, sqlite3_errmsg(s->db));
		assert(r == SQLITE_OK);
	}
	sqlite3_reset(s->statements[n]);
	sqlite3_clear_bindings(s->statements[n]);
	return s->statements[n];
}

int store_run(struct store *s, sqlite3_stmt *q, struct error *err)
{
	int r = sqlite3_step(q);
	if (r != SQLITE_DONE && r != SQLITE_ROW) {
		int saved = store_failure(s, "write", err);
		if ((r & 0xff) == SQLITE_CONSTRAINT) {
			error_set(err, EEXIST, "database %s", s->path);
			saved = -EEXIST;
		}
		sqlite3_reset(q);
		return saved;
	}
	sqlite3_reset(q);
	return 0;
}

int store_step(struct store *s, sqlite3_stmt *q, struct error *err)
{
	int r = sqlite3_step(q);
	if (r == SQLITE_ROW)
		return 1;
	int saved = r == SQLITE_DONE ? 0 : store_failure(s, "read", err);
	sqlite3_reset(q);
	return saved;
}

int store_begin(struct store *s, struct error *err)
{
	return store_run(s, store_statement(s, STATEMENT_BEGIN), err);
}

int store_end(struct store *s, int r, struct error *err)
{
	struct error ignored;
	if (r >= 0) {
		int committed = store_run(s, store_statement(s, STATEMENT_COMMIT), err);
		if (committed == 0)
			return r;
		r = committed;
	}
	/* SQLite may have rolled back by itself: then this fails, rightly. */
	if (!sqlite3_get_autocommit(s->db))
		(void)store_run(s, store_statement(s, STATEMENT_ROLLBACK), &ignored);
	return r;
}

void store_bind_text(sqlite3_stmt *q, int n, const char *text)
{
	if (text)
		sqlite3_bind_text(q, n, text, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(q, n);
}

void store_column_text(sqlite3_stmt *q, int n, char *ret, size_t size)
{
	const unsigned char *text = sqlite3_column_text(q, n);
	snprintf(ret, size, "%s", text ? (const char *)text : "");
}

/* ---- open and close ---- */

static int count_log_pages(void *ctx, sqlite3 *db, const char *name, int pages)
{
	struct store *s = ctx;
	s->log_pages = pages;
	return SQLITE_OK;
}

int store_log_pages(const struct store *s)
{
	return s->log_pages;
}

static int check_file(struct store *s, struct error *err)
{
	sqlite3_stmt *q = NULL;
	char result[128] = "";
	int r = sqlite3_prepare_v2(s->db, "PRAGMA quick_check(1)", -1, &q, NULL);
	if (r == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW)
		store_column_text(q, 0, result, sizeof(result));
	sqlite3_finalize(q);
	if (strcmp(result, "ok") == 0)
		return 0;
	if (r != SQLITE_OK || result[0] == '\0')
		return store_failure(s, "check", err);
	error_set(err, 0, "database %s: %s (%.80s)", s->path, explanations[1].text, result);
	err->code = EUCLEAN;
	return -EUCLEAN;
}

static int64_t file_size(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int64_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	if (fd >= 0)
		close(fd);
	return size;
}

static int set_up(struct store *s, struct error *err)
{
	static const char pragmas[] = "PRAGMA journal_mode = WAL;"
				      "PRAGMA synchronous = NORMAL;"
				      "PRAGMA wal_autocheckpoint = 0;"
				      "PRAGMA foreign_keys = ON;"
				      "PRAGMA trusted_schema = OFF;"
				      "PRAGMA cell_size_check = ON;"
				      "PRAGMA temp_store = MEMORY;";
	sqlite3_busy_timeout(s->db, BUSY_MS);
	if (sqlite3_exec(s->db, pragmas, NULL, NULL, NULL) != SQLITE_OK)
		return store_failure(s, "open", err);
	int r = file_size(s->path) <= CHECKED_SIZE ? check_file(s, err) : 0;
	if (r == 0)
		r = store_migrate(s, err);
	if (r < 0)
		return r;
	sqlite3_wal_hook(s->db, count_log_pages, s);
	/* A disk without room shows now, not at the first sandbox. */
	sqlite3_stmt *q = store_statement(s, STATEMENT_START);
	sqlite3_bind_int64(q, 1, store_now_us());
	return store_run(s, q, err);
}

int store_open_database(const char *path, struct store **ret, struct error *err)
{
	struct store *s = calloc(1, sizeof(*s));
	if (!s)
		return error_set(err, ENOMEM, "open %s", path);
	snprintf(s->path, sizeof(s->path), "%s", path);
	s->keys_version = -1;
	int r = 0;
	if (sqlite3_open_v2(path, &s->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
				    SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE,
			    NULL) != SQLITE_OK)
		r = store_failure(s, "open", err);
	if (r == 0)
		r = set_up(s, err);
	if (r < 0) {
		store_close_database(s);
		return r;
	}
	*ret = s;
	return 0;
}

void store_close_database(struct store *s)
{
	if (!s)
		return;
	for (int i = 0; i < STATEMENT_COUNT; i++)
		sqlite3_finalize(s->statements[i]);
	sqlite3_close(s->db);
	free(s->keys);
	free(s);
}

int store_checkpoint(const char *path)
{
	sqlite3 *db = NULL;
	int r = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	/* Only a connection that has read knows that there is a log. */
	if (r == SQLITE_OK)
		r = sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
	if (r == SQLITE_OK)
		r = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	sqlite3_close(db);
	return r == SQLITE_OK || r == SQLITE_BUSY ? 0 : -EIO;
}
