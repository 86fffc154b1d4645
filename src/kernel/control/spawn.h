/* Processes started through the control channel: from SPAWN to EXITED. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct call;
struct process;
struct wire_spawn;
struct channel;

int spawn_init(uint32_t default_uid, uint32_t default_gid, const char *default_user);
/* SPAWN. Takes over the descriptors. Errors are answered with ERROR. */
void spawn_request(uint32_t request, const struct wire_spawn *s, const int *fds, uint32_t fd_count);
void spawn_signal(uint32_t request, int sig, bool whole_group);
void spawn_input(uint32_t request, const void *bytes, uint32_t size);
void spawn_output_ack(uint32_t request, uint32_t bytes);
void spawn_resize(uint32_t request, uint32_t rows, uint32_t cols);

/* pid 1 and its children. */
long spawn_wait_order(struct call *c);
long spawn_fetch(struct call *c);
/* After a reboot: orders that were held back; those whose child was killed early have failed. */
void spawn_go_on(void);
void spawn_reaped(int guest_pid, int status);
void spawn_failed(uint32_t request, int error);
/* The process has become its program. */
void spawn_running(struct process *p);
