/*
 * Network settings: validated, stored, and returned as they were given (reference: 2.4). With no
 * egress yet every sandbox is closed to the outside whatever they say.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "server/api/e2b/e2b_internal.h"

#define ENTRIES_MAX	 1000
#define RULE_DOMAINS_MAX 10
#define HEADERS_MAX	 20
#define HEADER_NAME_MAX	 64
#define HEADER_VALUE_MAX 2048
#define ENVD_PORT	 49983

/* An address, or one with "/bits". */
static bool is_cidr(const char *text)
{
	unsigned char address[16];
	char host[64];
	const char *slash = strchr(text, '/');
	size_t length = slash ? (size_t)(slash - text) : strlen(text);

	if (length >= sizeof(host))
		return false;
	memcpy(host, text, length);
	host[length] = '\0';
	long max = inet_pton(AF_INET, host, address) == 1    ? 32
		   : inet_pton(AF_INET6, host, address) == 1 ? 128
							      : -1;
	if (max < 0 || !slash)
		return max >= 0;
	char *end;
	long bits = strtol(slash + 1, &end, 10);
	return isdigit((unsigned char)slash[1]) && *end == '\0' && bits >= 0 && bits <= max;
}

static bool is_domain(const char *text)
{
	size_t label = 0;

	if (strncmp(text, "*.", 2) == 0)
		text += 2;
	if (!*text || strlen(text) > 253)
		return false;
	for (; *text; text++) {
		if (*text == '.' && label == 0)
			return false;
		label = *text == '.' ? 0 : label + 1;
		if (label > 63 || (!isalnum((unsigned char)*text) && !strchr("-._", *text)))
			return false;
	}
	return true;
}

static bool has_everything(json_t *list)
{
	json_t *v;
	size_t i;

	json_array_foreach(list, i, v) {
		const char *s = json_string_value(v);
		if (s && strcmp(s, "0.0.0.0/0") == 0)
			return true;
	}
	return false;
}

/* Returns the number of domain names. */
static unsigned int check_list(struct args *a, json_t *network, const char *name, bool domains)
{
	json_t *list = json_object_get(network, name), *v;
	unsigned int names = 0;
	size_t i;

	if (!list || json_is_null(list))
		return 0;
	if (!json_is_array(list) || json_array_size(list) > ENTRIES_MAX)
		args_fail(a, "%s must be an array of at most %d strings", name, ENTRIES_MAX);
	json_array_foreach(list, i, v) {
		const char *s = json_string_value(v);
		if (s && is_cidr(s))
			continue;
		names++;
		if (!s || !domains)
			args_fail(a, "%s: '%.100s' is not an IP address or CIDR range", name,
				  s ? s : "?");
		else if (!is_domain(s))
			args_fail(a, "%s: '%.100s' is not an address, range or domain name", name, s);
	}
	return names;
}

static void check_proxy(struct args *a, json_t *network)
{
	json_t *proxy = json_object_get(network, "egressProxy");
	const char *address = json_string_value(json_object_get(proxy, "address"));
	const char *colon = address ? strrchr(address, ':') : NULL;

	if (!proxy || json_is_null(proxy))
		return;
	long port = colon ? strtol(colon + 1, NULL, 10) : 0;
	if (!colon || colon == address || port <= 0 || port > UINT16_MAX)
		args_fail(a, "egressProxy.address must be host:port");
}

static void check_headers(struct args *a, json_t *headers)
{
	const char *name;
	json_t *value;

	if (json_object_size(headers) > HEADERS_MAX)
		args_fail(a, "rules: more than %d headers", HEADERS_MAX);
	json_object_foreach(headers, name, value) {
		if (!json_is_string(value) || strlen(name) > HEADER_NAME_MAX ||
		    json_string_length(value) > HEADER_VALUE_MAX)
			args_fail(a, "rules: header '%.64s' is too long or not a string", name);
	}
}

