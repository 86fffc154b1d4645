/*
 * From notification to handler to answer: the life of a call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct notification;
struct call;

int dispatch_init(void);

/* Serves one notification. */
void dispatch(const struct notification *n);

/* Runs the handlers of woken calls, not for long. True: there are more. */
bool dispatch_woken(void);

/* Totals for the statistics. */
uint64_t dispatch_calls_served(void);
uint64_t dispatch_calls_refused(void);
/* "name=count ..." of refused calls, NUL-terminated. */
void dispatch_format_refused(char *dst, uint32_t capacity);
