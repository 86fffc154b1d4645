#include "base/map.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/util.h"

#define FIRST_SLOTS 16

struct map_slot {
	uint64_t hash;
	const void *key;
	size_t size;
	void *value; /* NULL = free */
};

/* ---- SipHash-2-4, Aumasson and Bernstein 2012 ---- */

static inline uint64_t rotate(uint64_t v, int bits)
{
	return v << bits | v >> (64 - bits);
}

static inline void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

static inline void sip_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_round(v);
	sip_round(v);
	v[0] ^= word;
}

uint64_t siphash(const uint64_t secret[2], const void *data, size_t size)
{
	uint64_t v[4] = { secret[0] ^ 0x736f6d6570736575, secret[1] ^ 0x646f72616e646f6d,
			  secret[0] ^ 0x6c7967656e657261, secret[1] ^ 0x7465646279746573 };
	const uint8_t *p = data;
	size_t rest = size % 8;
	for (const uint8_t *end = p + size - rest; p != end; p += 8) {
		uint64_t word;
		memcpy(&word, p, 8);
		sip_word(v, word);
	}
	uint64_t last = (uint64_t)size << 56;
	for (size_t i = 0; i < rest; i++)
		last |= (uint64_t)p[i] << (8 * i);
	sip_word(v, last);
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- the map ---- */

void map_init(struct map *m, size_t max)
{
	*m = (struct map){ .max = max };
	/* 16 bytes never block and never come short once the kernel's generator is seeded. */
	ssize_t got = getrandom(m->secret, sizeof(m->secret), 0);
	assert(got == sizeof(m->secret));
}

void map_fini(struct map *m)
{
	free(m->slots);
	m->slots = NULL;
	m->count = m->mask = 0;
}

/* Its slot, or the free one where it would go; NULL only of a map without slots. */
static struct map_slot *probe(const struct map *m, uint64_t hash, const void *key, size_t size)
{
	if (!m->slots)
		return NULL;
	for (size_t i = hash & m->mask;; i = (i + 1) & m->mask) {
		struct map_slot *s = &m->slots[i];
		if (!s->value)
			return s;
		if (s->hash == hash && s->size == size && memcmp(s->key, key, size) == 0)
			return s;
	}
}

static int grow(struct map *m)
{
	size_t count = m->slots ? (m->mask + 1) * 2 : FIRST_SLOTS;
	struct map_slot *slots = calloc(count, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	struct map_slot *old = m->slots;
	size_t old_count = old ? m->mask + 1 : 0;
	m->slots = slots;
	m->mask = count - 1;
	for (size_t i = 0; i < old_count; i++)
		if (old[i].value)
			*probe(m, old[i].hash, old[i].key, old[i].size) = old[i];
	free(old);
	return 0;
}

void *map_find(const struct map *m, const void *key, size_t size)
{
	if (m->count == 0)
		return NULL;
	return probe(m, siphash(m->secret, key, size), key, size)->value;
}

int map_insert(struct map *m, const void *key, size_t size, void *value)
{
	assert(value);
	uint64_t hash = siphash(m->secret, key, size);
	struct map_slot *s = probe(m, hash, key, size);
	if (s && s->value)
		return -EEXIST;
	if (m->count >= m->max)
		return -ENOSPC;
	/* At most three quarters are used: probing stays short and always ends. */
	if (!s || (m->count + 1) * 4 > (m->mask + 1) * 3) {
		int r = grow(m);
		if (r < 0)
			return r;
		s = probe(m, hash, key, size);
	}
	*s = (struct map_slot){ hash, key, size, value };
	m->count++;
	return 0;
}

/* Moves later entries of the same run back, so that no run has a hole. */
static void close_hole(struct map *m, size_t hole)
{
	for (size_t i = (hole + 1) & m->mask; m->slots[i].value; i = (i + 1) & m->mask) {
		size_t home = m->slots[i].hash & m->mask;
		bool stays = ((i - home) & m->mask) < ((i - hole) & m->mask);
		if (stays)
			continue;
		m->slots[hole] = m->slots[i];
		hole = i;
	}
	m->slots[hole] = (struct map_slot){ 0 };
}

void *map_remove(struct map *m, const void *key, size_t size)
{
	if (m->count == 0)
		return NULL;
	struct map_slot *s = probe(m, siphash(m->secret, key, size), key, size);
	void *value = s->value;
	if (!value)
		return NULL;
	close_hole(m, (size_t)(s - m->slots));
	m->count--;
	return value;
}

void *map_next(const struct map *m, size_t *at)
{
	for (size_t i = *at; m->slots && i <= m->mask; i++)
		if (m->slots[i].value) {
			*at = i + 1;
			return m->slots[i].value;
		}
	return NULL;
}

void *map_find_text(const struct map *m, const char *key)
{
	return map_find(m, key, strlen(key));
}

int map_insert_text(struct map *m, const char *key, void *value)
{
	return map_insert(m, key, strlen(key), value);
}

void *map_remove_text(struct map *m, const char *key)
{
	return map_remove(m, key, strlen(key));
}
