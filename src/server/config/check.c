/* Values that depend on the host or on each other. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "codec/authority.h"
#include "server/config/config_internal.h"

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."

static int check_address(const char *key, const char *address, struct error *err)
{
	if (strncmp(address, "unix:", 5) == 0) {
		if (address[5] != '/')
			return error_set(err, 0, "%s: '%.200s' needs an absolute path", key,
					 address);
		if (strlen(address + 5) >= 108)
			return error_set(err, 0, "%s: '%.200s' is longer than 107 bytes", key,
					 address);
		return 0;
	}
	const char *colon = strrchr(address, ':');
	const char *end = colon ? colon + 1 + strspn(colon + 1, "0123456789") : "";
	bool bare_v6 = colon && address[0] != '[' && strchr(address, ':') != colon;
	if (!colon || colon == address || end == colon + 1 || *end || end - colon > 6 ||
	    strtoul(colon + 1, NULL, 10) > 65535 || bare_v6)
		return error_set(err, 0, "%s: '%.200s' is not HOST:PORT, [HOST]:PORT or unix:/PATH",
				 key, address);
	return 0;
}

static int check_addresses(const struct config *c, struct error *err)
{
	int r = 0;
	for (unsigned int i = 0; i < c->listen.count && r == 0; i++)
		r = check_address("listen", c->listen.items[i].text, err);
	for (unsigned int i = 0; i < c->listen_tls.count && r == 0; i++)
		r = check_address("listen_tls", c->listen_tls.items[i].text, err);
	return r;
}

static int check_readable(const char *key, const char *path, struct error *err)
{
	if (access(path, R_OK) < 0)
		return error_set(err, errno, "%s: %.200s", key, path);
	return 0;
}

static int check_tls(const struct config *c, struct error *err)
{
	if (c->listen_tls.count && (!c->tls_certificate || !c->tls_key))
		return error_set(err, 0, "listen_tls needs tls_certificate and tls_key");
	if (!c->tls_certificate != !c->tls_key)
		return error_set(err, 0, "tls_certificate and tls_key belong together");
	int r = c->tls_certificate ? check_readable("tls_certificate", c->tls_certificate, err) : 0;
	return r == 0 && c->tls_key ? check_readable("tls_key", c->tls_key, err) : r;
}

/* Clients append it to what they connect to, so it may have a port. */
static bool domain_valid(const char *domain)
{
	size_t name = strspn(domain, NAME_LETTERS);

	return name > 0 && name <= 200 && domain[0] != '.' &&
	       authority_check(domain, strlen(domain)) == 0;
}

static int check_words(struct config *c, struct error *err)
{
	static const char *const levels[] = { "debug", "info", "warn", "error" };
	size_t level = 0;
	while (level < ARRAY_SIZE(levels) && strcmp(levels[level], c->log_level_name) != 0)
		level++;
	if (level == ARRAY_SIZE(levels))
		return error_set(err, 0, "log_level: '%.50s' is not debug, info, warn or error",
				 c->log_level_name);
	c->log_level = (enum config_log_level)level;
	if (strcmp(c->store, "disk") != 0 && strcmp(c->store, "memory") != 0)
		return error_set(err, 0, "store: '%.50s' is neither disk nor memory", c->store);
	if (c->domain && !domain_valid(c->domain))
		return error_set(err, 0, "domain: '%.200s' is not NAME or NAME:PORT", c->domain);
	if (c->url && strncmp(c->url, "http://", 7) != 0 && strncmp(c->url, "https://", 8) != 0)
		return error_set(err, 0, "url: '%.200s' does not begin with http:// or https://",
				 c->url);
	if (c->user && geteuid() == 0 && !getpwnam(c->user))
		return error_set(err, 0, "user: there is no '%.50s' on this host", c->user);
	return 0;
}

static int complete_data_dir(struct config *c, struct error *err)
{
	static char home_dir[4096];
	const char *home = getenv("XDG_DATA_HOME"), *below = "hotcell";
	if (!c->data_dir && geteuid() == 0) {
		c->data_dir = "/var/lib/hotcell";
	} else if (!c->data_dir) {
		if (!home || home[0] != '/') {
			home = getenv("HOME");
			below = ".local/share/hotcell";
		}
		if (!home || home[0] != '/')
			return error_set(err, 0, "data_dir: HOME is not set; say --data-dir DIR");
		snprintf(home_dir, sizeof(home_dir), "%s/%s", home, below);
		c->data_dir = home_dir;
	}
	if (c->data_dir[0] != '/')
		return error_set(err, 0, "data_dir: '%.200s' is not an absolute path", c->data_dir);
	if (strlen(c->data_dir) > 400)
		return error_set(err, ENAMETOOLONG, "data_dir");
	return 0;
}

int config_complete(struct config *c, struct error *err)
{
	int r = complete_data_dir(c, err);
	if (r == 0)
		r = check_addresses(c, err);
	if (r == 0)
		r = check_tls(c, err);
	return r < 0 ? r : check_words(c, err);
}
