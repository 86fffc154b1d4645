/* The options of `hotcell run`, parsed and validated. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/options.h"

struct run_options {
	const char *template_name;
	const char *workdir; /* NULL = /work */
	const char *user;
	const char *hostname;
	const char *trace; /* NULL = off, "" = standard error, else a file */
	const char *store; /* NULL = what the sandbox writes is kept in memory */
	const char *json;  /* NULL = off, "-" = standard output */
	struct option_list env;
	struct option_list mounts; /* tag: enum wire_mount_kind */
	uint64_t memory_bytes, cpu_milli, pids, disk_bytes, files, timeout_ns;
	uint64_t preserve_fds; /* descriptors of the caller from 3 on */
	int tty; /* RUN_TTY_* */
	int quiet, summary, help;
	char **command;
	int command_count;
};

enum { RUN_TTY_AUTO = 0, RUN_TTY_YES = 1, RUN_TTY_NO = 2 };

/* The limit of file data: in memory it leaves a quarter of --memory to programs, because what is
 * asked of the host beyond --memory ends in a kill where a full disk says ENOSPC. */
uint64_t run_options_disk(const struct run_options *o);

/* Parses the arguments behind "run". 0 or negative with *err set. */
int run_options_parse(int argc, char **argv, struct run_options *ret, struct error *err);
void run_options_help(void);
