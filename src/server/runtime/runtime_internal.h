/* Shared by the files of the runtime: requests under way. */
#pragma once

#include <uv.h>

#include "base/list.h"
#include "server/runtime/runtime.h"
#include "wire/channel.h"

#define RUNTIME_BUCKETS 32u

enum pending_kind { PENDING_CALL, PENDING_PROCESS };

/* One request that is not answered for good: a member of a call or a process. */
struct pending {
	struct list link; /* in runtime.buckets */
	enum pending_kind kind;
	uint32_t request;
};

struct runtime {
	uv_poll_t poll;
	struct channel channel;
	const struct runtime_events *events;
	void *ctx;
	struct list buckets[RUNTIME_BUCKETS];
	uint32_t last_request;
	struct list unsent; /* struct unsent: behind what the channel holds */
	size_t unsent_bytes;
	int watched; /* events of the poll */
	bool ready, broken, closing;
	uint32_t how;
	char reason[512];
	bool have_stats;
	struct wire_stats stats;
};

/* Registers a request and gives it a number. */
void pending_add(struct runtime *rt, struct pending *p, enum pending_kind kind);
struct pending *pending_find(struct runtime *rt, uint32_t request);

/* Queues a message; fds are copied. -ESHUTDOWN: the channel is gone. */
int runtime_send(struct runtime *rt, uint32_t type, uint32_t request, const void *body,
		 uint32_t length, const int *fds, uint32_t fd_count);
/* The other end did what it must not: the end of it. */
void runtime_protocol_error(struct runtime *rt, const char *what);

/* What an ERROR says. False = malformed. */
struct wire_refusal {
	uint32_t error, about;
	const char *message;
};
bool runtime_get_refusal(struct wire_in *in, struct wire_refusal *ret);

/* process.c: a message for a process. */
void process_message(struct runtime *rt, struct pending *p, uint32_t type, struct wire_in *in);
void process_end(struct runtime *rt, struct pending *p); /* the channel is gone */
/* call.c: likewise for a call. */
void call_message(struct runtime *rt, struct pending *p, uint32_t type, struct wire_in *in);
void call_end(struct pending *p);
