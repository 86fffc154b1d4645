/*
 * The kernel process's own seccomp filter: what its sources say they need (the "host-syscalls:"
 * comments, collected at build time into jail_syscalls.inc) and nothing else. Where it counts the
 * arguments are checked as well.
 *
 * Anything else is not executed: the process gets SIGSYS, tells its parent which call it was, and
 * ends, and the sandbox with it. Somebody who took this process over gets no second try.
 */
#include "kernel/host/jail_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/memfd.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "kernel/control/control.h"
#include "kernel/host/bpf.h"
#include "kernel/host/nsfs.h"

static const uint16_t allowed[] = {
#define JAIL_SYSCALL(name) SYS_##name,
#include "jail_syscalls.inc"
#undef JAIL_SYSCALL
	/* libc's own: a handler's return, and the stack protector's last words. */
	SYS_rt_sigreturn,
	SYS_restart_syscall,
#if JAIL_INSTRUMENTED
	SYS_munmap,	SYS_mprotect, SYS_futex,      SYS_gettid,  SYS_getpid,	SYS_sigaltstack,
	SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_sched_yield, SYS_prctl, SYS_readlink, SYS_exit,
	SYS_mremap,	SYS_clone,    SYS_mmap, SYS_brk, SYS_writev, SYS_set_robust_list,
#endif
};

/* Arguments that count, per call: argument index and the values it may have. */
static const uint32_t ioctl_ok[] = { SECCOMP_IOCTL_NOTIF_RECV,	   SECCOMP_IOCTL_NOTIF_SEND,
				     SECCOMP_IOCTL_NOTIF_ID_VALID, SECCOMP_IOCTL_NOTIF_ADDFD,
				     FIONREAD,
				     NS_GET_PID_IN_PIDNS,
				     NS_GET_TGID_IN_PIDNS };
static const uint32_t ptrace_ok[] = { PTRACE_SEIZE,   PTRACE_INTERRUPT, PTRACE_GETREGS,
				     PTRACE_GETSIGMASK, PTRACE_SETSIGMASK,
				      PTRACE_SETREGS, PTRACE_SYSCALL,	PTRACE_DETACH };
#if !JAIL_INSTRUMENTED
/* No locks and signals (F_SETLK, F_SETOWN, F_NOTIFY, ...) on files that others have open, too. */
static const uint32_t fcntl_ok[] = { F_GETFL, F_SETLEASE, F_ADD_SEALS, F_GET_SEALS };
#endif
/* Not MFD_HUGETLB: the host's huge pages are everybody's. */
#define MEMFD_OK (MFD_CLOEXEC | MFD_ALLOW_SEALING | 0x18u /* MFD_NOEXEC_SEAL, MFD_EXEC */)
static const uint32_t policy_ok[] = { SCHED_OTHER,
				      SCHED_BATCH,
				      SCHED_IDLE,
				      SCHED_OTHER | SCHED_RESET_ON_FORK,
				      SCHED_BATCH | SCHED_RESET_ON_FORK,
				      SCHED_IDLE | SCHED_RESET_ON_FORK };

static const struct {
	uint16_t nr;
	uint8_t arg;
	uint8_t count;		/* of values that it may have, or 0: */
	const uint32_t *values;
	uint32_t forbidden;	/* bits that it must not have */
} checks[] = {
	{ SYS_ioctl, 1, ARRAY_SIZE(ioctl_ok), ioctl_ok, 0 },
	{ SYS_ptrace, 0, ARRAY_SIZE(ptrace_ok), ptrace_ok, 0 },
#if !JAIL_INSTRUMENTED
	{ SYS_fcntl, 1, ARRAY_SIZE(fcntl_ok), fcntl_ok, 0 },
#endif
	{ SYS_memfd_create, 1, 0, NULL, ~(uint32_t)MEMFD_OK },
	{ SYS_mkdirat, 2, 0, NULL, S_ISUID },
	{ SYS_fchmodat, 2, 0, NULL, S_ISUID },
	{ SYS_sched_setscheduler, 1, ARRAY_SIZE(policy_ok), policy_ok, 0 },
};

#define NUMBERS_MAX 512
#define PROGRAM_MAX 768

/* The filter's answer to a number: a refusal, leave, or leave after check `kind - CHECKED`. */
enum { REFUSED, ALLOWED, CHECKED };

static bool is_allowed(unsigned nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		if (allowed[i] == nr)
			return true;
	}
	return false;
}

static unsigned kind_of(unsigned nr)
{
	if (!is_allowed(nr))
		return REFUSED;
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		if (checks[i].nr == nr)
			return CHECKED + (unsigned)i;
	}
	return ALLOWED;
}

static void emit_check(struct bpf_program *p, unsigned check)
{
	uint8_t count = checks[check].count;

	bpf_load(p, bpf_argument(checks[check].arg));
	if (!count)
		bpf_emit(p, BPF_JMP | BPF_JSET | BPF_K, checks[check].forbidden, 0, 1);
	for (uint8_t v = 0; v < count; v++)
		bpf_emit(p, BPF_JMP | BPF_JEQ | BPF_K, checks[check].values[v],
			 (uint8_t)(count - v), 0);
	bpf_return(p, SECCOMP_RET_TRAP);
	bpf_return(p, SECCOMP_RET_ALLOW);
}

static void emit_kind(struct bpf_program *p, unsigned kind)
{
	if (kind >= CHECKED)
		emit_check(p, kind - CHECKED);
	else
		bpf_return(p, kind == ALLOWED ? SECCOMP_RET_ALLOW : SECCOMP_RET_TRAP);
}

static void build(struct bpf_program *p)
{
	struct bpf_run runs[NUMBERS_MAX + 1];
	unsigned count = 0;

	for (unsigned nr = 0; nr < NUMBERS_MAX; nr++)
		count = bpf_run_add(runs, count, nr, kind_of(nr));
	count = bpf_run_add(runs, count, NUMBERS_MAX, REFUSED);
	bpf_load(p, offsetof(struct seccomp_data, arch));
	bpf_emit(p, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	bpf_return(p, SECCOMP_RET_KILL_PROCESS);
	bpf_load(p, offsetof(struct seccomp_data, nr));
	bpf_tree(p, runs, count, emit_kind);
}

static void refused(int sig, siginfo_t *info, void *context)
{
	char what[64];

	(void)sig;
	(void)context;
	snprintf(what, sizeof(what), "kernel fault: system call %d is not in the jail's list",
		 info->si_syscall);
	control_fail(EPERM, what);
}

int jail_filter_install(void)
{
	static struct sock_filter code[PROGRAM_MAX];
	struct bpf_program p = { .code = code, .capacity = ARRAY_SIZE(code) };
	struct sigaction action = { .sa_sigaction = refused, .sa_flags = SA_SIGINFO };

	build(&p);
	if (sigaction(SIGSYS, &action, NULL) < 0)
		return -errno;
	struct sock_fprog prog = { (unsigned short)p.length, p.code };
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0 ? -errno : 0;
}
