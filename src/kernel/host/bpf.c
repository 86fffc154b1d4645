/*
 * When a filter is installed the host walks it once for every number there is, to learn which are
 * allowed whatever their arguments. With a list that takes longer than all the rest.
 */
#include "kernel/host/bpf.h"

#include <linux/seccomp.h>

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

void bpf_tree(struct bpf_program *p, const struct bpf_run *runs, unsigned count,
	      void (*emit_kind)(struct bpf_program *p, unsigned kind))
{
	unsigned half = count / 2;

	if (count == 1) {
		emit_kind(p, runs[0].kind);
		return;
	}
	bpf_emit(p, BPF_JMP | BPF_JGE | BPF_K, runs[half].start, 0, 1);
	unsigned jump = p->length;
	bpf_emit(p, BPF_JMP | BPF_JA, 0, 0, 0);
	bpf_tree(p, runs, half, emit_kind);
	if (jump < p->capacity)
		p->code[jump].k = p->length - jump - 1;
	bpf_tree(p, runs + half, count - half, emit_kind);
}
