/*
 * Keys are few and asked for with every request: they are kept in memory, and read again when another
 * connection (`hotcell key`) has changed the file, which SQLite tells by a counter.
 */
#include "server/store/keys.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/util.h"
#include "server/store/store_internal.h"

#define KEY_PREFIX    "e2b_"
#define KEY_DIGITS    40
#define KEYS_MAX      10000
#define USED_EVERY_US 60000000

static void hash_text(const char *text, uint8_t ret[32])
{
	SHA256((const unsigned char *)text, strlen(text), ret);
}

static uint32_t column_u32(sqlite3_stmt *q, int n)
{
	int64_t v = sqlite3_column_int64(q, n);
	return v < 0 ? 0 : v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static void read_key(sqlite3_stmt *q, struct cached_key *ret)
{
	struct key *k = &ret->key;
	memset(ret, 0, sizeof(*ret));
	k->id = sqlite3_column_int64(q, 0);
	store_column_text(q, 1, k->uuid, sizeof(k->uuid));
	store_column_text(q, 2, k->name, sizeof(k->name));
	store_column_text(q, 3, k->mask, sizeof(k->mask));
	k->limits.sandboxes = column_u32(q, 4);
	k->limits.cpus = column_u32(q, 5);
	k->limits.memory_mb = column_u32(q, 6);
	k->limits.creates_per_second = column_u32(q, 7);
	k->created_us = sqlite3_column_int64(q, 8);
	k->last_used_us = ret->used_written_us = sqlite3_column_int64(q, 9);
	k->revoked_us = sqlite3_column_int64(q, 10);
	if (sqlite3_column_bytes(q, 11) == sizeof(ret->hash))
		memcpy(ret->hash, sqlite3_column_blob(q, 11), sizeof(ret->hash));
	else
		k->revoked_us = 1; /* never made by us */
}

/* ---- the copy in memory ---- */

static int64_t data_version(struct store *s)
{
	struct error ignored;
	sqlite3_stmt *q = store_statement(s, STATEMENT_DATA_VERSION);
	int64_t v = store_step(s, q, &ignored) == 1 ? sqlite3_column_int64(q, 0) : -2;
	sqlite3_reset(q);
	return v;
}

static int append_key(struct store *s, unsigned int *capacity, sqlite3_stmt *q)
{
	if (s->key_count == KEYS_MAX)
		return 0;
	if (s->key_count == *capacity) {
		unsigned int more = *capacity ? *capacity * 2 : 16;
		struct cached_key *keys = reallocarray(s->keys, more, sizeof(*keys));
		if (!keys)
			return -ENOMEM;
		s->keys = keys;
		*capacity = more;
	}
	read_key(q, &s->keys[s->key_count++]);
	return 0;
}

static int load(struct store *s, struct error *err)
{
	int64_t version = data_version(s);
	if (version == s->keys_version)
		return 0;
	sqlite3_stmt *q = store_statement(s, STATEMENT_KEY_LIST);
	unsigned int capacity = 0;
	int r;
	free(s->keys);
	s->keys = NULL;
	s->key_count = 0;
	while ((r = store_step(s, q, err)) == 1) {
		if (append_key(s, &capacity, q) < 0) {
			sqlite3_reset(q);
			s->keys_version = -1;
			return error_set(err, ENOMEM, "read the keys");
		}
	}
	s->keys_version = r == 0 ? version : -1;
	return r;
}

/* Once a minute: a write for every request would cost more than the request. */
static void note_use(struct store *s, struct cached_key *k)
{
	struct error ignored;
	k->key.last_used_us = store_now_us();
	if (k->key.last_used_us - k->used_written_us < USED_EVERY_US)
		return;
	sqlite3_stmt *q = store_statement(s, STATEMENT_KEY_USED);
	sqlite3_bind_int64(q, 1, k->key.id);
	sqlite3_bind_int64(q, 2, k->key.last_used_us);
	(void)store_run(s, q, &ignored); /* a statistic */
	k->used_written_us = k->key.last_used_us;
}

int key_check(struct store *s, const char *text, struct key *ret)
{
	struct error ignored;
	uint8_t hash[32];
	struct cached_key *found = NULL;
	if (load(s, &ignored) < 0)
		return -ENOENT;
	hash_text(text, hash);
	/* All of them, always: the time tells nothing. */
	for (unsigned int i = 0; i < s->key_count; i++) {
		if (CRYPTO_memcmp(s->keys[i].hash, hash, sizeof(hash)) == 0)
			found = &s->keys[i];
	}
	if (!found || found->key.revoked_us)
		return -ENOENT;
	note_use(s, found);
	*ret = found->key;
	return 0;
}

int key_get(struct store *s, int64_t id, struct key *ret)
{
	struct error ignored;
	if (load(s, &ignored) < 0)
		return -ENOENT;
	for (unsigned int i = 0; i < s->key_count; i++) {
		if (s->keys[i].key.id != id)
			continue;
		*ret = s->keys[i].key;
		return 0;
	}
	return -ENOENT;
}

/* ---- changes ---- */

static int check_name(const char *name, struct error *err)
{
	size_t n = strlen(name);
	if (n == 0 || n >= sizeof(((struct key *)0)->name))
		return error_say(err, EINVAL, "a key's name has 1 to 63 bytes");
	for (const unsigned char *p = (const unsigned char *)name; *p; p++) {
		if (*p < 0x20 || *p == 0x7f)
			return error_say(err, EINVAL, "a key's name has no control characters");
	}
	return 0;
}

int key_add(struct store *s, const char *name, const struct key_limits *limits,
	    char ret_text[KEY_TEXT_SIZE], struct key *ret, struct error *err)
{
	struct cached_key k = { .key = { .limits = *limits } };
	char text[KEY_TEXT_SIZE] = KEY_PREFIX;
	int r = check_name(name, err);
	if (r < 0)
		return r;
	random_text(text + strlen(KEY_PREFIX), KEY_DIGITS, RANDOM_HEX);
	hash_text(text, k.hash);
	random_uuid(k.key.uuid);
	snprintf(k.key.name, sizeof(k.key.name), "%s", name);
	snprintf(k.key.mask, sizeof(k.key.mask), "%.8s...%s", text, text + strlen(text) - 4);
	k.key.created_us = store_now_us();
	sqlite3_stmt *q = store_statement(s, STATEMENT_KEY_INSERT);
	store_bind_text(q, 1, k.key.uuid);
	store_bind_text(q, 2, k.key.name);
	store_bind_text(q, 3, k.key.mask);
	sqlite3_bind_blob(q, 4, k.hash, sizeof(k.hash), SQLITE_STATIC);
	sqlite3_bind_int64(q, 5, limits->sandboxes);
	sqlite3_bind_int64(q, 6, limits->cpus);
	sqlite3_bind_int64(q, 7, (int64_t)limits->memory_mb);
	sqlite3_bind_int64(q, 8, limits->creates_per_second);
	sqlite3_bind_int64(q, 9, k.key.created_us);
	r = store_run(s, q, err);
	if (r == -EEXIST)
		return error_set(err, EEXIST, "key '%s'", name);
	if (r < 0)
		return r;
	k.key.id = sqlite3_last_insert_rowid(s->db);
	s->keys_version = -1; /* our own changes do not count in data_version */
	memcpy(ret_text, text, sizeof(text));
	*ret = k.key;
	return 0;
}

int key_list(struct store *s, void (*fn)(void *ctx, const struct key *k), void *ctx,
	     struct error *err)
{
	int r = load(s, err);
	for (unsigned int i = 0; r == 0 && i < s->key_count; i++)
		fn(ctx, &s->keys[i].key);
	return r;
}

int key_revoke(struct store *s, const char *name, struct error *err)
{
	sqlite3_stmt *q = store_statement(s, STATEMENT_KEY_REVOKE);
	store_bind_text(q, 1, name);
	sqlite3_bind_int64(q, 2, store_now_us());
	int r = store_run(s, q, err);
	if (r < 0)
		return r;
	s->keys_version = -1;
	return sqlite3_changes(s->db) ? 0 : error_set(err, ENOENT, "key '%.100s'", name);
}
