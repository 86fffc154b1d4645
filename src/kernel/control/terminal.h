/*
 * The outside of a terminal made for WIRE_SPAWN_TTY: typed bytes in, output in OUTPUT messages with
 * a window, so that a slow reader slows the program down.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/core/wait.h"
#include "kernel/fs/tty/tty.h"

struct terminal;

/* Table entry for WAITER_CONTROL: the terminal has output, or room for input. */
bool control_waiter_wake(struct waiter *w, uint32_t events);

struct terminal *terminal_new(uint32_t request, uint16_t rows, uint16_t cols); /* NULL = -ENOMEM */
void terminal_free(struct terminal *t); /* hangs up; NULL is fine */
struct tty *terminal_tty(struct terminal *t);
void terminal_input(struct terminal *t, const void *bytes, uint32_t size);
void terminal_ack(struct terminal *t, uint32_t bytes);
/* The program is gone: sends what is left, whatever the window says. */
void terminal_drain(struct terminal *t);
