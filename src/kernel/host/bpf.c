/*
 * When a filter is installed the host walks it once for every number there is, to learn which are
 * allowed whatever their arguments. With a list that takes longer than all the rest.
 */
#include "kernel/host/bpf.h"

#include <linux/seccomp.h>
#include <string.h>

void bpf_emit(struct bpf_program *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	if (p->length < p->capacity)
		p->code[p->length++] = (struct sock_filter){ code, jt, jf, k };
}

void bpf_return(struct bpf_program *p, uint32_t value)
{
	bpf_emit(p, BPF_RET | BPF_K, value, 0, 0);
}

void bpf_load(struct bpf_program *p, size_t offset)
{
	bpf_emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

size_t bpf_argument(int i)
{
	return offsetof(struct seccomp_data, args) + 8u * (unsigned)i;
}

unsigned bpf_run_add(struct bpf_run *runs, unsigned count, uint32_t start, uint32_t kind)
{
	if (!count || runs[count - 1].kind != kind)
		runs[count++] = (struct bpf_run){ start, kind };
	return count;
}

/* What was emitted since `from` is to be skipped unless the comparison before it failed. */
static void skip_low(struct bpf_program *p, unsigned from)
{
	unsigned size = p->length - from;

	if (size <= UINT8_MAX) {
		p->code[from - 1].jt = (uint8_t)size;
		return;
	}
	/* Too far for a conditional jump: one of the other kind comes in between. */
	bpf_return(p, 0);
	if (p->length - from == size)
		return; /* full */
	memmove(&p->code[from + 1], &p->code[from], size * sizeof(p->code[0]));
	p->code[from] = (struct sock_filter){ BPF_JMP | BPF_JA, 0, 0, size };
	p->code[from - 1].jf = 1;
}

void bpf_tree(struct bpf_program *p, const struct bpf_run *runs, unsigned count,
	      void (*emit_kind)(struct bpf_program *p, unsigned kind))
{
	unsigned half = count / 2;

	if (count == 1) {
		emit_kind(p, runs[0].kind);
		return;
	}
	bpf_emit(p, BPF_JMP | BPF_JGE | BPF_K, runs[half].start, 0, 0);
	unsigned low = p->length;
	bpf_tree(p, runs, half, emit_kind);
	skip_low(p, low);
	bpf_tree(p, runs + half, count - half, emit_kind);
}
