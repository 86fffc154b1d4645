/*
 * SipHash-1-3 (J.-P. Aumasson, D. J. Bernstein: "SipHash: a fast short-input PRF"), with the rounds
 * that are common for hash tables. A plain multiplicative hash does not do, even with a secret start
 * value: differences that cancel each other out whatever the key are easily found for it.
 */
#include "kernel/core/hash.h"

#include <errno.h>
#include <string.h>

#include "kernel/core/arena.h"
#include "kernel/host/random.h"

struct hash_root {
	uint64_t key[2];
};

static const struct hash_root no_key;
static const struct hash_root *root = &no_key;

int hash_init(void)
{
	struct hash_root *r = arena_root(ROOT_HASH, sizeof(*r));

	if (!r)
		return -ENOMEM;
	if (!r->key[0] && !r->key[1]) {
		int err = host_random(r->key, sizeof(r->key));
		if (err < 0)
			return err;
	}
	root = r;
	return 0;
}

struct state {
	uint64_t v0, v1, v2, v3;
};

static uint64_t rotate(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static inline void mix(struct state *s)
{
	s->v0 += s->v1;
	s->v1 = rotate(s->v1, 13) ^ s->v0;
	s->v0 = rotate(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = rotate(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = rotate(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = rotate(s->v1, 17) ^ s->v2;
	s->v2 = rotate(s->v2, 32);
}

static inline void absorb(struct state *s, uint64_t word)
{
	s->v3 ^= word;
	mix(s);
	s->v0 ^= word;
}

uint32_t hash_bytes(const void *bytes, size_t size, uint64_t seed)
{
	const uint64_t k0 = root->key[0], k1 = root->key[1];
	struct state s = { k0 ^ 0x736f6d6570736575ull, k1 ^ 0x646f72616e646f6dull,
			   k0 ^ 0x6c7967656e657261ull, k1 ^ 0x7465646279746573ull };
	const uint8_t *p = bytes;
	uint64_t word, last = (uint64_t)size << 56;

	absorb(&s, seed);
	for (size_t left = size / 8; left; left--, p += 8) {
		memcpy(&word, p, 8);
		absorb(&s, word);
	}
	for (size_t i = 0; i < size % 8; i++)
		last |= (uint64_t)p[i] << (8 * i);
	absorb(&s, last);
	s.v2 ^= 0xff;
	mix(&s);
	mix(&s);
	mix(&s);
	uint64_t h = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
	return (uint32_t)(h ^ h >> 32);
}
