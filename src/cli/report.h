/* What `hotcell run` says at the end: reason, summary line, JSON. */
#pragma once

#include "base/error.h"
#include "cli/outcome.h"
#include "cli/run_options.h"

/* Why the program did not end by itself; nothing when it did. */
void report_reason(const struct outcome *o);
void report_summary(const struct outcome *o);
int report_json(const struct run_options *options, const struct outcome *o, struct error *err);
