/*
 * `hotcell code`: what its parts share.
 *
 *     code.c       options, the code of a file, exit status
 *     session      a terminal: prompts, editing, history          (code_session.c, code_edit.c,
 *                                                                  code_history.c, code_complete*.c)
 *     backend      where code is executed: a sandbox of our own    (code_local.c, code_run.c)
 *                  or one of a server                              (code_remote.c)
 *     presenter    the lines of executions, shown                  (code_present.c and what it uses)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "client/client.h"
#include "client/code_present.h"
#include "interpreter/language.h"

#define CODE_MAX (16u << 20) /* bytes of one execution */

enum {
	CODE_ERROR = 1,	   /* exit status: the code ended with an error */
	CODE_FAILED = 125, /* Hotcell failed */
};

struct code;

struct backend {
	/* Ready to execute when it returns 0. */
	int (*start)(struct code *c, struct error *err);
	/*
	 * Executes to the end, which c->presenter has seen then, unless c->interrupted or
	 * c->stopped_by say something else. 1: the interpreter has ended with it; stop() or
	 * restart() is next.
	 */
	int (*execute)(struct code *c, const char *code, size_t size, struct error *err);
	/* A new state, numbered from 1. */
	int (*restart)(struct code *c, struct error *err);
	/* Also after a start() that failed, and twice. */
	void (*stop)(struct code *c);
};

extern const struct backend backend_local, backend_remote;

struct code {
	struct client_options *o;
	struct language_name name;
	struct language language;
	const struct backend *backend;
	void *of_backend;
	struct presenter presenter;
	int signals; /* signals_open() */
	bool interrupted;
	int stopped_by; /* signal that ends the command, 0 = none */
	int status;	/* for the exit of the command when the interpreter has ended */
};

/* Options that `hotcell run` has, too: given to it, in the order of the command line. */
enum { PASSED_OTHER, PASSED_ENV, PASSED_WORKDIR, PASSED_COUNT };

/* The name of the option of an item of o->passed. */
const char *code_option_name(int tag);

/* A terminal. The exit status. */
int session_run(struct code *c);

/* ---- signals: SIGINT, SIGTERM and SIGHUP arrive by a descriptor ---- */

/* A signalfd; they are blocked from here on. What the caller ignores stays ignored. */
int signals_open(void);
/* The next one, 0 = none. */
int signals_take(int fd);
/* They do what they do to any program, where the command may have to wait for others. */
void signals_let(bool through);
/* What they mean while code executes: 1 = an interrupt, -EINTR = the end of the command. */
int signals_handle(struct code *c);
