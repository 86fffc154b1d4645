/*
 * hotcell-stub: the only executable in the host root of a guest.
 *
 * It plays three parts, told apart by the kernel's answer to its first call:
 *  - loader: an execve of the guest ended here. It fetches a plan, maps the program's segments from
 *    descriptors that were installed for it, patches the auxiliary vector, rebuilds argv for
 *    scripts, and jumps.
 *  - init: pid 1. It forks children when ordered to and reaps what dies.
 *  - child of init: fetches what to run and executes it, which comes back here as loader.
 *
 * Freestanding: no libc, no relocations, fixed addresses (abi/stub.h, stub.ld). Nothing here is
 * trusted by the kernel: it runs in the guest's address space, with the guest's powers.
 */
#include "kernel/abi/stub.h"

#define SYS_CLOSE 3
#define SYS_MMAP 9
#define SYS_MPROTECT 10
#define SYS_MUNMAP 11
#define SYS_CLONE 56
#define SYS_EXECVE 59
#define SYS_WAIT4 61
#define SYS_SETSID 112
#define SYS_PRCTL 157
#define SYS_EXIT_GROUP 231

#define SIGCHLD 17
#define CLONE_VM 0x100
#define CLONE_VFORK 0x4000
#define WNOHANG 1
#define PR_SET_PDEATHSIG 1
#define PROT_READ 1
#define PROT_WRITE 2
#define PROT_GROWSDOWN 0x01000000
#define MAP_PRIVATE 2
#define MAP_FIXED 0x10
#define MAP_ANONYMOUS 0x20

enum { AT_NULL, AT_PHDR = 3, AT_PHENT, AT_PHNUM, AT_BASE = 7, AT_ENTRY = 9, AT_UID = 11, AT_EUID,
       AT_GID, AT_EGID, AT_SECURE = 23, AT_EXECFN = 31 };

/* At STUB_PATH_ADDR: what every execve of the sandbox names. */
__attribute__((section(".path"), used)) static const char stub_path[2][STUB_PATH_SIZE] = { "/x", "/y" };

static struct stub_plan plan __attribute__((aligned(16)));
uint64_t stub_stack[1024] __attribute__((aligned(16)));

