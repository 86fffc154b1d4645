#include "server/config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/util.h"
#include "server/config/config_internal.h"

#define DEFAULT_FILE   "/etc/hotcell/hotcell.conf"
#define DEFAULT_LISTEN "127.0.0.1:7878"
#define FILE_MAX       (256u << 10)
#define DAY_NS	       (86400 * NSEC_PER_SEC)

#define AT(member) offsetof(struct config, member)

/* clang-format off */
static const struct option_spec specs[] = {
	{ .name = "config", .letter = 'c', .kind = OPTION_TEXT, .offset = AT(file), .metavar = "FILE",
	  .no_file = true, .shown = DEFAULT_FILE " for root, if it exists",
	  .help = "file of `name = value` lines with these names" },
	{ .name = "listen", .letter = 'l', .kind = OPTION_LIST, .offset = AT(listen),
	  .metavar = "ADDRESS", .shown = DEFAULT_LISTEN,
	  .help = "HOST:PORT, [HOST]:PORT or unix:/PATH; may be repeated" },
	{ .name = "listen-tls", .kind = OPTION_LIST, .offset = AT(listen_tls), .metavar = "ADDRESS",
	  .shown = "none", .help = "the same with TLS" },
	{ .name = "tls-certificate", .kind = OPTION_TEXT, .offset = AT(tls_certificate),
	  .metavar = "FILE", .shown = "none", .help = "certificate chain, PEM" },
	{ .name = "tls-key", .kind = OPTION_TEXT, .offset = AT(tls_key), .metavar = "FILE",
	  .shown = "none", .help = "its key, PEM" },
	{ .name = "domain", .kind = OPTION_TEXT, .offset = AT(domain), .metavar = "NAME[:PORT]",
	  .shown = "none", .help = "serve ports of sandboxes as PORT-ID.NAME" },
	{ .name = "url", .kind = OPTION_TEXT, .offset = AT(url), .metavar = "URL",
	  .shown = "from the first address", .help = "how clients reach the server" },
	{ .name = "data-dir", .letter = 'd', .kind = OPTION_TEXT, .offset = AT(data_dir),
	  .metavar = "DIR", .shown = "/var/lib/hotcell for root, else ~/.local/share/hotcell",
	  .help = "database, logs, files of sandboxes" },
	{ .name = "user", .kind = OPTION_TEXT, .offset = AT(user), .metavar = "NAME",
	  .shown = "hotcell if there is one, else the owner of the data directory",
	  .help = "who a server started by root becomes" },
	{ .name = "cpus", .kind = OPTION_COUNT, .offset = AT(cpus), .metavar = "N",
	  .initial = "2", .min = 1, .max = 1024, .help = "CPU limit of a sandbox" },
	{ .name = "memory", .kind = OPTION_SIZE, .offset = AT(memory_bytes), .metavar = "SIZE",
	  .initial = "2G", .min = MIB(32), .max = GIB(4096), .help = "memory limit of a sandbox" },
	{ .name = "disk", .kind = OPTION_SIZE, .offset = AT(disk_bytes), .metavar = "SIZE",
	  .initial = "8G", .min = MIB(1), .max = GIB(65536),
	  .help = "limit of what a sandbox writes to files" },
	{ .name = "pids", .kind = OPTION_COUNT, .offset = AT(pids), .metavar = "N",
	  .initial = "1024", .min = 8, .max = 65536, .help = "limit of processes and threads" },
	{ .name = "files", .kind = OPTION_COUNT, .offset = AT(files), .metavar = "N",
	  .initial = "65536", .min = 64, .max = 1048576, .help = "limit of open files" },
	{ .name = "timeout-max", .kind = OPTION_DURATION, .offset = AT(timeout_max_ns),
	  .metavar = "TIME", .initial = "24h", .min = NSEC_PER_SEC,
	  .help = "the longest life that may be asked for at a time" },
	{ .name = "sandboxes-max", .kind = OPTION_COUNT, .offset = AT(sandboxes_max),
	  .metavar = "N", .initial = "1000", .min = 1, .max = 4000,
	  .help = "sandboxes at the same time, paused ones included" },
	{ .name = "pool-size", .kind = OPTION_COUNT, .offset = AT(pool_size), .metavar = "N",
	  .initial = "8", .max = 256, .help = "sandboxes that are started before they are asked for" },
	{ .name = "code-pool", .kind = OPTION_COUNT, .offset = AT(code_pool), .metavar = "N",
	  .initial = "2", .max = 256,
	  .help = "the same for code-interpreter-v1, with a Python that waits\n"
		  "for code in each, which takes some 20 MiB" },
	{ .name = "store", .kind = OPTION_TEXT, .offset = AT(store), .metavar = "WHERE",
	  .initial = "disk",
	  .help = "what sandboxes write lies on \"disk\" (in the data\n"
		  "directory), or in \"memory\" and counts as memory" },
	{ .name = "snapshots-max", .kind = OPTION_COUNT, .offset = AT(snapshots_max), .metavar = "N",
	  .initial = "1000", .max = 1000000, .help = "snapshots that are kept" },
	{ .name = "snapshots-bytes", .kind = OPTION_SIZE, .offset = AT(snapshots_bytes),
	  .metavar = "SIZE", .initial = "64G", .max = GIB(1048576),
	  .help = "what they take on the disk in all, with those of forks" },
	{ .name = "keep-ended", .kind = OPTION_DURATION, .offset = AT(keep_ended_ns),
	  .metavar = "TIME", .initial = "7d", .help = "list ended sandboxes so long" },
	{ .name = "keep-ended-count", .kind = OPTION_COUNT, .offset = AT(keep_ended_count),
	  .metavar = "N", .initial = "10000", .help = "and at most so many" },
	{ .name = "log-bytes", .kind = OPTION_SIZE, .offset = AT(log_bytes), .metavar = "SIZE",
	  .initial = "1M", .min = KIB(16), .max = GIB(1), .help = "log kept of each sandbox" },
	{ .name = "connections-max", .kind = OPTION_COUNT, .offset = AT(connections_max),
	  .metavar = "N", .initial = "10000", .min = 1, .max = 1000000,
	  .help = "connections of clients" },
	{ .name = "connections-per-address", .kind = OPTION_COUNT,
	  .offset = AT(connections_per_address), .metavar = "N", .initial = "10000", .min = 1,
	  .max = 1000000, .help = "the same, from one address" },
	{ .name = "log-level", .kind = OPTION_TEXT, .offset = AT(log_level_name),
	  .metavar = "LEVEL", .initial = "info", .help = "debug, info, warn or error" },
	{ .name = "check", .kind = OPTION_FLAG, .offset = AT(check), .value = 1, .no_file = true,
	  .help = "check everything, print the settings, do not start" },
	{ .name = "help", .letter = 'h', .kind = OPTION_FLAG, .offset = AT(help), .value = 1,
	  .no_file = true, .help = "this text" },
};
/* clang-format on */

