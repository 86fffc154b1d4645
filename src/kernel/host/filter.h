/* The guests' seccomp filter, generated from the system call table. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#define FILTER_MAX 1024

/* Number of instructions written. Never fails: the table is constant and a test checks the size.
 * `show_refused`: no call is refused in the filter, for --trace. */
unsigned filter_build(struct sock_filter *dst, bool show_refused);
