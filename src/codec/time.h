/* Points in time as the protocols write them: RFC 3339, UTC. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TIME_TEXT_SIZE 32

/* "2026-01-31T12:00:00.123456Z" */
void time_format(int64_t us, char ret[TIME_TEXT_SIZE]);
/* Any offset, up to nine digits of fraction (cut to microseconds). 0 or -EINVAL. */
int time_parse(const char *text, int64_t *ret_us);
/* Now, in microseconds since the epoch. */
int64_t time_now_us(void);
