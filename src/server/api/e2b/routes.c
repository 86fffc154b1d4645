/*
 * The control plane's one table. Section numbers: the published protocol as our notes order it:
 * sandboxes, life, observation, templates, secrets, volumes, teams and keys.
 *
 * What is not here is answered with 404 by the router, except for what the SDKs would misread (absent.c).
 */
#include "base/util.h"
#include "server/api/e2b/e2b.h"
#include "server/api/e2b/e2b_internal.h"

const struct http_route e2b_routes[] = {
	{ "GET", "/health", e2b_health, NULL },

	{ "POST", "/sandboxes", e2b_create_v1, NULL },
	{ "POST", "/v2/sandboxes", e2b_create_v2, NULL },
	{ "GET", "/sandboxes", e2b_list_v1, NULL },
	{ "GET", "/v2/sandboxes", e2b_list_v2, NULL },
	{ "GET", "/sandboxes/metrics", e2b_metrics_all, NULL },
	{ "GET", "/sandboxes/{id}", e2b_get, NULL },
	{ "DELETE", "/sandboxes/{id}", e2b_kill, NULL },

	{ "POST", "/sandboxes/{id}/timeout", e2b_timeout, NULL },
	{ "POST", "/sandboxes/{id}/refreshes", e2b_refresh, NULL },
	{ "POST", "/sandboxes/{id}/connect", e2b_connect_v1, NULL },
	{ "POST", "/v2/sandboxes/{id}/connect", e2b_connect_v2, NULL },
	{ "POST", "/sandboxes/{id}/resume", e2b_resume, NULL },
	{ "POST", "/sandboxes/{id}/pause", e2b_pause, NULL },
	{ "PUT", "/sandboxes/{id}/network", e2b_network, NULL },

	{ "POST", "/sandboxes/{id}/snapshots", e2b_snapshot_take, NULL },
	{ "POST", "/sandboxes/{id}/fork", e2b_fork, NULL },
	{ "GET", "/snapshots", e2b_snapshot_list, NULL },

	{ "GET", "/sandboxes/{id}/metrics", e2b_metrics, NULL },
	{ "GET", "/sandboxes/{id}/logs", e2b_logs_v1, NULL },
	{ "GET", "/v2/sandboxes/{id}/logs", e2b_logs_v2, NULL },

	{ "GET", "/templates/aliases/{alias}", e2b_template_alias, NULL },
	{ "GET", "/templates", e2b_template_list, NULL },
	{ "GET", "/v2/templates", e2b_template_list_v2, NULL },
	{ "POST", "/templates/tags", e2b_tag_add, NULL },
	{ "DELETE", "/templates/tags", e2b_tag_remove, NULL },
	{ "GET", "/templates/{id}", e2b_template_get, NULL },
	{ "DELETE", "/templates/{id}", e2b_template_delete, NULL },
	{ "PATCH", "/templates/{id}", e2b_template_patch_v1, NULL },
	{ "PATCH", "/v2/templates/{id}", e2b_template_patch_v2, NULL },
	{ "GET", "/templates/{id}/tags", e2b_template_tags, NULL },
	{ "POST", "/v3/templates", e2b_no_builds, NULL },
	{ "POST", "/v2/templates", e2b_no_builds, NULL },
	{ "POST", "/templates", e2b_no_builds, NULL },

	{ "GET", "/secrets", e2b_secret_list, NULL },
	{ "POST", "/secrets", e2b_secret_add, NULL },
	{ "GET", "/secrets/{id}", e2b_secret_get, NULL },
	{ "POST", "/secrets/{id}", e2b_secret_update, NULL },
	{ "DELETE", "/secrets/{id}", e2b_secret_delete, NULL },

	{ "GET", "/volumes", e2b_volume_list, NULL },
	{ "POST", "/volumes", e2b_volume_add, NULL },
	{ "GET", "/volumes/{id}", e2b_volume_get, NULL },
	{ "DELETE", "/volumes/{id}", e2b_volume_delete, NULL },

	{ "GET", "/teams", e2b_teams, NULL },
	{ "GET", "/api-keys", e2b_key_list, NULL },
	{ "POST", "/api-keys", e2b_key_add, NULL },
	{ "DELETE", "/api-keys/{id}", e2b_key_delete, NULL },
};
const size_t e2b_route_count = ARRAY_SIZE(e2b_routes);
