#include "kernel/core/sandbox.h"

#include <stdio.h>

static enum sandbox_end state;
static char reason[256];

void sandbox_end(enum sandbox_end how, const char *why)
{
	if (state != SANDBOX_RUNNING)
		return;
	state = how;
	snprintf(reason, sizeof(reason), "%s", why);
}

enum sandbox_end sandbox_state(void)
{
	return state;
}

const char *sandbox_reason(void)
{
	return reason;
}
