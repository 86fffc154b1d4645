/*
 * What the loop waits for: the seccomp listener, and the host's epoll set of everything else. Every
 * registered descriptor has a kind and a token; the loop turns them into calls. Registrations live
 * outside the arena: they are made again after a restore.
 *
 * The listener stands beside the set and not in it: a wake-up through an epoll set forgets that it
 * was meant for the processor of the caller (SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP), and a kernel
 * process woken on another, idle processor costs twice the time of the whole call. poll(2) keeps it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum poll_kind { POLL_LISTENER, POLL_PIDFD, POLL_CONTROL, POLL_WATCH };

struct poll_event {
	uint8_t kind;
	uint64_t token; /* 56 bits */
	uint32_t events;
};

int host_poll_init(void);
/* The listener: reported as POLL_LISTENER, with EPOLLIN and EPOLLHUP. */
void host_poll_set_listener(int fd);
/* Whether it is looked at. */
void host_poll_listen(bool on);
/* EPOLL* bits; EPOLLET allowed. */
int host_poll_add(int fd, enum poll_kind kind, uint64_t token, uint32_t events);
int host_poll_change(int fd, enum poll_kind kind, uint64_t token, uint32_t events);
void host_poll_remove(int fd);
/* Waits up to timeout_ns (UINT64_MAX = forever). Number of events, 0 on timeout or signal. */
int host_poll_wait(struct poll_event *ret, int max, uint64_t timeout_ns);
