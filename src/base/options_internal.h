/* What the command line and the file have in common. */
#pragma once

#include "base/options.h"

/* NULL = there is none. */
const struct option_spec *option_find(const struct option_spec *specs, size_t count,
				      const char *name);
/* Parses and checks a value. */
int option_store(const struct option_spec *s, void *base, const char *text, struct error *err);
