/*
 * Parts of the protocol that Hotcell does not have. Whoever asks is told so: a plain 404 is for the SDKs a
 * sandbox or a template that is gone.
 */
#include "server/api/e2b/e2b_internal.h"

#define SEE "docs/api.md lists what is there"

void e2b_no_builds(struct http_exchange *x)
{
	if (authorized(x, NULL))
		http_error(x, 501, "templates cannot be built: this server has one, \"base\" (" SEE ")");
}
