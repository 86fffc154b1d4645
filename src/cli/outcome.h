/* What a run came to: filled by the session, printed by the report. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "launch/cgroup.h"
#include "wire/wire.h"

enum outcome_kind {
	OUTCOME_FAILED,	  /* Hotcell's own failure; the default until something better is known */
	OUTCOME_NOT_RUN,  /* the program was not found or could not be executed */
	OUTCOME_EXITED,	  /* status is the program's */
	OUTCOME_SIGNALED, /* a signal ended it */
	OUTCOME_KILLED,	  /* Hotcell ended it: reason */
};

enum {
	STATUS_FAILED = 125,
	STATUS_NOT_EXECUTABLE = 126,
	STATUS_NOT_FOUND = 127,
	STATUS_KILLED = 137
};

struct outcome {
	enum outcome_kind kind;
	int status; /* exit status of `hotcell run` */
	int signal; /* OUTCOME_SIGNALED */
	char reason[512];
	uint64_t start_ns; /* hotcell's start to the program's */
	uint64_t run_ns;   /* the program's start to its end */
	bool have_stats;
	struct wire_stats stats;
	struct cgroup_host host;
	uint32_t controllers; /* of the sandbox's group */
	struct cgroup_usage usage;
	char notes[2048]; /* lines: warnings of the kernel process, what is weaker than usual */
};
