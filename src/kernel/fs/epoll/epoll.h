/*
 * epoll(7). What the rest of the kernel needs to know of it; the calls are declared in
 * kernel/abi/syscalls.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct file;
struct file_ops;
struct waiter;

extern const struct file_ops epoll_file_ops; /* FOPS_EPOLL */

/* WAITER_EPOLL: an object that an item watches has an event. True: an exclusive waiter took it. */
bool epoll_item_wake(struct waiter *w, uint32_t events);

/*
 * The last reference of a watched file goes: its items leave their instances. To be called by
 * file_put() before ops->release; costs one test when nobody watches.
 */
void epoll_file_release(struct file *f);
