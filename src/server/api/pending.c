#include "server/api/pending.h"

#include <stdlib.h>

static void left(struct http_exchange *x, void *ctx)
{
	struct pending *p = ctx;
	p->x = NULL;
}

struct pending *pending_new(struct http_exchange *x)
{
	struct pending *p = calloc(1, sizeof(*p));

	if (!p) {
		http_error(x, 503, "out of memory");
		return NULL;
	}
	p->x = x;
	http_on_close(x, left, p);
	return p;
}

struct http_exchange *pending_end(struct pending *p)
{
	struct http_exchange *x = p->x;

	if (x)
		http_on_close(x, NULL, NULL);
	free(p);
	return x;
}
