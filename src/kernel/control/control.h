/*
 * The kernel's end of the control channel (wire/wire.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct wire_config;
struct message;

/* Takes the channel; it becomes non-blocking and part of the event loop with control_start(). */
int control_init(int fd);
/* Waits for the CONFIG message. Strings of *ret stay valid. fds in *ret_fds, owned by the caller. */
int control_read_config(struct wire_config *ret, int *ret_fds, uint32_t *ret_fd_count);
int control_start(void);
/* The event loop: the channel's socket has EPOLL* `events`. */
void control_event(uint32_t events);

void control_send(uint32_t type, uint32_t request, const void *body, uint32_t length);
/* ERROR: `error` > 0, about: enum wire_about. */
void control_error(uint32_t request, int error, uint32_t about, const char *text);
void control_done(uint32_t request);
/* The peer reads slower than we write: whoever has much to say waits (control/op.h). */
bool control_congested(void);
/* A fault at start: told to the parent as DIED, the process then exits. */
_Noreturn void control_fail(int error, const char *what);
/* An exclusive operation has ended: other messages are read again. */
void control_read_on(void);
/* DIED with statistics; waits until it is sent. */
void control_finish(void);
