/*
 * Hash map from byte strings to pointers, for keys that outsiders choose: SipHash-2-4 with a key of
 * random bits per map, so nobody can make them collide. Open addressing with linear probing.
 *
 * The map does not own its keys: they must live, unchanged, as long as their entry, usually inside
 * the value. Values are not NULL.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct map_slot;

struct map {
	struct map_slot *slots;
	size_t count, max;
	size_t mask; /* slots - 1; 0 = none yet */
	uint64_t secret[2];
};

/* At most `max` entries. No memory is taken yet. */
void map_init(struct map *m, size_t max);
/* Forgets the entries, not what they point to. */
void map_fini(struct map *m);
/* NULL = absent. */
void *map_find(const struct map *m, const void *key, size_t size);
void *map_find_text(const struct map *m, const char *key);
/* -EEXIST, -ENOSPC (full), -ENOMEM. */
int map_insert(struct map *m, const void *key, size_t size, void *value);
int map_insert_text(struct map *m, const char *key, void *value);
/* The value that was there, or NULL. */
void *map_remove(struct map *m, const void *key, size_t size);
void *map_remove_text(struct map *m, const char *key);
/*
 * Iterates in no order: start with *at = 0; NULL at the end. Nothing may be inserted meanwhile; the
 * entry returned last may be removed, but then another one may be seen twice or not at all.
 */
void *map_next(const struct map *m, size_t *at);

uint64_t siphash(const uint64_t secret[2], const void *data, size_t size);
