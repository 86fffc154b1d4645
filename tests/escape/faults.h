/* What a guest says to the kernel process of tests/faults/hook.c. */
#pragma once

#include <stdint.h>

#define FAULTS_ARM 0xfa170001u
#define FAULTS_REPORT 0xfa170002u
#define FAULTS_SHRINK 0xfa170003u
#define FAULTS_SITES 0xfa170004u

#define FAULTS_SITES_MAX 1024

struct faults_report {
	uint64_t objects, allocations; /* in use; ever tried */
	uint64_t files, buffers, disk_bytes, inodes, pids;
};

/* A place in the kernel process, as an offset in its program, and how many objects from there are in use. */
struct faults_site {
	uint64_t place, objects;
};
