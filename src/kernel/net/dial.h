/*
 * The kernel's own end of a TCP connection to a program in the sandbox: how the control side reaches
 * a guest's listening port (ingress), and how guests reach what is served from outside, with bytes
 * carried over the control channel.
 *
 * A dial is an ordinary connection one end of which has no file: the client's, and it looks to the
 * guest like one from 127.0.0.1; or, accepted from a dial_listener, the server's. Nothing here waits: -EAGAIN, and the wait queue tells when to look again (a
 * struct waiter of kind WAITER_CONTROL).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/core/wait.h"

struct dial;

/*
 * Connects to `port` on 127.0.0.1, or ::1 when only that listens. *ret is connected, or still waits
 * for room in the guest's backlog (dial_poll() has no EPOLLOUT yet). -ECONNREFUSED, -ENOMEM.
 */
int dial_open(uint16_t port, struct dial **ret);
/* EPOLLIN, OUT, RDHUP, HUP, ERR. */
uint32_t dial_poll(struct dial *d);
struct waitq *dial_waitq(struct dial *d);
/* 0 = the guest sent FIN. -EAGAIN, -ECONNRESET, ... Takes effect at once. */
ssize_t dial_read(struct dial *d, void *dst, size_t size);
/* The same in two steps: what was peeked and not consumed comes again. */
ssize_t dial_peek(struct dial *d, void *dst, size_t size);
void dial_consume(struct dial *d, size_t count);
ssize_t dial_write(struct dial *d, const void *src, size_t size);
void dial_shutdown_write(struct dial *d);
/* Ends the connection and frees the dial: FIN, or a reset when `abort`, or data is unread. */
void dial_close(struct dial *d, bool abort);

/* ---- the other way round (listen.c) ---- */

struct dial_listener;

/*
 * An ordinary listener without a file, on every address of both families, root's: guests find the port
 * taken. Who connects waits in its backlog. -EADDRINUSE, -EINVAL (port 0), -ENOMEM.
 */
int dial_listen(uint16_t port, struct dial_listener **ret);
/* Woken when somebody connects. */
struct waitq *dial_listen_waitq(struct dial_listener *l);
bool dial_listen_waiting(struct dial_listener *l); /* dial_accept() has one */
/* Whoever waits longest, connected. -EAGAIN. */
int dial_accept(struct dial_listener *l, struct dial **ret);
/* Resets those who wait, and frees it. */
void dial_listen_close(struct dial_listener *l);
