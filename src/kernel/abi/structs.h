/*
 * Structures of the x86-64 system call interface whose layout in libc's headers differs between
 * libcs, or from the kernel's.
 */
#pragma once

#include <stdint.h>

/* sysinfo(2) */
struct abi_sysinfo {
	int64_t uptime;
	uint64_t loads[3];
	uint64_t totalram, freeram, sharedram, bufferram, totalswap, freeswap;
	uint16_t procs;
	uint64_t totalhigh, freehigh;
	uint32_t mem_unit;
};
_Static_assert(sizeof(struct abi_sysinfo) == 112, "sysinfo(2)");

/* sendmsg(2), recvmsg(2) */
struct abi_msghdr {
	uint64_t msg_name; /* guest addresses */
	int32_t msg_namelen;
	uint64_t msg_iov;
	uint64_t msg_iovlen;
	uint64_t msg_control;
	uint64_t msg_controllen;
	uint32_t msg_flags;
};
_Static_assert(sizeof(struct abi_msghdr) == 56, "struct msghdr");

/* cmsg(3) */
struct abi_cmsghdr {
	uint64_t cmsg_len;
	int32_t cmsg_level;
	int32_t cmsg_type;
};
_Static_assert(sizeof(struct abi_cmsghdr) == 16, "struct cmsghdr");
