/* What the handlers of the control plane have in common: the key, the sandbox, its JSON forms. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/api/e2b/e2b_internal.h"
#include "server/store/records.h"

static const char *key_text(struct http_exchange *x)
{
	const char *key = http_header(x, "x-api-key");
	const char *bearer = http_header(x, "authorization");

	if (!key && bearer && strncmp(bearer, "Bearer ", 7) == 0)
		key = bearer + 7;
	return key;
}

bool authorized(struct http_exchange *x, struct key *ret)
{
	struct server *server = http_context(x);
	struct key key;
	const char *text = key_text(x);

	reply_cors(x);
	if (text && key_check(server->store, text, &key) == 0) {
		if (ret)
			*ret = key;
		return true;
	}
	http_error(x, 401, text ? "the API key is not valid: `hotcell key list` shows the keys, "
				  "`hotcell key add NAME` makes one"
				: "no API key: send it as X-API-Key (E2B_API_KEY of the SDKs)");
	return false;
}

/* One that has ended is not found either, but why it ended is worth a word. */
void no_such_sandbox(struct http_exchange *x, const char *id)
{
	struct server *server = http_context(x);
	struct sandbox_record r;
	struct error err;

	if (record_get(server->store, id, &r, &err) == 0) {
		http_error(x, 404, "sandbox \"%.40s\" has ended: %.300s", id,
			   r.reason ? r.reason : "for a reason that is not recorded");
		record_fini(&r);
		return;
	}
	http_error(x, 404, "sandbox \"%.40s\" doesn't exist or you don't have access to it", id);
}

struct sandbox *sandbox_of(struct http_exchange *x)
{
	const char *id = http_param(x, "id");
	struct sandbox *s = sandbox_find(http_context(x), id);

	if (!s)
		no_such_sandbox(x, id);
	return s;
}

json_t *text_json(const char *text)
{
	json_t *value = text ? json_loads(text, 0, NULL) : NULL;
	return value ? value : json_object();
}

static void set_string(json_t *o, const char *name, const char *value)
{
	if (value && *value)
		json_object_set_new(o, name, json_string(value));
}

json_t *sandbox_json(const struct sandbox *s)
{
	const struct sandbox_record *r = &s->record;
	json_t *o = json_pack("{s:s, s:s, s:s, s:s}", "templateID", r->template_id, "sandboxID",
			      r->id, "clientID", CLIENT_ID, "envdVersion", ENVD_VERSION);

	if (!o)
		return NULL;
	set_string(o, "alias", r->alias);
	set_string(o, "envdAccessToken", r->access_token);
	set_string(o, "trafficAccessToken", r->traffic_token);
	set_string(o, "domain", s->server->domain);
	return o;
}

static const char *public_state(const struct sandbox_record *r)
{
	bool paused = r->state == SANDBOX_PAUSED || r->state == SANDBOX_PAUSING;
	return r->state == SANDBOX_ENDED ? "ended" : paused ? "paused" : "running";
}

json_t *listed_json(const struct sandbox_record *r)
{
	json_t *o = json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:s, s:s, s:o}", "templateID",
			      r->template_id, "sandboxID", r->id, "clientID", CLIENT_ID, "cpuCount",
			      (int)r->cpu_count, "memoryMB", (int)r->memory_mb, "diskSizeMB",
			      (int)r->disk_mb, "state", public_state(r), "envdVersion",
			      ENVD_VERSION, "metadata", text_json(r->metadata));

	if (!o)
		return NULL;
	set_string(o, "alias", r->alias);
	reply_set_time(o, "startedAt", r->started_us);
	reply_set_time(o, "endAt", r->state == SANDBOX_ENDED ? r->ended_us : r->end_us);
	set_string(o, "reason", r->reason);
	if (r->volumes)
		json_object_set_new(o, "volumeMounts", text_json(r->volumes));
	return o;
}

/* Passwords are never shown again. */
static json_t *shown_network(const struct sandbox_record *r)
{
	json_t *network = text_json(r->network);
	json_t *proxy = json_object_get(network, "egressProxy");

	json_object_del(proxy, "password");
	return network;
}

json_t *detail_json(const struct sandbox_record *r)
{
	json_t *o = listed_json(r);
	json_t *lifecycle = json_pack("{s:b, s:s}", "autoResume", r->auto_resume, "onTimeout",
				      r->pause_on_timeout ? "pause" : "kill");

	if (!o || !lifecycle) {
		json_decref(o);
		json_decref(lifecycle);
		return NULL;
	}
	set_string(o, "envdAccessToken", r->access_token);
	set_string(o, "trafficAccessToken", r->traffic_token);
	json_object_set_new(o, "allowInternetAccess",
			    r->allow_internet < 0 ? json_null() : json_boolean(r->allow_internet));
	json_object_set_new(o, "domain", json_null());
	json_object_set_new(o, "network", shown_network(r));
	json_object_set_new(o, "lifecycle", lifecycle);
	return o;
}

bool query_integer(struct http_exchange *x, const char *name, int64_t fallback, int64_t *ret)
{
	const char *text = http_query_param(x, name);
	char *end;

	*ret = fallback;
	if (!text || !*text)
		return true;
	errno = 0;
	*ret = strtoll(text, &end, 10);
	if (errno == 0 && *end == '\0')
		return true;
	http_error(x, 400, "%s must be an integer", name);
	return false;
}

unsigned int query_limit(struct http_exchange *x)
{
	int64_t limit;

	if (!query_integer(x, "limit", PAGE_MAX, &limit))
		return 0;
	if (limit >= 1 && limit <= PAGE_MAX)
		return (unsigned int)limit;
	http_error(x, 400, "limit must be between 1 and %d", PAGE_MAX);
	return 0;
}
