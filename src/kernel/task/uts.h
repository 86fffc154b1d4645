/* Names and numbers of the sandbox as a machine: uname(2), CPU count, load. */
#pragma once

#include <stdint.h>

#define UTS_LENGTH 65 /* including the NUL, as in struct utsname */

struct uts {
	char nodename[UTS_LENGTH], release[UTS_LENGTH], version[UTS_LENGTH], domainname[UTS_LENGTH];
	char boot_id[37]; /* made at the start of the sandbox */
	/* The load averages of getloadavg(3): fixed point with 11 fractional bits, sampled lazily. */
	uint64_t load[3], load_sampled_ns;
};

/* Makes the names at the start (nodename NULL or "" = "hotcell"), or finds them after a restore. */
int uts_init(const char *nodename);
struct uts *uts(void);

/* Processors the guest may count on: the CPU limit rounded up, at most what the host allows. */
uint32_t cpu_count(void);
