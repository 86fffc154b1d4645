/*
 * Signals that hit a thread inside a notification.
 *
 * While a thread waits for our answer a signal may take it away: the host drops the notification
 * and gives the call the result of an interrupted one, EINTR or a restart, as the handler's flags
 * say. For a call that really waits that is right. But open(2) or a write to a file must never
 * fail so, and may have had its effect already; a long write must report the bytes it moved.
 *
 * When the handler is done it calls rt_sigreturn(2), which comes here first. The registers that it
 * is about to restore lie on the thread's stack; where they belong to a call we know was lost, the
 * result goes into them:
 *
 *   saved registers say             recorded            made of it
 *   EINTR behind the call           RESULT              the result
 *                                   AGAIN, RESUME       the call once more
 *                                   INTERRUPTED         (right as it is)
 *   about to repeat the call        RESULT              the result, behind the call
 *                                   NO_RESTART          EINTR, behind the call
 *                                   others              (right as it is)
 *   either, where our answer was accepted (task/past.c)   the answer, if it was not heard for certain
 *   EINTR behind an emulated call   nothing             the call once more, as EARLY: the signal
 *                                                       was faster than our look at it
 *   about to repeat a call          nothing             (right as it is) as EARLY_RESTART
 *   EINTR behind rt_sigreturn                           rt_sigreturn once more (nested handlers)
 *   a call that we changed (execve to the stub)         the call as it was
 *
 * RESUME is a big transfer that gave way to others (call_yield()): on Linux no signal cuts it short.
 * Its record stays until the thread makes that call again, where it goes on (core/dispatch.c). So does
 * that of a call which is EARLY: on Linux the signal would have met it in its wait, so it does what it
 * can at once and fails with EINTR where it would wait. Were it to wait, a shell's `read` would not see
 * the trap that it was interrupted for.
 *
 * The guest owns that stack; all it can do with it is confuse itself, as with any sigreturn.
 */
#include "kernel/task/sigreturn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "kernel/abi/syscalls.h"
#include "kernel/core/user.h"
#include "kernel/host/notify.h"
#include "kernel/host/proc.h"
#include "kernel/task/crossfire.h"

/* struct ucontext of x86-64 as far as it matters, at the stack pointer when rt_sigreturn is called. */
struct saved_context {
	uint64_t flags, link, stack[3];
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
	uint64_t rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
};

static void push_lost(struct task *t, const struct lost_call *l)
{
	/* Full: handlers were left by jumps. The oldest will not be met again. */
	if (t->lost_count == LOST_MAX)
		memmove(&t->lost[0], &t->lost[1], sizeof(t->lost[0]) * --t->lost_count);
	t->lost[t->lost_count++] = *l;
	t->lost_fresh = true;
}

void lost_add(struct call *c, enum lost_kind kind, long result)
{
	struct lost_call l = { .kind = (uint8_t)kind,
			       .nr = c->nr,
			       .ip = c->ip,
			       .result = result,
			       .file = c->file };

	memcpy(l.args, c->args, sizeof(l.args));
	push_lost(c->task, &l);
}

/* The stack pointer of a thread that waits in a system call: the last but one of nine numbers. */
static int stack_pointer(const struct task *t, uint64_t *ret)
{
	char text[256];
	ssize_t n = host_proc_read(t->host_tid, "syscall", text, sizeof(text) - 1);

	if (n <= 0)
		return -ESRCH;
	text[n] = '\0';
	char *last = strrchr(text, ' ');
	if (!last)
		return -ESRCH;
	*last = '\0';
	last = strrchr(text, ' ');
	if (!last)
		return -ESRCH;
	*ret = strtoull(last + 1, NULL, 16);
	return 0;
}

static void call_again(struct saved_context *s, int nr)
{
	s->rax = (uint64_t)nr;
	s->rip -= SYSCALL_INSTRUCTION_SIZE;
}

static struct past_registers registers(const struct saved_context *s)
{
	return (struct past_registers){ .ip = s->rip,
					.rax = s->rax,
					.args = { s->rdi, s->rsi, s->rdx, s->r10, s->r8, s->r9 } };
}

/* The thread is about to make call `nr` once more, and a signal has come: it must not wait. */
static void expect_early(struct task *t, const struct saved_context *s, int nr, enum lost_kind kind)
{
	struct past_registers r = registers(s);
	struct lost_call l = { .kind = (uint8_t)kind, .nr = nr, .ip = s->rip + SYSCALL_INSTRUCTION_SIZE };

	memcpy(l.args, r.args, sizeof(l.args));
	push_lost(t, &l);
}

static bool same_arguments(const struct lost_call *l, const struct saved_context *s)
{
	struct past_registers r = registers(s);

	return memcmp(l->args, r.args, sizeof(r.args)) == 0;
}

/* The record stays until the thread makes the call. */
static bool goes_on(const struct lost_call *l)
{
	return l->kind == LOST_RESUME || l->kind == LOST_EARLY || l->kind == LOST_EARLY_RESTART;
}

/* The recorded call that these registers belong to; it is taken off the record. */
static bool take_lost(struct task *t, const struct saved_context *s, struct lost_call *ret)
{
	for (int i = t->lost_count - 1; i >= 0; i--) {
		const struct lost_call *l = &t->lost[i];
		bool failed = s->rip == l->ip && (long)s->rax == -EINTR;
		bool repeats = s->rip == l->ip - SYSCALL_INSTRUCTION_SIZE &&
			       s->rax == (uint64_t)l->nr;
		if (!failed && !repeats)
			continue;
		if (goes_on(l) && !same_arguments(l, s))
			continue;
		*ret = *l;
		t->lost_count = (uint8_t)i; /* what was lost later was left by a jump */
		return true;
	}
	return false;
}