static void check_rules(struct args *a, json_t *network)
{
	json_t *rules = json_object_get(network, "rules"), *list;
	const char *domain;

	if (!rules || json_is_null(rules))
		return;
	if (!json_is_object(rules) || json_object_size(rules) > RULE_DOMAINS_MAX)
		args_fail(a, "rules must be an object with at most %d domains", RULE_DOMAINS_MAX);
	json_object_foreach(rules, domain, list) {
		if (!is_domain(domain) || !json_is_array(list) || json_array_size(list) > 1)
			args_fail(a, "rules: '%.100s' needs a domain name and one rule", domain);
		json_t *transform = json_object_get(json_array_get(list, 0), "transform");
		check_headers(a, json_object_get(transform, "headers"));
	}
}

static void check_ports(struct args *a, json_t *network)
{
	json_t *ports = json_object_get(network, "httpsPorts"), *v;
	size_t i;

	if (ports && !json_is_null(ports) && !json_is_array(ports))
		args_fail(a, "httpsPorts must be an array of ports");
	json_array_foreach(ports, i, v) {
		json_int_t port = json_integer_value(v);
		if (port < 1 || port > 65535 || port == ENVD_PORT)
			args_fail(a, "httpsPorts: %lld is not a port that can be chosen",
				  (long long)port);
	}
}

static void check_mask(struct args *a, json_t *network)
{
	json_t *mask = json_object_get(network, "maskRequestHost");
	const char *s = json_string_value(mask);

	if (!mask || json_is_null(mask))
		return;
	if (!s || !*s || json_string_length(mask) > 255)
		args_fail(a, "maskRequestHost must be a host name");
	for (; s && *s; s++) {
		if (*s <= ' ' || (unsigned char)*s >= 0x7f)
			args_fail(a, "maskRequestHost must be ASCII without spaces");
	}
}

char *network_args(struct args *a, json_t *network, bool secure)
{
	json_t *open = json_object_get(network, "allowPublicTraffic");

	if (!network || json_object_size(network) == 0)
		return NULL;
	unsigned int names = check_list(a, network, "allowOut", true);
	check_list(a, network, "denyOut", false);
	if (names && !has_everything(json_object_get(network, "denyOut")))
		args_fail(a, "allowOut with domain names needs denyOut with 0.0.0.0/0");
	if (open && !json_is_boolean(open) && !json_is_null(open))
		args_fail(a, "allowPublicTraffic must be true or false");
	if (json_is_false(open) && !secure)
		args_fail(a, "allowPublicTraffic: false needs secure: true");
	check_mask(a, network);
	check_ports(a, network);
	check_proxy(a, network);
	check_rules(a, network);
	return a->failed ? NULL : json_dumps(network, JSON_COMPACT);
}

/* What a create set for incoming traffic stays; everything about outgoing traffic is replaced. */
static json_t *merged(const struct sandbox *s, json_t *request)
{
	static const char *const kept[] = { "allowPublicTraffic", "maskRequestHost", "httpsPorts" };
	static const char *const set[] = { "allowOut", "denyOut", "rules", "egressProxy" };
	json_t *old = text_json(s->record.network), *network = json_object();

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		if (json_object_get(old, kept[i]))
			json_object_set(network, kept[i], json_object_get(old, kept[i]));
	}
	for (size_t i = 0; i < sizeof(set) / sizeof(set[0]); i++) {
		if (json_object_get(request, set[i]))
			json_object_set(network, set[i], json_object_get(request, set[i]));
	}
	json_decref(old);
	return network;
}

static void body(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	AUTO_ARGS struct args a;
	struct sandbox *s = sandbox_of(x);
	struct error err;

	if (!s)
		return;
	args_init(&a, data, size, true);
	int internet = args_tristate(&a, "allow_internet_access");
	json_t *network = merged(s, a.object);
	char *text = network_args(&a, network, s->record.secure);
	json_decref(network);
	if (!args_answered(&a, x)) {
		if (sandbox_set_network(s, text, internet, &err) < 0)
			reply_failure(x, &err, 0);
		else
			reply_empty(x);
	}
	free(text);
}

void e2b_network(struct http_exchange *x)
{
	if (authorized(x, NULL))
		http_body_collect(x, BODY_MAX, body, NULL);
}
