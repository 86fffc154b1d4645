/*
 * Hashes of bytes that a guest chooses (names): SipHash-1-3 with a key of the sandbox's own, so that
 * nobody can prepare names that all fall into one chain.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Finds or makes the key. Before any table is filled; until then the key is zero. 0 or -ENOMEM. */
int hash_init(void);

/* `seed`: what else tells entries apart (the directory of a name), 0 if nothing. */
uint32_t hash_bytes(const void *bytes, size_t size, uint64_t seed);
