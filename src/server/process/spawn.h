/* What a process of a sandbox is started with. */
#pragma once

#include <jansson.h>

#include "wire/wire.h"

struct process_spec;
struct sandbox;

/* PATH, what says that this is a sandbox, the sandbox's own variables: an object of strings. s NULL: of
 * one that is not known yet. NULL = out of memory. */
json_t *spawn_environment(const struct sandbox *s);
/* Of the spec, all but `envs` and `tag`. ret->args is to be freed. 0 or -errno (E2BIG, ENOMEM). */
int spawn_message(const struct process_spec *spec, const json_t *environment,
		  struct wire_spawn *ret);
