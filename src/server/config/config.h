/*
 * The settings of the server. One table of keys: the command line has them as --name VALUE, the file
 * as `name = value`; the command line wins. Everything is checked when it is loaded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/options.h"

enum config_log_level { CONFIG_LOG_DEBUG, CONFIG_LOG_INFO, CONFIG_LOG_WARN, CONFIG_LOG_ERROR };

struct config {
	/* where it listens and who it is */
	const char *file; /* NULL = none */
	const char *data_dir;
	const char *user; /* that a server started by root becomes; NULL = the default */
	struct option_list listen, listen_tls;
	const char *tls_certificate, *tls_key;
	const char *domain; /* of PORT-ID.domain hosts; NULL = none */
	const char *url;    /* that clients reach it by; NULL = made from the first address */

	/* sandboxes: what one gets, and the most that a template or request may ask for */
	uint64_t cpus, memory_bytes, disk_bytes, pids, files;
	uint64_t timeout_max_ns;
	uint64_t sandboxes_max; /* at the same time, paused ones included */
	uint64_t pool_size, code_pool;
	const char *store; /* "disk" or "memory" */

	/* snapshots: files, and bytes of all of them */
	uint64_t snapshots_max, snapshots_bytes;

	/* keeping */
	uint64_t keep_ended_ns, keep_ended_count;
	uint64_t log_bytes; /* of each sandbox */

	/* HTTP */
	uint64_t connections_max, connections_per_address;

	const char *log_level_name;
	enum config_log_level log_level;

	int check, help;
	char *text; /* of the file; values point into it */
};

/*
 * Defaults, then the file, then the arguments. *ret is allocated; values point into argv. Errors name
 * file, line, key and what to do.
 */
int config_load(int argc, char **argv, struct config **ret, struct error *err);
void config_free(struct config *c); /* NULL is fine */
/* What --check prints: every key with its value. */
void config_print(const struct config *c);
void config_help(void);

/*
 * SIGHUP: loads again and takes over what can change at run time (limits, timeouts, pools, what is
 * kept, log level, certificate and key). The rest is as it was; *ret_fixed names a key whose change
 * needs a restart, or is NULL. A failure changes nothing.
 */
int config_reload(struct config *c, int argc, char **argv, const char **ret_fixed,
		  struct error *err);
