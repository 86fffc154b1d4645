/*
 * The filter decides per call number between ALLOW (native, after a check of arguments), ERRNO
 * (refused here) and USER_NOTIF (everything else). Foreign ABIs (i386, x32) and numbers that Linux
 * does not have get ENOSYS here.
 *
 * What comes as a notification the kernel process may let pass (CONTINUE), and so may somebody who
 * took it over: then a guest process executes it on the host. Therefore the calls that would open
 * more of the host to a process without privileges (new namespaces, io_uring, bpf, keyrings, ptrace,
 * socket families with code of their own, ...) never get that far. Refused calls that need a
 * privilege, which nobody in here has, go to the kernel process all the same: it counts them. With
 * --trace all refused calls do, to be seen.
 *
 * The host caches the numbers that are allowed whatever their arguments, so those cost nothing.
 *
 * Accepted arguments are compared as 32-bit halves: the high half of every checked word must be
 * zero too where the kernel looks at all 64 bits.
 */
#include "kernel/host/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Linux 5.14; not in every libc. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#include "base/util.h"
#include "kernel/abi/stub.h"
#include "kernel/abi/syscalls.h"
#include "kernel/host/bpf.h"

#define X32_BIT 0x40000000u

/* Returns ALLOW when the calling instruction lies in the stub's text, else falls through. */
static void allow_from_stub(struct bpf_program *p)
{
	bpf_load(p, offsetof(struct seccomp_data, instruction_pointer) + 4);
	bpf_emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(STUB_TEXT >> 32), 0, 4);
	bpf_load(p, offsetof(struct seccomp_data, instruction_pointer));
	bpf_emit(p, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)STUB_TEXT, 0, 2);
	bpf_emit(p, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)(STUB_TEXT + STUB_TEXT_SIZE), 1, 0);
	bpf_return(p, SECCOMP_RET_ALLOW);
}

/*
 * Returns ALLOW for an execve of the stub by the name that it has in its own memory, else falls
 * through: what the kernel process made of a guest's execve (task/exec.c). A guest that does it
 * itself, whatever it put there, finds no other file below the guests' host root, and a stub that
 * has nothing to load.
 */
static void allow_exec_of_stub(struct bpf_program *p)
{
	bpf_load(p, bpf_argument(0) + 4);
	bpf_emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(STUB_PATH_ADDR >> 32), 0, 4);
	bpf_load(p, bpf_argument(0));
	bpf_emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)STUB_PATH_ADDR, 1, 0);
	bpf_emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(STUB_PATH_ADDR + STUB_PATH_SIZE), 0, 1);
	bpf_return(p, SECCOMP_RET_ALLOW);
}