static bool repair_lost(struct task *t, struct saved_context *s, const struct lost_call *l)
{
	bool repeats = s->rip != l->ip;

	if (l->kind != LOST_INTERRUPTED && l->kind != LOST_NO_RESTART)
		crossfire_hit(t);
	if (goes_on(l))
		push_lost(t, l);
	switch (l->kind) {
	case LOST_RESULT:
		s->rip = l->ip;
		s->rax = (uint64_t)l->result;
		return true;
	case LOST_NO_RESTART:
		s->rip = l->ip;
		s->rax = (uint64_t)-EINTR;
		return repeats;
	case LOST_RESUME:
	case LOST_EARLY:
	case LOST_EARLY_RESTART:
	case LOST_AGAIN:
		if (!repeats)
			call_again(s, l->nr);
		return !repeats;
	default:
		return false;
	}
}

static bool is_ours(uint64_t nr)
{
	if (nr >= SYSCALL_TABLE_SIZE || nr == SYS_rt_sigreturn)
		return false;
	uint8_t class = syscall_table[nr].class;
	return class == SYSCALL_EMULATED || class == SYSCALL_CHECKED;
}

/* The program's next instruction is a system call that it was in already: rcx has said so since. Should
 * the signal have come just before, nobody can tell that from one just after. */
static void expect_restart(struct task *t, const struct saved_context *s)
{
	if (s->rcx == s->rip + SYSCALL_INSTRUCTION_SIZE && is_ours(s->rax))
		expect_early(t, s, (int)s->rax, LOST_EARLY_RESTART);
}

/* The host accepted our answer and lost it; or it did not, and a call alike was faster than our look. */
static bool repair_unheard(struct task *t, struct saved_context *s)
{
	struct past_registers r = registers(s);
	struct past_call c;

	switch (past_take(&t->past, &r, host_notify_missed(), &c)) {
	case PAST_UNHEARD:
		crossfire_hit(t);
		s->rip = c.ip;
		s->rax = (uint64_t)c.result;
		return true;
	case PAST_UNSURE:
		crossfire_hit(t);
		if (s->rip == c.ip && s->rip != t->interrupted_ip) {
			call_again(s, c.nr);
			expect_early(t, s, c.nr, LOST_EARLY);
		} else if (s->rip != c.ip) {
			expect_restart(t, s);
		}
		return true;
	default:
		return false;
	}
}

/* The number of an emulated call whose instruction ends at `ip`, from `mov $nr, %eax; syscall`, or
 * `xor %eax, %eax; syscall` for read(2); -1 for anything else. */
static int emulated_call_before(struct task *t, uint64_t ip)
{
	uint8_t code[7];
	uint32_t nr;

	if (user_read(t, code, uaddr(ip - sizeof(code)), sizeof(code)) < 0 || code[5] != 0x0f ||
	    code[6] != 0x05)
		return -1;
	if (code[3] == 0x31 && code[4] == 0xc0)
		return SYS_read;
	if (code[0] != 0xb8)
		return -1;
	memcpy(&nr, code + 1, sizeof(nr));
	return is_ours(nr) ? (int)nr : -1;
}

/* A call that we had changed was not made: back to the one that the program meant. */
static bool undo_become(struct task *t, struct saved_context *s)
{
	struct become *b = &t->become;
	bool failed = s->rip == b->ip && (long)s->rax == -EINTR;
	bool repeats = s->rip == b->ip - SYSCALL_INSTRUCTION_SIZE && s->rax == (uint64_t)b->nr;

	if (!b->first_nr || (!failed && !repeats) || s->rdi != b->args[0] || s->rsi != b->args[1])
		return false;
	s->rip = b->ip - SYSCALL_INSTRUCTION_SIZE;
	s->rax = (uint64_t)b->first_nr;
	s->rdi = b->first_args[0];
	s->rsi = b->first_args[1];
	s->rdx = b->first_args[2];
	s->r10 = b->first_args[3];
	s->r8 = b->first_args[4];
	s->r9 = b->first_args[5];
	b->first_nr = 0;
	return true;
}

/* True: the registers were changed. */
static bool repair(struct call *c, struct saved_context *s)
{
	struct task *t = c->task;
	struct lost_call lost;
	int nr;

	if (undo_become(t, s))
		return true;
	if (take_lost(t, s, &lost))
		return repair_lost(t, s, &lost);
	if (repair_unheard(t, s))
		return true;
	if ((long)s->rax != -EINTR) {
		expect_restart(t, s);
		return false;
	}
	if (s->rip == c->ip) {
		crossfire_hit(t);
		call_again(s, SYS_rt_sigreturn);
		return true;
	}
	if (s->rip == t->interrupted_ip)
		return false; /* our own answer, and the signal came right after */
	nr = emulated_call_before(t, s->rip);
	if (nr < 0)
		return false;
	crossfire_hit(t);
	call_again(s, nr);
	expect_early(t, s, nr, LOST_EARLY);
	return true;
}

long sys_rt_sigreturn(struct call *c)
{
	struct saved_context s;
	uint64_t sp;

	if (stack_pointer(c->task, &sp) < 0 || user_read(c->task, &s, uaddr(sp), sizeof(s)) < 0)
		return CALL_CONTINUE; /* a bad frame: the host's SIGSEGV is right */
	if (repair(c, &s))
		(void)user_write(c->task, uaddr(sp), &s, sizeof(s));
	return CALL_CONTINUE;
}
