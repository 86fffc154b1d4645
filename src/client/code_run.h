/* `hotcell run` as a child, with an interpreter's driver in it. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "client/code.h"

/* Our ends of the driver's descriptors; nothing of them blocks. */
struct run {
	pid_t pid; /* 0 = none */
	int ended; /* pidfd */
	int out, err, requests, events;
	int status; /* exit status as a shell says it, once it was collected */
};

int run_start(struct run *r, struct code *c, struct error *err);
void run_signal(const struct run *r, int number);
/* Waits for its end, which must be near. */
void run_collect(struct run *r);
/* Closes what is open; a child that is still there is killed. */
void run_fini(struct run *r);
