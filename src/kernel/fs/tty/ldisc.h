/*
 * The line discipline (termios(3), ioctl_tty(2)): what a terminal does to the bytes between the
 * keyboard and the program. Pure state machine: no system calls, no allocation, no signals of its
 * own; it says in `events` what its owner has to do. Driven by bytes alone in its unit test.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/fs/tty/byte_queue.h"

/* The layout of the kernel's struct termios2; its first 36 bytes are struct termios. */
#define TTY_CC_COUNT 19
struct tty_termios {
	uint32_t iflag, oflag, cflag, lflag;
	uint8_t line;
	uint8_t cc[TTY_CC_COUNT];
	uint32_t ispeed, ospeed;
};

#define LDISC_INPUT_BYTES 4096u /* a line has at most this many bytes with its end */
#define LDISC_ECHO_BYTES 4096u
#define LDISC_DELIVERED_BYTES 4095u /* of output: as if the master had received them */

enum ldisc_event {
	LDISC_EVENT_READABLE = 1 << 0,	  /* a reader may find something now */
	LDISC_EVENT_OUTPUT = 1 << 1,	  /* `out` has grown */
	LDISC_EVENT_INTR = 1 << 2,	  /* SIGINT to the foreground group */
	LDISC_EVENT_QUIT = 1 << 3,	  /* SIGQUIT */
	LDISC_EVENT_SUSP = 1 << 4,	  /* SIGTSTP */
	LDISC_EVENT_FLUSHED_READ = 1 << 5, /* packet mode reports these four */
	LDISC_EVENT_FLUSHED_WRITE = 1 << 6,
	LDISC_EVENT_STOPPED = 1 << 7,
	LDISC_EVENT_STARTED = 1 << 8,
};

struct ldisc_columns {
	uint32_t column, line_column;
};

struct ldisc {
	struct tty_termios termios;
	struct byte_queue out; /* towards the terminal: written by the program, and echo */

	/* Input: free-running positions, tail <= line_end <= head. */
	uint32_t head;	   /* next byte goes here */
	uint32_t line_end; /* behind the last complete line; what follows can be edited */
	uint32_t tail;	   /* next byte to read */
	bool lnext;	   /* the next byte is literal */
	bool erasing;	   /* inside \.../ of ECHOPRT */
	bool stopped;	   /* ^S */
	bool stopped_by_ioctl; /* TCOOFF: ^Q does not help */

	uint32_t column;	   /* of the cursor */
	uint32_t line_column;	   /* where the line being edited began */
	struct ldisc_columns shown; /* the same without the echo that still waits */
	bool in_input;
	uint32_t delivered; /* bytes of `out` that a flush by this input leaves */
	uint32_t events;	   /* enum ldisc_event, taken by the owner */
	uint32_t echo_count;
	uint8_t ends[LDISC_INPUT_BYTES / 8]; /* bit: this byte ends a line */
	uint8_t eofs[LDISC_INPUT_BYTES / 8]; /* bit: this byte is an end-of-file mark, not data */
	uint8_t input[LDISC_INPUT_BYTES];
	uint8_t echo[LDISC_ECHO_BYTES]; /* echo that waits because output is stopped or full */
};

/* Settings of a new terminal, like Linux's. `out_storage` belongs to the owner. */
void ldisc_init(struct ldisc *ld, void *out_storage, uint32_t out_size);
void ldisc_default_termios(struct tty_termios *t);

/* Bytes typed at the terminal. Returns how many were taken; the others wait for a reader. */
size_t ldisc_input(struct ldisc *ld, const uint8_t *bytes, size_t count);

/*
 * Bytes written by the program: stages the processed form in `out`, returns how many were taken.
 * The caller commits: ldisc_output_commit(), or forgets: ldisc_output_begin().
 */
struct ldisc_columns ldisc_output_begin(struct ldisc *ld);
size_t ldisc_output(struct ldisc *ld, struct ldisc_columns *at, const uint8_t *bytes, size_t count);
void ldisc_output_commit(struct ldisc *ld, struct ldisc_columns at);

/* What one read of up to `size` bytes gets. */
struct ldisc_span {
	uint32_t count;
	bool eof; /* an end-of-file mark behind it is consumed, too */
};
/* False: nothing to read (canonical: no complete line). VMIN is the caller's business. */
bool ldisc_next(const struct ldisc *ld, size_t size, struct ldisc_span *ret);
const uint8_t *ldisc_peek(const struct ldisc *ld, uint32_t offset, uint32_t *ret_count);
void ldisc_consume(struct ldisc *ld, uint32_t count, bool eof);

bool ldisc_canonical(const struct ldisc *ld);
bool ldisc_has_input(const struct ldisc *ld, uint32_t min); /* canonical: a line */
uint32_t ldisc_pending(const struct ldisc *ld);		     /* FIONREAD */

void ldisc_set_termios(struct ldisc *ld, const struct tty_termios *t);
void ldisc_flush_input(struct ldisc *ld);
void ldisc_flush_output(struct ldisc *ld);
void ldisc_stop(struct ldisc *ld);
void ldisc_start(struct ldisc *ld);
void ldisc_flush_echo(struct ldisc *ld); /* moves waiting echo to `out` when it may go */