static int read_text(const char *path, char **ret, struct error *err)
{
	AUTO_FREE char *text = malloc(FILE_MAX + 1);
	if (!text)
		return error_set(err, ENOMEM, "%.300s", path);
	ssize_t n = io_read_file(AT_FDCWD, path, text, FILE_MAX + 1);
	if (n < 0)
		return error_set(err, (int)-n, "%.300s", path);
	if ((size_t)n == FILE_MAX)
		return error_set(err, EFBIG, "%.300s", path);
	if (strlen(text) != (size_t)n)
		return error_set(err, 0, "%.300s is not a text file", path);
	char *shorter = realloc(text, (size_t)n + 1);
	*ret = shorter ? shorter : text;
	text = NULL;
	return 0;
}

static int parse_arguments(struct config *c, int argc, char **argv, struct error *err)
{
	int r = options_parse(specs, ARRAY_SIZE(specs), c, argc, argv, err);
	if (r >= 0 && r < argc)
		return error_set(err, 0, "'%.100s' is not an option (--help lists them)", argv[r]);
	return r < 0 ? r : 0;
}

/* Lists of the command line replace those of the file. */
static int load_into(struct config *c, int argc, char **argv, struct error *err)
{
	AUTO_FREE struct config *given = calloc(1, sizeof(*given));
	if (!given)
		return error_set(err, ENOMEM, "settings");
	int r = parse_arguments(given, argc, argv, err);
	if (r < 0)
		return r;
	options_init(specs, ARRAY_SIZE(specs), c);
	const char *file = given->file;
	if (!file && geteuid() == 0 && access(DEFAULT_FILE, F_OK) == 0)
		file = DEFAULT_FILE;
	if (file)
		r = read_text(file, &c->text, err);
	if (r == 0 && file)
		r = options_parse_file(specs, ARRAY_SIZE(specs), c, file, c->text, err);
	if (r < 0)
		return r;
	if (given->listen.count)
		c->listen.count = 0;
	if (given->listen_tls.count)
		c->listen_tls.count = 0;
	r = parse_arguments(c, argc, argv, err);
	c->file = file;
	if (r == 0 && c->listen.count + c->listen_tls.count == 0)
		c->listen.items[c->listen.count++].text = DEFAULT_LISTEN;
	return r;
}

