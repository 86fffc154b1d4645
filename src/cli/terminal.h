/*
 * The caller's terminal in raw mode while a program in the sandbox has it. One per process: the
 * settings are kept in this module so that every way out can restore them, crashes included.
 */
#pragma once

#include <stdint.h>

/* Raw mode on fd. 0 or -errno. */
int terminal_enter(int fd);
/* Restores; safe to call at any time, also from signal handlers, also when not entered. */
void terminal_leave(void);
/* 24x80 when it is not known. */
void terminal_size(int fd, uint32_t *ret_rows, uint32_t *ret_cols);
/* Waits, as any job does, until our process group is the terminal's foreground group. */
void terminal_wait_foreground(int fd);
