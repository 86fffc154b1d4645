/*
 * API keys. Only the SHA-256 of a key is stored; the key itself is shown once, when it is made:
 * "e2b_" and 40 lower-case hexadecimal digits, the form that every SDK accepts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct store;

#define KEY_TEXT_SIZE 48

struct key_limits { /* 0 = none */
	uint32_t sandboxes;   /* at the same time */
	uint32_t cpus;	      /* sum over its sandboxes */
	uint64_t memory_mb;   /* sum over its sandboxes */
	uint32_t creates_per_second;
};

struct key {
	int64_t id;
	char uuid[37];	  /* for the API */
	char name[64];
	char mask[16];	  /* "e2b_1234...cdef" */
	struct key_limits limits;
	int64_t created_us, last_used_us, revoked_us; /* 0 = never */
};

/* 0 and *ret, or -ENOENT: unknown or revoked. Constant time in the key; answers from memory. */
int key_check(struct store *s, const char *text, struct key *ret);
/* By number; -ENOENT. */
int key_get(struct store *s, int64_t id, struct key *ret);
int key_add(struct store *s, const char *name, const struct key_limits *limits,
	    char ret_text[KEY_TEXT_SIZE], struct key *ret, struct error *err);
int key_list(struct store *s, void (*fn)(void *ctx, const struct key *k), void *ctx,
	     struct error *err);
/* By name or uuid. -ENOENT. */
int key_revoke(struct store *s, const char *name, struct error *err);
