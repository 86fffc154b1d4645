#include "cli/run_options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "wire/wire.h"

#define AT(member) offsetof(struct run_options, member)

/* clang-format off */
static const struct option_spec specs[] = {
	{ .name = "template", .kind = OPTION_TEXT, .offset = AT(template_name), .metavar = "NAME",
	  .initial = "host",
	  .help = "root file system; \"host\" is this machine's /usr and the\n"
		  "harmless part of /etc, read-only" },
	{ .name = "workdir", .letter = 'w', .kind = OPTION_TEXT, .offset = AT(workdir),
	  .metavar = "DIR", .shown = "/work",
	  .help = "working directory inside" },
	{ .name = "env", .letter = 'e', .kind = OPTION_LIST, .offset = AT(env), .metavar = "K[=V]",
	  .shown = "a minimal environment",
	  .help = "set a variable; without =V the caller's value" },
	{ .name = "user", .letter = 'u', .kind = OPTION_TEXT, .offset = AT(user),
	  .metavar = "NAME", .initial = "user",
	  .help = "user inside: user, root, another name of /etc/passwd\n"
		  "there, UID or UID:GID" },
	{ .name = "ro", .kind = OPTION_LIST, .offset = AT(mounts), .metavar = "HOST:GUEST",
	  .value = WIRE_MOUNT_RO, .shown = "none", .help = "show a file or directory, read-only" },
	{ .name = "rw", .kind = OPTION_LIST, .offset = AT(mounts), .metavar = "HOST:GUEST",
	  .value = WIRE_MOUNT_RW, .shown = "none", .help = "the same, changes are real" },
	{ .name = "cow", .kind = OPTION_LIST, .offset = AT(mounts), .metavar = "HOST:GUEST",
	  .value = WIRE_MOUNT_COW, .shown = ".:/work",
	  .help = "the same, changes stay in the sandbox and end with it" },
	{ .name = "memory", .letter = 'm', .kind = OPTION_SIZE, .offset = AT(memory_bytes),
	  .metavar = "SIZE", .initial = "2G", .min = MIB(16), .help = "memory limit" },
	{ .name = "cpus", .kind = OPTION_CPUS, .offset = AT(cpu_milli), .metavar = "N",
	  .shown = "all", .min = 10, .max = 4096000, .help = "CPU limit, e.g. 0.5" },
	{ .name = "pids", .kind = OPTION_COUNT, .offset = AT(pids), .metavar = "N",
	  .initial = "1024", .min = 1, .max = 4194304, .help = "limit of processes and threads" },
	{ .name = "disk", .kind = OPTION_SIZE, .offset = AT(disk_bytes), .metavar = "SIZE",
	  .initial = "4G", .min = 4096, .help = "limit of file data written in the sandbox" },
	{ .name = "store", .kind = OPTION_TEXT, .offset = AT(store), .metavar = "DIR",
	  .shown = "in memory",
	  .help = "keep what the sandbox writes in a private directory\n"
		  "in DIR, removed at the end; in memory it may take three\n"
		  "quarters of --memory at most, whatever --disk says" },
	{ .name = "files", .kind = OPTION_COUNT, .offset = AT(files), .metavar = "N",
	  .initial = "65536", .min = 16, .max = 16777216, .help = "limit of open files" },
	{ .name = "timeout", .kind = OPTION_DURATION, .offset = AT(timeout_ns),
	  .metavar = "TIME", .shown = "none", .min = NSEC_PER_MSEC,
	  .help = "end the sandbox after this time, e.g. 30s, 5m" },
	{ .name = "tty", .letter = 't', .kind = OPTION_FLAG, .offset = AT(tty),
	  .value = RUN_TTY_YES, .shown = "when on a terminal", .help = "give the program a terminal" },
	{ .name = "no-tty", .kind = OPTION_FLAG, .offset = AT(tty), .value = RUN_TTY_NO,
	  .help = "never a terminal: pass the descriptors of the caller" },
	{ .name = "preserve-fds", .kind = OPTION_COUNT, .offset = AT(preserve_fds), .metavar = "N",
	  .initial = "0", .max = WIRE_SPAWN_FDS_MAX - 3,
	  .help = "pass N more descriptors of the caller, from 3 on" },
	{ .name = "hostname", .kind = OPTION_TEXT, .offset = AT(hostname), .metavar = "NAME",
	  .initial = "hotcell", .help = "host name inside" },
	{ .name = "trace", .kind = OPTION_OPTIONAL, .offset = AT(trace), .metavar = "FILE",
	  .shown = "off", .help = "print system calls to standard error or FILE" },
	{ .name = "json", .kind = OPTION_TEXT, .offset = AT(json), .metavar = "FILE",
	  .shown = "off", .help = "write the full summary as JSON (- is standard output)" },
	{ .name = "summary", .kind = OPTION_FLAG, .offset = AT(summary), .value = 1,
	  .shown = "when standard error is a terminal",
	  .help = "print the summary line on standard error" },
	{ .name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = AT(quiet), .value = 1,
	  .help = "no summary and no notes" },
	{ .name = "help", .letter = 'h', .kind = OPTION_FLAG, .offset = AT(help), .value = 1,
	  .help = "this text" },
};
/* clang-format on */

