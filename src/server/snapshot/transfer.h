/*
 * Bytes of a snapshot between a socket and a file, moved by a worker thread: neither the loop nor a
 * sandbox waits for the disk. A few at a time, the others wait their turn.
 *
 *     transfer_new() --transfer_wait()--> waiting --turn--> transfer_run() --> done, freed
 *                                            `------ transfer_cancel() ------------^ without `done`
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct uv_loop_s uv_loop_t;
struct transfers;
struct transfer;

struct transfer_plan {
	int from, to; /* the transfer's in every case; one is a socket that does not block */
	bool save; /* from the socket to the file, until the end; else the whole file to the socket */
	uint64_t max;		  /* bytes of a save; beyond: EFBIG */
	bool sync;		  /* of a save: the file's content reaches the disk before `done` */
	unsigned int patience_ms; /* without a byte: ETIMEDOUT */
};

struct transfer_events {
	/* Call transfer_run() or transfer_cancel(), now. Also from inside transfer_wait(). */
	void (*turn)(void *ctx);
	/* err NULL = all of it. The last call; from the loop. Both descriptors are closed. */
	void (*done)(void *ctx, uint64_t bytes, const struct error *err);
};

/* `most` at a time. NULL = out of memory. */
struct transfers *transfers_new(uv_loop_t *loop, unsigned int most);
/* Those that run end later, by themselves. NULL is fine. */
void transfers_free(struct transfers *all);

/*
 * Bytes that all saves have written: beyond the maximum one fails with EDQUOT. What failed or was
 * cancelled is taken back, the rest is the caller's to add at the start and to take back (negative).
 */
void transfers_set_space(struct transfers *all, uint64_t max);
void transfers_add_space(struct transfers *all, int64_t bytes);
uint64_t transfers_space(const struct transfers *all);

/* NULL = out of memory. */
struct transfer *transfer_new(struct transfers *all, const struct transfer_events *events,
			      void *ctx);
void transfer_wait(struct transfer *t);
void transfer_run(struct transfer *t, const struct transfer_plan *plan);
/* Nothing is called any more. NULL is fine. */
void transfer_cancel(struct transfer *t);
