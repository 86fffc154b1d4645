/* `hotcell run`: options, one session, report. */
#include <stdio.h>
#include <unistd.h>

#include "cli/outcome.h"
#include "cli/report.h"
#include "cli/run_options.h"
#include "cli/session.h"
#include "cli/streams.h"
#include "cli/verbs.h"

/* Static: the lists and notes in them are too much for a stack frame. */
static struct run_options options;
static struct outcome outcome;

int verb_run(const struct verb_context *ctx, int argc, char **argv)
{
	struct error err;
	if (run_options_parse(argc, argv, &options, &err) < 0) {
		fprintf(stderr, "hotcell: %s\n", err.message);
		return STATUS_FAILED;
	}
	if (options.help) {
		run_options_help();
		return 0;
	}
	if (streams_check_preserved(options.preserve_fds, &err) < 0) {
		fprintf(stderr, "hotcell: %s\n", err.message);
		return STATUS_FAILED;
	}
	session_run(&options, ctx->began_ns, &outcome);
	report_reason(&outcome);
	if (!options.quiet && (options.summary || isatty(STDERR_FILENO)) && outcome.start_ns)
		report_summary(&outcome);
	if (options.json && report_json(&options, &outcome, &err) < 0) {
		fprintf(stderr, "hotcell: %s\n", err.message);
		if (outcome.status == 0)
			return STATUS_FAILED;
	}
	return outcome.status;
}
