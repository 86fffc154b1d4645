/*
 * What hotcell-server may ask of hotcell-launcher. A SOCK_SEQPACKET pair; every packet is one struct
 * launcher_message, whole. The server is not trusted: it parses what strangers send. It names no
 * path, no uid and no process, only numbers of sandboxes that it chose itself, and limits that are
 * checked. When the socket closes the launcher ends every sandbox and removes what belongs to it.
 *
 *   server                                launcher
 *                                         HELLO, once
 *   LAUNCH                                LAUNCHED with the control channel, or FAILED
 *   KILL                                  nothing; EXITED follows if it lives
 *   FREEZE, THAW                          DONE, or FAILED
 *   USAGE                                 USED, or FAILED
 *                                         EXITED, once for each LAUNCHED, the last of its number
 *
 * Answers come in the order of the requests; EXITED at any time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"

#define LAUNCHER_VERSION       1u
#define LAUNCHER_SANDBOXES_MAX 4096u
#define LAUNCHER_HOSTNAME_MAX  64u

enum launcher_type {
	LAUNCHER_LAUNCH = 1,
	LAUNCHER_KILL,
	LAUNCHER_FREEZE,
	LAUNCHER_THAW,
	LAUNCHER_USAGE,
	LAUNCHER_HELLO = 16,
	LAUNCHER_LAUNCHED,
	LAUNCHER_FAILED,
	LAUNCHER_DONE,
	LAUNCHER_USED,
	LAUNCHER_EXITED,
};

enum launcher_template {
	LAUNCHER_TEMPLATE_HOST = 1, /* the built-in one, launch/config.h */
};

struct launcher_launch {
	uint64_t limits[WIRE_LIMITS]; /* in the order of enum limit, 0 = default */
	uint32_t template;
	char hostname[LAUNCHER_HOSTNAME_MAX + 1];
};

struct launcher_hello {
	uint32_t version;
	uint32_t controllers; /* CGROUP_BIT()s that sandboxes will have */
	uint32_t root;	      /* sandboxes get an identity of their own */
	uint32_t store;	      /* what they write lies on disk */
};

struct launcher_usage {
	uint32_t has_memory; /* else the memory fields are not known */
	uint64_t memory_bytes, memory_peak_bytes, cpu_ns, oom_kills;
};

struct launcher_exited {
	uint32_t status; /* as of wait(2) */
	struct launcher_usage usage;
};

struct launcher_failed {
	uint32_t code;
	char message[256]; /* terminated */
};

struct launcher_message {
	uint32_t type;
	uint32_t reserved; /* 0 */
	uint64_t id;	   /* of the sandbox: the server's choice at LAUNCH, never 0 */
	union {
		struct launcher_launch launch;
		struct launcher_hello hello;
		struct launcher_usage usage;
		struct launcher_exited exited;
		struct launcher_failed failed;
	};
};

/* Options of the program, an interface between the two. */
#define LAUNCHER_OPTION_STORE "--store" /* directory for what sandboxes write; else in memory */
#define LAUNCHER_SOCKET_FD    3

/*
 * One packet, with at most one descriptor. fd -EBADF = none. `send` keeps the descriptor of the
 * caller; -EAGAIN on a full non-blocking socket. `receive`: 1 = *ret and *ret_fd (owned by the
 * caller, -EBADF = none; also when the caller may have no more descriptors), 0 = nothing there,
 * -EPIPE = closed, -EPROTO = not such a packet.
 */
int launcher_send(int socket, const struct launcher_message *m, int fd);
int launcher_receive(int socket, struct launcher_message *ret, int *ret_fd);
