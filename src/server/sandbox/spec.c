/* What a create asks for: the template, the limits, the files and the environment that it begins with. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "server/config/config.h"
#include "server/sandbox/sandbox_internal.h"
#include "server/snapshot/snapshots.h"

/* A fork is made as its source was, whatever has become of the template meanwhile. */
static void template_of(const struct sandbox *s, struct template_record *ret)
{
	const struct sandbox_record *r = &s->record;
	*ret = (struct template_record){ .cpu_count = r->cpu_count,
					 .memory_mb = r->memory_mb,
					 .disk_mb = r->disk_mb,
					 .name_count = r->alias != NULL };
	memcpy(ret->id, r->template_id, sizeof(ret->id));
	memcpy(ret->base, s->base, sizeof(ret->base));
	if (r->alias)
		snprintf(ret->names[0], sizeof(ret->names[0]), "%s", r->alias);
}

static int find_template(struct server *server, const struct sandbox_spec *spec,
			 struct template_record *ret, struct error *err)
{
	if (spec->fork_of) {
		template_of(spec->fork_of, ret);
		return 0;
	}
	int r = template_find(server->store, spec->template, ret);
	if (r == 0)
		return 0;
	return error_say(err, r == -EINVAL ? ENOENT : -r, "template '%.100s' not found",
			 spec->template);
}

static int check(struct server *server, const struct sandbox_spec *spec, struct beginning *b,
		 struct error *err)
{
	const struct template_record *t = &b->template;
	uint64_t max_s = server->config->timeout_max_ns / NSEC_PER_SEC;
	struct cell_shape shape;
	if (spec->timeout_s > max_s)
		return error_say(err, ERANGE, "timeout of %u s (the most is %llu s, timeout_max)",
				 spec->timeout_s, (unsigned long long)max_s);
	cell_shape_make(server, t->cpu_count, t->memory_mb, t->disk_mb, &shape);
	return limits_check(server->sandboxes, spec->key_id, &shape, true, &b->retry_s, err);
}

static int find_files(struct server *server, const struct sandbox_spec *spec, struct beginning *b,
		      struct error *err)
{
	if (!spec->fork_of)
		return b->template.is_snapshot
			       ? snapshot_open(server, &b->template, &b->files_fd, err)
			       : 0;
	b->files_fd = fcntl(spec->files_fd, F_DUPFD_CLOEXEC, 3);
	return b->files_fd < 0 ? error_set(err, errno, "files of a fork") : 0;
}

/* The snapshot's below those that were given. */
static char *merge(const char *below, const char *given)
{
	json_t *all = json_loads(below, 0, NULL), *own = json_loads(given, 0, NULL);
	char *text = NULL;
	if (all && own && json_object_update(all, own) == 0)
		text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	json_decref(own);
	return text;
}

static int find_environment(struct server *server, const struct sandbox_spec *spec,
			    struct beginning *b, struct error *err)
{
	const char *given = spec->fork_of ? spec->fork_of->record.env : spec->env;
	AUTO_FREE char *below = NULL;
	if (b->template.is_snapshot &&
	    snapshot_build_env(server->store, b->template.build_id, &below, err) < 0)
		return -err->code;
	if (below && !given) {
		b->env = take_ptr(below);
		return 0;
	}
	if (given)
		b->env = below ? merge(below, given) : strdup(given);
	return given && !b->env ? error_set(err, ENOMEM, "environment") : 0;
}

int beginning_make(struct server *server, const struct sandbox_spec *spec, struct beginning *ret,
		   struct error *err)
{
	*ret = (struct beginning){ .files_fd = -EBADF };
	if (server->sandboxes->stopping)
		return error_say(err, ECANCELED, "the server stops");
	int r = find_template(server, spec, &ret->template, err);
	if (r == 0)
		r = check(server, spec, ret, err);
	if (r == 0)
		r = find_files(server, spec, ret, err);
	return r == 0 ? find_environment(server, spec, ret, err) : r;
}

void beginning_fini(struct beginning *b)
{
	free(b->env);
	if (b->files_fd >= 0)
		close(b->files_fd);
}