static int validate_hostname(const char *name, struct error *err)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.");
	if (n == 0 || n > 64 || name[n] || name[0] == '-' || name[0] == '.')
		return error_set(err, 0, "--hostname: '%.100s' is not a host name", name);
	return 0;
}

static int validate_env(const struct option_list *env, struct error *err)
{
	for (unsigned int i = 0; i < env->count; i++) {
		const char *text = env->items[i].text;
		if (text[0] == '\0' || text[0] == '=')
			return error_set(err, 0, "--env: '%.100s' has no name", text);
	}
	return 0;
}

static int validate(const struct run_options *o, struct error *err)
{
	if (strcmp(o->template_name, "host") != 0)
		return error_set(err, 0, "--template: unknown template '%.100s'; there is: host",
				 o->template_name);
	if (o->workdir && o->workdir[0] != '/')
		return error_set(err, 0, "--workdir: '%.100s' is not an absolute path", o->workdir);
	if (o->user[0] == '\0')
		return error_set(err, 0, "--user needs a name or a number");
	if (o->store && o->store[0] == '\0')
		return error_set(err, 0, "--store needs a directory");
	if (o->json && o->json[0] == '\0')
		return error_set(err, 0, "--json needs a file name");
	if (o->command_count == 0)
		return error_set(err, 0, "no command; try: hotcell run -- echo hello");
	int r = validate_hostname(o->hostname, err);
	return r < 0 ? r : validate_env(&o->env, err);
}

uint64_t run_options_disk(const struct run_options *o)
{
	return o->store ? o->disk_bytes : MIN(o->disk_bytes, o->memory_bytes / 4 * 3);
}

int run_options_parse(int argc, char **argv, struct run_options *ret, struct error *err)
{
	memset(ret, 0, sizeof(*ret));
	options_init(specs, ARRAY_SIZE(specs), ret);
	int r = options_parse(specs, ARRAY_SIZE(specs), ret, argc, argv, err);
	if (r < 0)
		return r;
	ret->command = argv + r;
	ret->command_count = argc - r;
	return ret->help ? 0 : validate(ret, err);
}

void run_options_help(void)
{
	printf("Usage: hotcell run [OPTIONS] [--] COMMAND [ARGUMENTS]\n\n"
	       "Runs a program in a sandbox. The current directory is /work inside: the program\n"
	       "sees it and can change it, the host's files stay as they are (--rw .:/work makes\n"
	       "changes real). There is no network but loopback.\n\n");
	options_help(specs, ARRAY_SIZE(specs));
	printf("\nExit status: that of the program, 128+N when signal N ended it; 125 when Hotcell\n"
	       "itself failed, 126 and 127 when the program could not be run or found, 137 when\n"
	       "Hotcell ended it (a line on standard error says why).\n");
}
