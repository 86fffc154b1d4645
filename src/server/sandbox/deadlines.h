/*
 * Ends of life: any number of them, exact, with one timer. By the boot clock: a step of the wall
 * clock moves none of them, a machine that slept finds them due.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct uv_loop_s uv_loop_t;
struct deadlines;

/* In the owner's struct; zeroed = not set. */
struct deadline {
	uint64_t at_ns;	 /* clock_boot_ns() */
	size_t position; /* in the heap, from 1; 0 = not set */
};

/* due is called from the loop with a deadline that is not set any more. */
int deadlines_new(uv_loop_t *loop, void (*due)(void *ctx, struct deadline *d), void *ctx,
		  struct deadlines **ret, struct error *err);
void deadlines_free(struct deadlines *h); /* NULL is fine */
/* -ENOMEM leaves it as it was. */
int deadline_set(struct deadlines *h, struct deadline *d, uint64_t at_ns);
void deadline_clear(struct deadlines *h, struct deadline *d);
