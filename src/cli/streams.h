/*
 * The caller's descriptors on their way into the sandbox: the standard ones, and those from 3 on
 * that --preserve-fds names.
 *
 * The kernel process needs non-blocking descriptors, but O_NONBLOCK belongs to the open file that
 * the caller shares with us. So pipes, terminals and devices are opened a second time through
 * /proc/self/fd; regular files (offsets are shared) and sockets (MSG_DONTWAIT exists) go as they
 * are. Where a second open is not possible (another user's terminal,
 * descriptors without a file) a pipe of ours is passed, and the event loop copies.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "wire/wire.h"

struct relay {
	int from, to; /* -EBADF = this side is over */
	bool to_guest;
	/* Ours to close when everything is copied. */
	bool close_from, close_to;
	uint32_t start, end;
	uint8_t buffer[4096]; /* PIPE_BUF: a ready pipe takes that much without blocking */
};

struct streams {
	int first, end; /* which ones: 0, or 3 when a terminal stands for the others */
	int pass[WIRE_SPAWN_FDS_MAX]; /* by number: what the sandbox gets; owned */
	struct relay relays[WIRE_SPAWN_FDS_MAX];
};

/* First thing in main(): standard descriptors that the caller closed become /dev/null, so that no
 * descriptor of ours ever lands on 0, 1 or 2. */
int streams_fill_closed(void);
/* Whether the caller gave us `count` descriptors from 3 on. Before we open any of our own. */
int streams_check_preserved(uint64_t count, struct error *err);
/* None. Closing them is fine. */
void streams_init(struct streams *s);
/* Prepares the caller's descriptors first..end-1. */
int streams_open(struct streams *s, int first, int end, struct error *err);
void streams_close(struct streams *s);
/* The sandbox has its copies: lets go of ours, so that ends of pipes are seen as such. Standard
 * output stays when something of our own will be written there, standard error always. */
void streams_passed(struct streams *s, bool keep_stdout);

#define STREAMS_POLL_MAX WIRE_SPAWN_FDS_MAX
/* Adds what the relays wait for; the count. */
unsigned int streams_poll_add(const struct streams *s, struct pollfd *fds);
/* Copies what can be copied without waiting. */
void streams_pump(struct streams *s);
/* Copies what the sandbox wrote before its end; waits for a slow reader, stops on errors. */
void streams_drain(struct streams *s);
