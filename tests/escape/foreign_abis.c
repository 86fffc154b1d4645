/* Other ways into the kernel than the syscall instruction in 64-bit mode must lead nowhere. */
#include "attack.h"

#include <sys/time.h>

#define I386_EXIT 1
#define I386_OPEN 5
#define I386_EXECVE 11
#define I386_GETPID 20
#define I386_SOCKETCALL 102
#define X32 0x40000000

static long int80(long number, long b, long c, long d)
{
	long r;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(number), "b"(b), "c"(c), "d"(d) : "memory", "r8", "r9", "r10", "r11");
	return (int)r;
}

static long raw(unsigned long rax, long a, long b, long c)
{
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(rax), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return r;
}

/* Memory below 4 GiB, so that 32-bit addresses can name it. */
static char *low_memory(void)
{
	char *low = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	CHECK(low != MAP_FAILED);
	return low;
}

static void try_int80(void *argument)
{
	char *low = low_memory();
	strcpy(low, "/etc/passwd");
	long number = (long)argument;
	long r = int80(number, (long)(int)(long)low, 0, 0);
	_exit(r == -ENOSYS ? 0 : 9);
}

TEST(int_0x80_does_not_exist)
{
	static const long numbers[] = { I386_EXIT, I386_OPEN, I386_EXECVE, I386_GETPID, I386_SOCKETCALL, 0, 4, 26, 174, 358 };
	for (size_t i = 0; i < sizeof(numbers) / sizeof(long); i++) {
		int r = run_attack(try_int80, (void *)numbers[i], 5);
		if (r != 0 && r != 256 + SIGSEGV && r != 256 + SIGSYS)
			printf("# int 0x80 number %ld: %d\n", numbers[i], r);
		CHECK(r == 0 || r == 256 + SIGSEGV || r == 256 + SIGSYS);
	}
	check_alive();
}

TEST(x32_numbers_do_not_exist)
{
	for (long number = 0; number < 600; number++) {
		long r = raw((unsigned long)(X32 | number), 0, 0, 0);
		if (r != -ENOSYS)
			printf("# x32 number %ld: %ld\n", number, r);
		CHECK_EQ(r, -ENOSYS);
	}
}

TEST(garbage_above_the_number_changes_nothing)
{
	CHECK_EQ(raw(0xdeadbeef00000000ul | SYS_getpid, 0, 0, 0), getpid());
	CHECK_EQ(raw(0xdeadbeef00000000ul | SYS_getuid, 0, 0, 0), getuid());
	CHECK_EQ(raw(0xffffffff00000000ul | SYS_close, -1, 0, 0), -EBADF);
	CHECK_EQ(raw(0xdeadbeef00000000ul | SYS_ptrace, 0, 0, 0), -EPERM);
	CHECK_EQ(raw(0x8000000000000000ul | SYS_bpf, 0, 0, 0), -EPERM);
	CHECK_EQ(raw(0xffffffff00000000ul | SYS_io_uring_setup, 1, 0, 0), -ENOSYS);
}

static void try_vsyscall(void *argument)
{
	struct timeval tv = { 0, 0 };
	long (*call)(void *, void *) = (long (*)(void *, void *))(0xffffffffff600000ul + (unsigned long)argument);
	long r = call(&tv, NULL);
	_exit(r == -ENOSYS || r >= 0 ? 0 : 9);
}

TEST(the_vsyscall_page_gives_time_or_a_signal)
{
	for (unsigned long offset = 0; offset <= 0x800; offset += 0x400) {
		int r = run_attack(try_vsyscall, (void *)offset, 5);
		CHECK(r == 0 || r == 256 + SIGSEGV || r == 256 + SIGSYS);
	}
	check_alive();
}

static void try_sysenter(void *argument)
{
	(void)argument;
	__asm__ volatile("sysenter" : : "a"(I386_GETPID), "b"(0) : "memory");
	_exit(0);
}

TEST(sysenter_leads_nowhere)
{
	int r = run_attack(try_sysenter, NULL, 5);
	CHECK(r == 0 || r > 256);
	check_alive();
}

/* Goes to the 32-bit code segment and makes a call from there. */
static void try_compatibility_mode(void *argument)
{
	char *low = low_memory();
	/* mov eax, 20; int 0x80 or sysenter or syscall; ret far to 64 bits is not needed: hlt ends it. */
	static const unsigned char code[3][8] = {
		{ 0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xf4 },
		{ 0xb8, 20, 0, 0, 0, 0x0f, 0x34, 0xf4 },
		{ 0xb8, 20, 0, 0, 0, 0x0f, 0x05, 0xf4 },
	};
	memcpy(low, code[(long)argument], 8);
	struct {
		unsigned int offset;
		unsigned short selector;
	} __attribute__((packed)) target = { (unsigned int)(unsigned long)low, 0x23 };
	__asm__ volatile("mov %1, %%rsp\n\tljmp *%0" : : "m"(target), "r"(low + 32768) : "memory", "rax");
	_exit(0);
}

TEST(compatibility_mode_has_no_calls)
{
	for (long way = 0; way < 3; way++) {
		int r = run_attack(try_compatibility_mode, (void *)way, 5);
		CHECK(r > 256); /* hlt, or the signal that came before it */
	}
	check_alive();
}

static void try_instruction(void *argument)
{
	switch ((long)argument) {
	case 0: __asm__ volatile("hlt"); break;
	case 1: __asm__ volatile("int1"); break;
	case 2: __asm__ volatile("int3"); break;
	case 3: __asm__ volatile("ud2"); break;
	case 4: __asm__ volatile("in $0x80, %%al" : : : "rax"); break;
	case 5: __asm__ volatile("out %%al, $0x80" : : "a"(0)); break;
	case 6: __asm__ volatile("wbinvd"); break;
	case 7: __asm__ volatile("rdmsr" : : "c"(0x10) : "rax", "rdx"); break;
	case 8: __asm__ volatile("rdpmc" : : "c"(0) : "rax", "rdx"); break;
	case 9: __asm__ volatile("mov %%cr0, %%rax" : : : "rax"); break;
	case 10: __asm__ volatile("cli"); break;
	case 11: __asm__ volatile("int $4"); break;
	case 12: __asm__ volatile("int $0x2e"); break;
	case 13: __asm__ volatile("vmcall"); break;
	case 14: __asm__ volatile("pushfq; orq $0x40100, (%%rsp); popfq; mov %0, %%eax; syscall" : : "i"(SYS_getuid) : "rax", "rcx", "r11", "memory", "cc"); break;
	case 15: __asm__ volatile("xor %%rsp, %%rsp; mov %0, %%eax; syscall; ud2" : : "i"(SYS_getuid) : "rax", "rcx", "r11", "memory"); break;
	case 16: __asm__ volatile("movabs $0x8000000000000000, %%rsp; mov %0, %%eax; syscall; ud2" : : "i"(SYS_getuid) : "rax", "rcx", "r11", "memory"); break;
	case 17: __asm__ volatile("std; mov %0, %%eax; syscall; cld" : : "i"(SYS_getuid) : "rax", "rcx", "r11", "memory", "cc"); break;
	default: break;
	}
	_exit(0);
}

TEST(odd_instructions_hurt_nobody_else)
{
	for (long i = 0; i < 18; i++)
		run_attack(try_instruction, (void *)i, 3);
	check_alive();
}

CHECK_MAIN()