static inline long call6(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			 uint64_t f)
{
	long ret;
	register uint64_t r10 __asm__("r10") = d;
	register uint64_t r8 __asm__("r8") = e;
	register uint64_t r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define CALL(nr, a, b, c, d) call6((nr), (uint64_t)(a), (uint64_t)(b), (uint64_t)(c), (uint64_t)(d), 0, 0)
#define STUB(op, a, b, c) CALL(STUB_CALL_NR, (op), (a), (b), (c))

static void clear(uint64_t from, uint64_t to)
{
	for (volatile char *p = (volatile char *)from; p < (volatile char *)to; p++)
		*p = 0;
}

static void copy(char *dst, const char *src, uint64_t size)
{
	for (uint64_t i = 0; i < size; i++)
		((volatile char *)dst)[i] = src[i];
}

static _Noreturn void die(int code)
{
	for (;;)
		CALL(SYS_EXIT_GROUP, code, 0, 0, 0);
}

/* ---- loader ---- */

static void map_segments(void)
{
	for (uint32_t i = 0; i < plan.segment_count; i++) {
		const struct stub_segment *s = &plan.segments[i];
		uint64_t flags = MAP_PRIVATE | MAP_FIXED | (s->fd < 0 ? MAP_ANONYMOUS : 0);
		long r = call6(SYS_MMAP, s->address, s->length, s->prot, flags, (uint64_t)(int64_t)s->fd,
			       s->offset);
		if (r != (long)s->address)
			die(127);
		if (s->zero_to)
			clear(s->zero_from, s->zero_to);
	}
	for (uint32_t fd = 0; fd < plan.fd_count; fd++)
		CALL(SYS_CLOSE, fd, 0, 0, 0);
}

static void patch_auxv(uint64_t *aux, uint64_t execfn)
{
	for (; aux[0] != AT_NULL; aux += 2) {
		switch (aux[0]) {
		case AT_PHDR: aux[1] = plan.at_phdr; break;
		case AT_PHENT: aux[1] = plan.at_phent; break;
		case AT_PHNUM: aux[1] = plan.at_phnum; break;
		case AT_BASE: aux[1] = plan.at_base; break;
		case AT_ENTRY: aux[1] = plan.at_entry; break;
		case AT_UID: aux[1] = plan.at_uid; break;
		case AT_EUID: aux[1] = plan.at_euid; break;
		case AT_GID: aux[1] = plan.at_gid; break;
		case AT_EGID: aux[1] = plan.at_egid; break;
		case AT_SECURE: aux[1] = plan.at_secure; break;
		case AT_EXECFN: aux[1] = execfn; break;
		default: break;
		}
	}
}

/*
 * Builds the program's initial stack below the host's: the same vectors, with AT_EXECFN and, for a
 * script, other first arguments. Returns the new stack pointer.
 */
static uint64_t build_stack(const uint64_t *old)
{
	uint64_t argc = old[0], skip = 0, words, new_argc;
	const uint64_t *rest, *end;
	uint64_t *new;

	if (plan.insert_count && argc)
		skip = 1; /* argv[0] gives way */
	new_argc = argc - skip + plan.insert_count;
	rest = old + 1 + skip;
	for (end = old + 1 + argc + 1; *end; end++)
		;
	for (end++; *end; end += 2)
		;
	end += 2; /* behind AT_NULL and its value */
	words = (uint64_t)(end - rest);

	uint64_t strings = ((uint64_t)old - plan.strings_size) & ~15ull;
	copy((char *)strings, plan.strings, plan.strings_size);
	uint64_t size = (1 + plan.insert_count + words) * 8;
	new = (uint64_t *)((strings - size) & ~15ull);

	uint64_t *at = new;
	const char *s = (const char *)strings;
	*at++ = new_argc;
	for (uint32_t i = 0; i < plan.insert_count; i++) {
		while (*s++)
			;
		*at++ = (uint64_t)s;
	}
	for (uint64_t i = 0; i < words; i++)
		at[i] = rest[i];
	uint64_t *aux = at;
	for (uint64_t left = new_argc - plan.insert_count + 1; left; left--)
		aux++;
	while (*aux++)
		;
	patch_auxv(aux, strings);
	return (uint64_t)new;
}

static void stack_executable(uint64_t sp)
{
	CALL(SYS_MPROTECT, sp & ~4095ull, 4096, PROT_READ | PROT_WRITE | plan.stack_prot | PROT_GROWSDOWN,
	     0);
}

/* ---- init ---- */

/* Runs on the stack of its waiting parent: in a frame of its own, below. */
__attribute__((noinline)) static _Noreturn void run_child(long buffer, uint64_t id, uint64_t size)
{
	CALL(SYS_SETSID, 0, 0, 0, 0);
	long r = STUB(STUB_FETCH, buffer, size, id);

	if (r == 0) {
		const struct stub_program *p = (const struct stub_program *)buffer;
		r = CALL(SYS_EXECVE, p->path, p->argv, p->envp, 0);
	}
	STUB(STUB_EXEC_FAILED, id, -r, 0);
	die(127);
}

/* The child shares our memory, and we wait until it has executed its program or failed. */
__attribute__((noinline)) static void spawn(uint64_t id, uint64_t size)
{
	long buffer = call6(SYS_MMAP, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    (uint64_t)-1, 0);
	long pid = buffer;

	if (buffer > 0)
		pid = CALL(SYS_CLONE, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0);
	if (pid == 0)
		run_child(buffer, id, size);
	if (pid < 0)
		STUB(STUB_EXEC_FAILED, id, -pid, 0);
	if (buffer > 0)
		CALL(SYS_MUNMAP, buffer, size, 0, 0);
}

static void reap(void)
{
	int status;
	long pid;

	while ((pid = CALL(SYS_WAIT4, -1, &status, WNOHANG, 0)) > 0)
		STUB(STUB_REAPED, pid, status, 0);
}

static _Noreturn void init(void)
{
	struct stub_wait wait;

	for (;;) {
		if (STUB(STUB_WAIT_ORDER, &wait, 0, 0) != 0)
			continue;
		if (wait.order == STUB_ORDER_REAP) {
			reap();
			continue;
		}
		spawn(wait.id, wait.size);
	}
}

/* Called on the stub's own stack with the stack pointer that the host made. Returns what to jump
 * to; the stack pointer for it goes through *ret_sp. */
uint64_t stub_main(const uint64_t *sp, uint64_t *ret_sp)
{
	plan.stack = (uint64_t)sp;
	long part = STUB(STUB_PLAN, &plan, 0, 0);
	if (part == STUB_BE_INIT)
		init();
	if (part < 0)
		die(127);
	map_segments();
	if (plan.forget_death_signal)
		CALL(SYS_PRCTL, PR_SET_PDEATHSIG, 0, 0, 0);
	*ret_sp = build_stack(sp);
	if (plan.stack_prot)
		stack_executable(*ret_sp);
	return plan.entry;
}

/* STUB_CALL_SITE: the kernel process takes the thread back behind the instruction. */
__asm__(".section .text.site,\"ax\"\n"
	"	syscall\n"
	"	nop\n"
	"	nop\n"
	"	ud2\n"
	".previous\n");

/* Entry: switch to our stack, then to the program with clean registers. */
__asm__(".section .text.start,\"ax\"\n"
	".globl _start\n"
	"_start:\n"
	"	endbr64\n"
	"	mov %rsp, %rdi\n"
	"	lea stub_stack+8176(%rip), %rsp\n"
	"	sub $16, %rsp\n"
	"	mov %rsp, %rsi\n"
	"	xor %ebp, %ebp\n"
	"	call stub_main\n"
	"	mov (%rsp), %rsp\n"
	"	push %rax\n"
	"	xor %eax, %eax\n"
	"	xor %ebx, %ebx\n"
	"	xor %ecx, %ecx\n"
	"	xor %edx, %edx\n"
	"	xor %esi, %esi\n"
	"	xor %edi, %edi\n"
	"	xor %r8d, %r8d\n"
	"	xor %r9d, %r9d\n"
	"	xor %r10d, %r10d\n"
	"	xor %r11d, %r11d\n"
	"	xor %r12d, %r12d\n"
	"	xor %r13d, %r13d\n"
	"	xor %r14d, %r14d\n"
	"	xor %r15d, %r15d\n"
	"	ret\n"
	".previous\n");
