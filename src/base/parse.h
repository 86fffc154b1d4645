/* Values of command line options: sizes, durations, CPU counts, mounts. All return 0 or -EINVAL
 * (-ERANGE when the number does not fit) and set *ret only on success. */
#pragma once

#include <stdint.h>

/* "512M", "2G", "1.5G", "65536", "64KiB": powers of 1024, suffix K M G T with optional B or iB. */
int parse_size(const char *text, uint64_t *ret_bytes);
/* "30s", "5m", "1.5h", "250ms", "2d"; a bare number is seconds. */
int parse_duration(const char *text, uint64_t *ret_ns);
/* A plain decimal number. */
int parse_count(const char *text, uint64_t *ret);
/* "2", "0.5": thousandths of a CPU, at least 0.01. */
int parse_cpus(const char *text, uint64_t *ret_milli);

struct mount_text {
	char host[4096];
	char guest[4096]; /* absolute, no "." and ".." components, no double slashes */
};
/* "HOST:GUEST" or "PATH" (the same path on both sides; must be absolute then). */
int parse_mount(const char *text, struct mount_text *ret);
