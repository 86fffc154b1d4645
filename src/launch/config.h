/*
 * The CONFIG message: what a sandbox sees of the host. Every source is opened when it is added,
 * O_PATH, with the caller's rights; the kernel process gets descriptors and never a host path.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "wire/channel.h"

struct launch_config {
	struct wire_config wire; /* its strings: the caller's, or below */
	int fds[WIRE_FDS_MAX];
	uint32_t fd_count;
	char guest_paths[WIRE_FDS_MAX][256];
	char targets[16][256];
	uint32_t target_count;
};

/* Empty, with the default user. */
void launch_config_init(struct launch_config *c);
/* Adds a mount; takes the descriptor (-EBADF = none) in every case. `target` is not copied. */
int launch_config_mount(struct launch_config *c, uint32_t kind, const char *guest,
			const char *target, int fd, bool detached, struct error *err);
/*
 * The built-in template "host": /usr with the top level directories that belong to it (links on
 * today's Debian, directories on older hosts), the sources of /etc and of the package list, of
 * which the kernel shows an allow-list, and the folder guest/ beside the program, if it is there, at
 * INTERPRETER_GUEST_DIR, read-only.
 */
int launch_config_host(struct launch_config *c, struct error *err);
/* First message on the channel; the descriptors are duplicated. -EPIPE, -ECONNRESET: gone already. */
int launch_config_send(struct channel *channel, const struct launch_config *c, struct error *err);
void launch_config_close(struct launch_config *c);
