/*
 * Snapshots of sandboxes: templates whose builds are files. A template is made by the first snapshot
 * and gets a build with each further one of the same name; its tags point to builds. A build that no
 * tag points to goes, as does a template without builds.
 *
 * A build's file is named like the build; server/snapshot/files.h keeps them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct store;

struct snapshot_build {
	char build_id[37];
	char template_id[64];
	char base[64];	     /* the built-in template below */
	char sandbox_id[24]; /* the source */
	uint32_t cpu_count, memory_mb, disk_mb;
	uint64_t size; /* of the file */
	int64_t created_us;
};

/* One that a client sees: a tag. */
struct snapshot {
	char id[256];	/* "TEMPLATE_ID:TAG", or "TEAM/NAME:TAG" when it has a name */
	char name[192]; /* "TEAM/NAME:TAG" or "" */
	char template_id[64], tag[64];
	char sandbox_id[24];
	uint64_t size;
	int64_t created_us;
};

/* Whether a snapshot can be called that: "name", "name:tag", "team/name", "team/name:tag". -EINVAL: not
 * a name, or of another team; -EEXIST: something else has it. */
int snapshot_check_name(struct store *s, const char *name, struct error *err);
/*
 * Adds a build: of a new template, or with the name (NULL = none) of an old one, of that. template_id
 * and created_us of the build are filled in; env is JSON text or NULL. Then snapshot_reap().
 */
int snapshot_add(struct store *s, const char *name, struct snapshot_build *build, const char *env,
		 struct snapshot *ret, struct error *err);

struct snapshot_filter {
	const char *sandbox_id; /* NULL = any */
	const char *name;	/* name or id, with or without a tag; NULL = any */
	unsigned int limit;
	/* The last row of the page before; after_id "" = from the beginning. */
	int64_t after_us;
	char after_id[64], after_tag[64]; /* template_id, tag */
};
/* The newest first. *ret_more: there are further ones. */
int snapshot_list(struct store *s, const struct snapshot_filter *f,
		  void (*fn)(void *ctx, const struct snapshot *x), void *ctx, bool *ret_more,
		  struct error *err);

/* -ENOENT. */
int snapshot_build_get(struct store *s, const char *build_id, struct snapshot_build *ret,
		       struct error *err);
/* *ret is JSON text to be freed, NULL = none. */
int snapshot_build_env(struct store *s, const char *build_id, char **ret, struct error *err);
/* Of one template, or NULL = all; the newest first. */
int snapshot_builds(struct store *s, const char *template_id,
		    void (*fn)(void *ctx, const struct snapshot_build *b), void *ctx,
		    struct error *err);
int snapshot_totals(struct store *s, uint64_t *ret_count, uint64_t *ret_bytes, struct error *err);

/* Its file is gone: no tag points to it any more. Then snapshot_reap(). */
int snapshot_lost(struct store *s, const char *build_id, struct error *err);
/* Forgets builds without tags and templates without builds. fn gets each such build, whose file can be
 * removed; one that a crash leaves is seen at the next start. */
int snapshot_reap(struct store *s, void (*fn)(void *ctx, const char *build_id, uint64_t size),
		  void *ctx, struct error *err);
