/*
 * Templates, their names and tags. The built-in ones ("base" and "code-interpreter-v1", both the
 * host's own /usr) are rows like any other that cannot be deleted. All others are snapshots
 * (snapshots.h), whose tags may point to different builds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct store;

#define TEMPLATE_BASE "base"
#define TEMPLATE_CODE "code-interpreter-v1"
/* The namespace of names that are not built in: a server has one team. */
#define TEAM_SLUG "default"

struct template_record {
	char id[64];
	char build_id[37];
	char names[4][128]; /* "name" or "namespace/name"; "" = unused */
	unsigned int name_count;
	bool is_public, builtin;
	uint32_t cpu_count, memory_mb, disk_mb;
	int64_t created_us, updated_us, last_spawned_us;
	uint64_t spawn_count, build_count;
	char status[16]; /* "ready" */
	/* The built-in template that it is, or that its snapshot was made above. */
	char base[64];
	/* Of a snapshot, of the build that was found (as are the limits): whether there is a file. */
	bool is_snapshot;
};

/*
 * "id", "name", "namespace/name", each with ":tag", case-insensitive. Without a tag it is the build of
 * the tag "default", or the newest one if there is no such tag. -ENOENT; -EINVAL: not a name.
 */
int template_find(struct store *s, const char *reference, struct template_record *ret);
int template_list(struct store *s, void (*fn)(void *ctx, const struct template_record *t), void *ctx,
		  struct error *err);
/* All of it, or with ":tag" that tag; the template goes with its last one. -ENOENT, -EPERM (built in),
 * -EBUSY (a living sandbox uses it). Then snapshot_reap(). */
int template_delete(struct store *s, const char *reference, struct error *err);
int template_set_public(struct store *s, const char *reference, bool is_public, struct error *err);
void template_spawned(struct store *s, const char *id);

struct template_tag {
	char tag[64];
	char build_id[37];
	int64_t created_us;
};
int template_tags(struct store *s, const char *reference,
		  void (*fn)(void *ctx, const struct template_tag *t), void *ctx, struct error *err);
/* The build of "name:tag" gets these tags, too. Then snapshot_reap(). */
int template_tag_add(struct store *s, const char *target, const char *const *tags, unsigned int count,
		     char ret_build_id[37], struct error *err);
int template_tag_remove(struct store *s, const char *name, const char *const *tags,
			unsigned int count, struct error *err);

struct template_limits {
	uint32_t cpu_count, memory_mb, disk_mb;
};
/* Makes the built-in templates, or gives them these limits. At start. */
int template_keep_builtin(struct store *s, const struct template_limits *limits, struct error *err);
