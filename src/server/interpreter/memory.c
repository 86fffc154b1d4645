/*
 * Was it the memory? A driver that is killed does not say why, but the sandbox's control group counts. The
 * count is read when a driver starts and when one was killed: if it has grown between the two, that was it.
 */
#include <stdio.h>

#include "server/interpreter/interpreter_internal.h"
#include "server/runtime/launcher.h"
#include "server/server.h"

static void explain(struct context *c, bool grown)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "The %s process was ended because the sandbox ran out of memory (it has %u MiB). "
		 "The context starts anew with the next execution.",
		 c->language.name, c->interpreter->sandbox->record.memory_mb);
	driver_explain(c->driver, grown ? "OutOfMemory" : NULL, text);
}

/* An explained driver ends, which may start another, or end its context: the list is walked anew. */
static bool explain_next(struct interpreter *in, bool grown)
{
	struct context *c;

	list_for_each(c, &in->contexts, link) {
		if (c->driver && driver_is_asking(c->driver)) {
			explain(c, grown);
			return true;
		}
	}
	return false;
}

/* Not called any more when the sandbox is gone. */
static void on_usage(void *ctx, const struct launcher_usage *usage, const struct error *err)
{
	struct interpreter *in = ctx;
	bool grown = !err && usage->oom_kills > in->oom_kills;

	if (grown)
		in->oom_kills = usage->oom_kills;
	while (explain_next(in, grown))
		;
}

bool memory_ask(struct interpreter *in)
{
	uint64_t id = sandbox_launch_id(in->sandbox);

	if (id == 0)
		return false;
	launcher_usage(in->sandbox->server->launcher, id, on_usage, in);
	return true;
}
