/* Making seccomp filters: programs that decide by the number of the call first. */
#pragma once

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_program {
	struct sock_filter *code;
	unsigned length, capacity; /* what does not fit is left out: the host refuses the rest */
};

void bpf_emit(struct bpf_program *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf);
void bpf_return(struct bpf_program *p, uint32_t value);
/* Loads a word of struct seccomp_data. */
void bpf_load(struct bpf_program *p, size_t offset);
/* Offset of the low half of argument i in struct seccomp_data. */
size_t bpf_argument(int i);

/* Numbers with the same treatment: from `start` to before the next run's. The first starts at 0. */
struct bpf_run {
	uint32_t start;
	uint32_t kind;
};

/* Appends a number; equal neighbours share a run. Returns the new count of runs. */
unsigned bpf_run_add(struct bpf_run *runs, unsigned count, uint32_t start, uint32_t kind);
/*
 * With the call's number in the accumulator: finds its run by a balanced tree of comparisons, and
 * goes on with what emit_kind() makes of its kind, which must return in every case.
 */
void bpf_tree(struct bpf_program *p, const struct bpf_run *runs, unsigned count,
	      void (*emit_kind)(struct bpf_program *p, unsigned kind));
