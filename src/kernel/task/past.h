/*
 * The last calls of a thread and what was answered. Tells, when a signal handler returns, that an
 * answer which the host had accepted did not reach the thread after all. See past.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PAST_MAX 8 /* the interrupted call and those of the handler */

#define SYSCALL_INSTRUCTION_SIZE 2

struct past_call {
	int nr;
	bool answered; /* the host took `result` for the thread */
	uint64_t ip;   /* behind the instruction; 0: none */
	uint64_t args[6];
	long result;
	uint64_t missed; /* host_notify_missed() when it was answered */
};

struct past {
	struct past_call calls[PAST_MAX];
	uint8_t newest;
};

/* The registers that a signal handler's return is about to restore, as far as they say which call. */
struct past_registers {
	uint64_t ip, rax, args[6];
};

/* The thread makes a call. */
void past_begin(struct past *p, int nr, uint64_t ip, const uint64_t args[6]);

/* The host took the answer of the newest call. */
void past_answered(struct past *p, long result, uint64_t missed);

enum past_verdict {
	PAST_NONE,   /* no answer is at stake */
	PAST_UNSURE, /* it was heard, and the call made again; or not heard */
	PAST_UNHEARD /* the answer is the next thing that the thread should have seen */
};

/*
 * Whether `r` is an interruption of a call whose answer did not arrive: with PAST_UNSURE and
 * PAST_UNHEARD the call, which is then forgotten. `missed`: host_notify_missed() now.
 */
enum past_verdict past_take(struct past *p, const struct past_registers *r, uint64_t missed,
			    struct past_call *ret);
