/* Records of volumes: name, id and token. Their content is a directory of the data directory. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct store;

struct volume {
	char id[37];
	char name[128];
	char token[48];
	int64_t created_us;
};

int volume_list(struct store *s, void (*fn)(void *ctx, const struct volume *v), void *ctx,
		struct error *err);
int volume_add(struct store *s, const char *name, struct volume *ret, struct error *err);
int volume_get(struct store *s, const char *id, struct volume *ret, struct error *err);
int volume_find(struct store *s, const char *name, struct volume *ret, struct error *err);
int volume_delete(struct store *s, const char *id, struct error *err);
