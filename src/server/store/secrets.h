/* Secrets: named values that are stored and never returned. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct store;

#define SECRET_ID_PREFIX "sec_"

struct secret {
	char id[41];   /* SECRET_ID_PREFIX and a uuid */
	char name[129];
	uint32_t version;
	const char *metadata; /* JSON object of strings, valid during the call */
	int64_t created_us, updated_us;
};

/* In the order of name; after "" = from the beginning. limit rows at most. */
int secret_list(struct store *s, const char *after, unsigned int limit,
		void (*fn)(void *ctx, const struct secret *x), void *ctx, struct error *err);
/* The others take a name or an id. -EEXIST, -ENOENT. fn gets the secret as it is then. */
int secret_add(struct store *s, const char *name, const char *value, const char *metadata,
	       void (*fn)(void *ctx, const struct secret *x), void *ctx, struct error *err);
int secret_get(struct store *s, const char *name, void (*fn)(void *ctx, const struct secret *x),
	       void *ctx, struct error *err);
/* A new version; value or metadata NULL = as it was. */
int secret_update(struct store *s, const char *name, const char *value, const char *metadata,
		  void (*fn)(void *ctx, const struct secret *x), void *ctx, struct error *err);
int secret_delete(struct store *s, const char *name, struct error *err);
