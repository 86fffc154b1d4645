/*
 * What the code interpreter allows, in one place. Everything here is of one sandbox or one context:
 * whoever may use a sandbox may use these up, for that sandbox only. docs/server.md has the same list.
 */
#pragma once

/* ---- requests ---- */
#define INTERPRETER_BODY_MAX	  (8u << 20) /* bytes of a request's body; 413 beyond */
#define INTERPRETER_VARIABLES_MAX 1024u	     /* env_vars of one execution; 400 beyond */
#define INTERPRETER_CWD_MAX	  4096u	     /* bytes of a working directory; 400 beyond */

/* ---- contexts of a sandbox ---- */
#define INTERPRETER_CONTEXTS_MAX  64u	      /* 503 beyond */
#define INTERPRETER_WAITING_MAX	  64u	      /* executions that wait for one context; 503 beyond */
#define INTERPRETER_WAITING_BYTES (32u << 20) /* code and variables of all that run or wait; 503 */
#define INTERPRETER_STARTERS_MAX  64u	      /* requests that wait for one driver's start; 503 */

/* ---- output ---- */
#define INTERPRETER_UNSENT_MAX                                                                     \
	(256u << 10)		      /* a client that has not taken so much: its driver waits */
#define INTERPRETER_PIECE (32u << 10) /* bytes read from a driver at once */
/* JSON that is not complete and lines that were not taken, of all contexts; JSON beyond is left out. */
#define INTERPRETER_HELD_MAX (64u << 20)
/* JSON that is not complete, of all sandboxes. */
#define INTERPRETER_HELD_ALL_MAX (512u << 20)

/* ---- time ---- */
#define INTERPRETER_KEEPALIVE_MS 5000u	/* without a line: one that says so */
#define INTERPRETER_READY_MS	 60000u /* for a driver to get ready */
#define INTERPRETER_INTERRUPT_MS 2000u	/* after the first SIGINT: the second */
#define INTERPRETER_KILL_MS	 3000u	/* after that: SIGKILL */
#define INTERPRETER_EXIT_MS	 2000u	/* from the end of its events to its exit */
