/*
 * One run: starts a sandbox, connects it with the caller, waits for its end. Fills *ret; returns
 * when the sandbox and everything that belongs to it is gone.
 */
#pragma once

#include <stdint.h>

#include "cli/outcome.h"
#include "cli/run_options.h"

void session_run(const struct run_options *options, uint64_t began_ns, struct outcome *ret);
