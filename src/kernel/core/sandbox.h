/* The sandbox as a whole: its end, and the reason for it. */
#pragma once

#include <stdbool.h>

enum sandbox_end {
	SANDBOX_RUNNING,
	SANDBOX_ENDED,	  /* nothing left to run */
	SANDBOX_SHUTDOWN, /* asked to */
	SANDBOX_LIMIT,	  /* a limit; the reason names it and its option */
	SANDBOX_FAULT,	  /* the kernel's own failure */
};

/* Pid 1 is gone, and with it every guest: the host ran out of memory, or somebody killed it. */
#define SANDBOX_INIT_KILLED "the sandbox's first process was killed by the host"

/* Ends the sandbox after the current turn of the loop. The first reason stays. */
void sandbox_end(enum sandbox_end how, const char *reason);
enum sandbox_end sandbox_state(void);
const char *sandbox_reason(void);

/* A child of pid 1 may be a zombie: tell pid 1 to look. */
void sandbox_reap(void);
