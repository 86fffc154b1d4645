/* Records of sandboxes. Each function is one transaction. */
#pragma once

#include "server/sandbox/sandbox.h"

struct store;

int record_insert(struct store *s, const struct sandbox_record *r, struct error *err);
/* Writes state, end_us, ended_us and reason. */
int record_update(struct store *s, const struct sandbox_record *r, struct error *err);
int record_update_network(struct store *s, const struct sandbox_record *r, struct error *err);
/* *ret is initialised; record_fini() it. -ENOENT. */
int record_get(struct store *s, const char *id, struct sandbox_record *ret, struct error *err);
int record_list(struct store *s, const struct sandbox_filter *f,
		void (*fn)(void *ctx, const struct sandbox_record *r), void *ctx, bool *ret_more,
		struct error *err);
/* Every record that is not ended is, from now on, for this reason. Returns how many. */
int record_end_all(struct store *s, const char *reason, struct error *err);
/* Deletes the ended ones that ended before, and the oldest beyond `keep`. fn gets their ids. */
int record_prune(struct store *s, int64_t before_us, unsigned int keep,
		 void (*fn)(void *ctx, const char *id), void *ctx, struct error *err);

/* Frees the strings. */
void record_fini(struct sandbox_record *r);
