/* The launcher's sandboxes: kernel processes with what belongs to them on the host. */
#pragma once

#include "base/error.h"
#include "launcher/protocol.h"

struct launcher_setup {
	int store_fd; /* directory for stores; -EBADF = what sandboxes write is kept in memory */
	const char *store; /* its name, for messages */
};

/* Looks at the host and sweeps what killed launchers left behind. */
int sandboxes_init(const struct launcher_setup *setup, int epoll_fd, struct error *err);
void sandboxes_hello(struct launcher_hello *ret);

/* *ret_control is owned by the caller. -EEXIST, -EMFILE (no slot left), -EINVAL. */
int sandboxes_launch(uint64_t id, const struct launcher_launch *request, int *ret_control,
		     struct error *err);
/* Nothing happens when there is none of that number. */
void sandboxes_kill(uint64_t id);
int sandboxes_freeze(uint64_t id, bool frozen, struct error *err);
int sandboxes_usage(uint64_t id, struct launcher_usage *ret, struct error *err);

/* The process of slot `index` (as registered with epoll) is readable: it ended. Fills the message. */
void sandboxes_reap(uint32_t index, struct launcher_message *ret);

/* Removes control groups whose last processes were still leaving, and what an earlier launcher left;
 * the time until it is worth another call in ms, -1 = nothing to do. */
int sandboxes_tidy(void);
/* Ends everything and waits for it. */
void sandboxes_fini(void);
