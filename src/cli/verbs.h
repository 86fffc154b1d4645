/* One function per verb of the command; argv starts behind the verb. Returns the exit status. */
#pragma once

#include <stdint.h>

struct verb_context {
	uint64_t began_ns; /* when main() was entered */
};

int verb_run(const struct verb_context *ctx, int argc, char **argv);
int verb_serve(const struct verb_context *ctx, int argc, char **argv);
int verb_key(const struct verb_context *ctx, int argc, char **argv);
int verb_doctor(const struct verb_context *ctx, int argc, char **argv);
int verb_version(const struct verb_context *ctx, int argc, char **argv);
int verb_help(const struct verb_context *ctx, int argc, char **argv);
int verb_ps(const struct verb_context *ctx, int argc, char **argv);
int verb_top(const struct verb_context *ctx, int argc, char **argv);
int verb_logs(const struct verb_context *ctx, int argc, char **argv);
int verb_exec(const struct verb_context *ctx, int argc, char **argv);
int verb_kill(const struct verb_context *ctx, int argc, char **argv);
int verb_cp(const struct verb_context *ctx, int argc, char **argv);
int verb_forward(const struct verb_context *ctx, int argc, char **argv);
int verb_snapshot(const struct verb_context *ctx, int argc, char **argv);
int verb_fork(const struct verb_context *ctx, int argc, char **argv);
int verb_cert(const struct verb_context *ctx, int argc, char **argv);
int verb_code(const struct verb_context *ctx, int argc, char **argv);