/* Loads the low word of an argument, masks it, and returns ALLOW when it equals one of `values`. */
static void allow_values(struct bpf_program *p, int arg, uint32_t mask, const uint32_t *values,
			 size_t count)
{
	bpf_load(p, bpf_argument(arg));
	if (mask != UINT32_MAX)
		bpf_emit(p, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
	for (size_t i = 0; i < count; i++) {
		bpf_emit(p, BPF_JMP | BPF_JEQ | BPF_K, values[i], 0, 1);
		bpf_return(p, SECCOMP_RET_ALLOW);
	}
}

/* Memory hints that concern only the caller's own pages. Not MADV_HWPOISON and the like. */
static const uint32_t madvise_ok[] = {
	MADV_NORMAL,	MADV_RANDOM,	MADV_SEQUENTIAL, MADV_WILLNEED,	 MADV_DONTNEED,
	MADV_FREE,	MADV_DONTFORK,	MADV_DOFORK,	 MADV_HUGEPAGE,	 MADV_NOHUGEPAGE,
	MADV_DONTDUMP,	MADV_DODUMP,	MADV_WIPEONFORK, MADV_KEEPONFORK, MADV_COLD,
	MADV_PAGEOUT,	MADV_POPULATE_READ, MADV_POPULATE_WRITE,
};

/* Priority inheritance reaches the scheduler's rtmutex code and stays out. */
static const uint32_t futex_ok[] = {
	FUTEX_WAIT,	FUTEX_WAKE,	   FUTEX_REQUEUE,     FUTEX_CMP_REQUEUE,
	FUTEX_WAKE_OP,	FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET,
};

/* ARCH_SET_GS .. ARCH_GET_GS, ARCH_GET_CPUID, ARCH_GET_XCOMP_*, ARCH_REQ_XCOMP_PERM (AMX). */
static const uint32_t arch_prctl_ok[] = { 0x1001, 0x1002, 0x1003, 0x1004, 0x1011,
					  0x1021, 0x1022, 0x1023 };

static const uint32_t waitid_ok[] = { P_ALL, P_PID, P_PGID };

/* Families whose sockets are emulated; packet sockets have an errno of their own. */
static const uint32_t socket_emulated[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET };

/* clone(2) looks at the low half only, where CLONE_NEWTIME is part of the exit signal. */
#define CLONE_NAMESPACES                                                                           \
	(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |  \
	 CLONE_NEWCGROUP)

static void emit_clone(struct bpf_program *p)
{
	bpf_load(p, bpf_argument(0));
	bpf_emit(p, BPF_JMP | BPF_JSET | BPF_K, CLONE_NAMESPACES, 0, 1);
	bpf_return(p, SECCOMP_RET_ERRNO | EPERM);
}

static void emit_socket(struct bpf_program *p)
{
	bpf_load(p, bpf_argument(0));
	for (size_t i = 0; i < ARRAY_SIZE(socket_emulated); i++) {
		bpf_emit(p, BPF_JMP | BPF_JEQ | BPF_K, socket_emulated[i], 0, 1);
		bpf_return(p, SECCOMP_RET_USER_NOTIF);
	}
	bpf_return(p, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
}

static void emit_check(struct bpf_program *p, enum syscall_check check)
{
	static const uint32_t anonymous[] = { MAP_ANONYMOUS };

	switch (check) {
	case CHECK_ANY:
		bpf_return(p, SECCOMP_RET_ALLOW);
		return;
	case CHECK_MMAP:
		/* Not from the host's pool of huge pages, which is everybody's. */
		allow_values(p, 3, MAP_ANONYMOUS | MAP_HUGETLB, anonymous, 1);
		allow_from_stub(p);
		break;
	case CHECK_MADVISE:
		allow_values(p, 2, UINT32_MAX, madvise_ok, ARRAY_SIZE(madvise_ok));
		break;
	case CHECK_FUTEX:
		allow_values(p, 1, (uint32_t)FUTEX_CMD_MASK, futex_ok, ARRAY_SIZE(futex_ok));
		break;
	case CHECK_ARCH_PRCTL:
		allow_values(p, 0, UINT32_MAX, arch_prctl_ok, ARRAY_SIZE(arch_prctl_ok));
		break;
	case CHECK_WAITID:
		allow_values(p, 0, UINT32_MAX, waitid_ok, ARRAY_SIZE(waitid_ok));
		break;
	case CHECK_EXECVE:
		allow_exec_of_stub(p);
		break;
	case CHECK_CLONE:
		emit_clone(p);
		break;
	case CHECK_SOCKET:
		emit_socket(p);
		return;
	case CHECK_NONE:
	case CHECK_FILTER:
		break;
	}
	bpf_return(p, SECCOMP_RET_USER_NOTIF);
}

/* What decides about a number: equal neighbours share their code. close(2) is the stub's, too. */
#define KIND_CLOSE  1000u
#define KIND_REFUSE 2000u /* + errno */

static unsigned treatment(unsigned nr, bool show_refused)
{
	const struct syscall_row *row = &syscall_table[nr];

	if (nr == SYS_close)
		return KIND_CLOSE;
	if (row->class == SYSCALL_NONE)
		return KIND_REFUSE + ENOSYS;
	if (row->check == CHECK_FILTER)
		return show_refused ? CHECK_NONE : KIND_REFUSE + row->refuse_errno;
	return row->check;
}

static void emit_treatment(struct bpf_program *p, unsigned kind)
{
	if (kind >= KIND_REFUSE) {
		bpf_return(p, SECCOMP_RET_ERRNO | (kind - KIND_REFUSE));
	} else if (kind == KIND_CLOSE) {
		allow_from_stub(p);
		bpf_return(p, SECCOMP_RET_USER_NOTIF);
	} else {
		emit_check(p, kind);
	}
}

/* Behind the table there is only the stub's own number. */
static unsigned find_runs(struct bpf_run *runs, bool show_refused)
{
	unsigned count = 0;

	for (uint32_t nr = 0; nr < SYSCALL_TABLE_SIZE; nr++)
		count = bpf_run_add(runs, count, nr, treatment(nr, show_refused));
	count = bpf_run_add(runs, count, SYSCALL_TABLE_SIZE, KIND_REFUSE + ENOSYS);
	count = bpf_run_add(runs, count, STUB_CALL_NR, CHECK_NONE);
	return bpf_run_add(runs, count, STUB_CALL_NR + 1, KIND_REFUSE + ENOSYS);
}

unsigned filter_build(struct sock_filter *dst, bool show_refused)
{
	struct bpf_run runs[SYSCALL_TABLE_SIZE + 3];
	struct bpf_program p = { .code = dst, .capacity = FILTER_MAX };
	unsigned count = find_runs(runs, show_refused);

	bpf_load(&p, offsetof(struct seccomp_data, arch));
	bpf_emit(&p, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	bpf_return(&p, SECCOMP_RET_ERRNO | ENOSYS);
	bpf_load(&p, offsetof(struct seccomp_data, nr));
	bpf_emit(&p, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
	bpf_return(&p, SECCOMP_RET_ERRNO | ENOSYS);
	bpf_tree(&p, runs, count, emit_treatment);
	return p.length;
}
