/* State of a run, shared by the session_*.c files. */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "base/text.h"
#include "cli/outcome.h"
#include "cli/run_config.h"
#include "cli/run_options.h"
#include "cli/streams.h"
#include "launch/launch.h"
#include "wire/channel.h"

/* The sandbox may have 256 KiB of output under way to the terminal (wire.h), and at its end sends
 * what the terminal still holds. */
#define OUTPUT_BUFFER (512u << 10)

struct session {
	const struct run_options *options;
	struct outcome *outcome;
	struct text notes; /* into outcome->notes */
	uint64_t began_ns; /* of hotcell */

	struct run_identity identity;
	struct run_config config;
	struct cgroup cgroup;
	struct streams streams;
	struct launched kernel;
	bool launched;
	struct channel channel;

	bool ready, spawned, exited, died;
	bool orderly; /* DIED came: the kernel process ends by itself */
	bool vanished; /* it ended without */
	uint64_t spawned_ns;
	uint64_t deadline_ns; /* --timeout, 0 = none */
	uint64_t kill_ns;     /* when patience with a SHUTDOWN ends, 0 = not asked */
	uint64_t end_ns;      /* the same after EXITED */

	int signal_fd;
	sigset_t old_mask;
	unsigned int interrupts; /* SIGINTs in a row */
	uint64_t interrupt_ns;
	uint64_t interrupt_calls; /* system calls served at the first one; UINT64_MAX = unknown */
	bool interrupt_asked;	  /* a second one waits for the comparison */

	bool tty;
	int tty_in, tty_out;
	bool input_over;
	uint8_t output[OUTPUT_BUFFER];
	uint32_t output_start, output_end;
};

/* session_start.c: up to the SPAWN message. */
int session_start(struct session *s, struct error *err);
/* Waits for the kernel process, reads the usage, frees everything. */
void session_stop(struct session *s);

/* session_signal.c */
int session_signals_take(struct session *s, struct error *err);
void session_signals_restore(struct session *s);
void session_on_signals(struct session *s);
void session_on_stats(struct session *s, const struct wire_stats *stats);
/* Ends the sandbox for a reason; a kernel process that does not obey is killed a second later. */
void session_kill(struct session *s, const char *reason);

/* session_tty.c */
int session_tty_start(struct session *s, struct error *err);
void session_tty_stop(struct session *s);
void session_tty_resize(struct session *s);
void session_tty_input(struct session *s);
/* Takes the bytes of an OUTPUT message; false = more than the window allows. */
bool session_tty_output(struct session *s, const uint8_t *data, uint32_t size);
/* Writes what the terminal takes now, or everything. */
void session_tty_flush(struct session *s, bool all);
