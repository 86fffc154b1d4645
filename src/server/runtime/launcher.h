/* The server's side of hotcell-launcher: starting it, and asking it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "launcher/protocol.h"

typedef struct uv_loop_s uv_loop_t;
struct launcher;

/*
 * Starts hotcell-launcher, which lies beside this program, with the rights of the caller: before they
 * are given up, and before there is a second thread. path NULL = where it belongs; store_dir NULL = in
 * memory. *ret_fd is its socket.
 */
int launcher_start(const char *path, const char *store_dir, int *ret_fd, pid_t *ret_pid, struct error *err);

struct launcher_events {
	/* It is ready; once. */
	void (*hello)(void *ctx, const struct launcher_hello *h);
	/* It is gone, or does not keep to the protocol: all sandboxes are dead or dying. Once, last. */
	void (*gone)(void *ctx, const char *why);
};
/* Owns fd from then on. */
int launcher_new(uv_loop_t *loop, int fd, const struct launcher_events *events, void *ctx,
		 struct launcher **ret, struct error *err);
/* Closes the socket: the launcher ends every sandbox. No callback any more. NULL is fine. */
void launcher_free(struct launcher *l);

struct launcher_child_events {
	/* control_fd is the callee's; with err it is -EBADF and that was the last call. */
	void (*launched)(void *ctx, int control_fd, const struct error *err);
	/* The kernel process is reaped, with everything in it. Last call. */
	void (*exited)(void *ctx, const struct launcher_exited *e);
};
/* Returns the number of the sandbox, 0 = out of memory (nothing is called). */
uint64_t launcher_launch(struct launcher *l, const struct launcher_launch *request,
			 const struct launcher_child_events *events, void *ctx);
void launcher_kill(struct launcher *l, uint64_t id);
/* No callbacks for this one any more; it is killed when it appears, or at once. */
void launcher_forget(struct launcher *l, uint64_t id);

/* usage NULL for freeze and thaw; err NULL = success. Not called any more after `exited`. */
typedef void (*launcher_answer_fn)(void *ctx, const struct launcher_usage *usage,
				   const struct error *err);
void launcher_freeze(struct launcher *l, uint64_t id, bool frozen, launcher_answer_fn fn,
		     void *ctx);
void launcher_usage(struct launcher *l, uint64_t id, launcher_answer_fn fn, void *ctx);