int config_load(int argc, char **argv, struct config **ret, struct error *err)
{
	struct config *c = calloc(1, sizeof(*c));
	if (!c)
		return error_set(err, ENOMEM, "settings");
	int r = load_into(c, argc, argv, err);
	if (r == 0 && !c->help)
		r = config_complete(c, err);
	if (r < 0) {
		config_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

void config_free(struct config *c)
{
	if (!c)
		return;
	free(c->text);
	free(c);
}

void config_print(const struct config *c)
{
	options_print(specs, ARRAY_SIZE(specs), c);
}

void config_help(void)
{
	printf("Usage: hotcell serve [OPTIONS]\n\n"
	       "Keeps sandboxes for clients that speak the E2B protocols. The first start makes a\n"
	       "data directory and an API key and prints what to set in the client's environment.\n"
	       "SIGHUP loads certificate, key and limits again; SIGTERM ends it in order.\n\n");
	options_help(specs, ARRAY_SIZE(specs));
}

/* ---- reloading ---- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_list(const struct option_list *a, const struct option_list *b)
{
	if (a->count != b->count)
		return false;
	for (unsigned int i = 0; i < a->count; i++) {
		if (!same_text(a->items[i].text, b->items[i].text))
			return false;
	}
	return true;
}

static const char *find_fixed_change(const struct config *a, const struct config *b)
{
	if (!same_list(&a->listen, &b->listen))
		return "listen";
	if (!same_list(&a->listen_tls, &b->listen_tls))
		return "listen_tls";
	if (!same_text(a->data_dir, b->data_dir))
		return "data_dir";
	if (!same_text(a->user, b->user))
		return "user";
	if (!same_text(a->store, b->store))
		return "store";
	if (a->connections_max != b->connections_max ||
	    a->connections_per_address != b->connections_per_address)
		return "connections_max";
	return NULL;
}

int config_reload(struct config *c, int argc, char **argv, const char **ret_fixed,
		  struct error *err)
{
	struct config *fresh;
	int r = config_load(argc, argv, &fresh, err);
	if (r < 0)
		return r;
	*ret_fixed = find_fixed_change(c, fresh);
	/* What others hold pointers to stays; the old text is kept for it. It is a few hundred bytes. */
	fresh->listen = c->listen;
	fresh->listen_tls = c->listen_tls;
	fresh->data_dir = c->data_dir;
	fresh->user = c->user;
	fresh->store = c->store;
	fresh->connections_max = c->connections_max;
	fresh->connections_per_address = c->connections_per_address;
	*c = *fresh;
	free(fresh);
	return 0;
}
