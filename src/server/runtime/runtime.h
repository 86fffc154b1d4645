/*
 * A running sandbox as the daemon sees it: the far end of its control channel, asynchronous, on the
 * daemon's loop. Nothing above knows what kind of runtime answers.
 *
 * Every operation gets a request number; its answers come back to the callbacks given with it. When
 * the sandbox dies, every pending operation is answered with ESHUTDOWN first, then `died` is called,
 * once. Everything that the sandbox sends is checked; a malformed message ends it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "wire/wire.h"

typedef struct uv_loop_s uv_loop_t;
struct runtime;

struct runtime_events {
	void (*ready)(void *ctx, uint64_t start_ns);
	/* The last call: the runtime is freed when it returns. how = enum wire_death. */
	void (*died)(void *ctx, uint32_t how, const char *reason, const struct wire_stats *stats);
	void (*log)(void *ctx, uint32_t level, const char *text);
};

/* Owns control_fd from then on, in every case. */
int runtime_new(uv_loop_t *loop, int control_fd, const struct runtime_events *events, void *ctx,
		struct runtime **ret, struct error *err);
void runtime_set_context(struct runtime *rt, const struct runtime_events *events, void *ctx);
/* Ends the sandbox; `died` follows. */
void runtime_shutdown(struct runtime *rt, const char *reason);
/* Closes the channel at once; `died` follows, with this reason. */
void runtime_abandon(struct runtime *rt, const char *reason);

/* ---- processes ---- */

struct runtime_process;

struct runtime_process_events {
	void (*spawned)(void *ctx, uint32_t guest_pid);
	/* error = errno of the guest; about = enum wire_about: what it is about. Last call. */
	void (*failed)(void *ctx, int error, uint32_t about, const char *message);
	/* Terminal processes only; grant with runtime_output_taken(). */
	void (*output)(void *ctx, const uint8_t *data, size_t size);
	/* status as of wait(2). Last call. */
	void (*exited)(void *ctx, uint32_t status);
};

/* fds (copied): what the process has from descriptor 0 on, 3 to WIRE_SPAWN_FDS_MAX; of a terminal's
 * process from 3 on, mostly none. */
struct runtime_process *runtime_spawn(struct runtime *rt, const struct wire_spawn *spawn,
				      const int *fds, unsigned int fd_count,
				      const struct runtime_process_events *events, void *ctx);
void runtime_input(struct runtime_process *p, const void *data, size_t size);
void runtime_output_taken(struct runtime_process *p, size_t size);
void runtime_resize(struct runtime_process *p, uint32_t rows, uint32_t cols);
/* whole_group: the process group of the process and everything that it started. */
void runtime_signal(struct runtime_process *p, int signal, bool whole_group);
/* Nobody listens any more: the process runs on, its callbacks are not called again. */
void runtime_process_forget(struct runtime_process *p);

/* ---- everything else: one request, one or more answers ---- */

struct runtime_answer {
	int error;	     /* 0, or the positive errno of the sandbox: then the last answer */
	uint32_t about;	     /* of an error: enum wire_about */
	const char *message; /* of an error */
	uint32_t type;	     /* of anything else, with its body (valid during the call) */
	struct wire_in *body;
};
typedef void (*runtime_answer_fn)(void *ctx, const struct runtime_answer *a);
/* fd (copied) may be -1. Returns the number for runtime_cancel(), 0 when the channel is gone (the
 * answer ESHUTDOWN has been given already). */
uint32_t runtime_call(struct runtime *rt, uint32_t type, const struct wire_out *body, int fd,
		      runtime_answer_fn fn, void *ctx);
/* The operation stops; no answer is delivered any more. */
void runtime_cancel(struct runtime *rt, uint32_t request);
