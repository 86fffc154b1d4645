/* Prints docs/syscalls.md from the one table of system calls; see tools/syscalls-doc. */
#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum class { NATIVE, CHECKED, EMULATED, REFUSED, CLASSES };

static const struct row {
	const char *name;
	int number;
	enum class class;
	const char *check, *error, *note;
} rows[] = {
#define SYSCALL(name, number, class, handler, check, error, trace, note)                          \
	{ #name, number, class, #check, #error, note },
#include "kernel/abi/syscalls.def"
#undef SYSCALL
};

static const char *const class_names[CLASSES] = { "native", "checked", "emulated", "refused" };

static const struct {
	const char *check, *meaning;
} checks[] = {
	{ "CHECK_ANY", "any arguments" },
	{ "CHECK_MMAP", "anonymous memory; anything else goes to the application kernel" },
	{ "CHECK_MADVISE", "advice from a list; anything else is refused" },
	{ "CHECK_FUTEX", "all operations but those with priority inheritance" },
	{ "CHECK_ARCH_PRCTL", "segment bases and processor features" },
	{ "CHECK_WAITID", "all but P_PIDFD, which goes to the application kernel" },
};

static const char *check_meaning(const char *check)
{
	for (size_t i = 0; i < COUNT(checks); i++) {
		if (strcmp(checks[i].check, check) == 0)
			return checks[i].meaning;
	}
	return "checked arguments";
}

static void print_intro(void)
{
	int counts[CLASSES] = { 0 };
	for (size_t i = 0; i < COUNT(rows); i++)
		counts[rows[i].class]++;
	printf("# System calls\n\n"
	       "Generated from `src/kernel/abi/syscalls.def` by `make docs`; a test compares. Every\n"
	       "x86-64 system call of Linux is in one of four classes:\n\n"
	       "| class | count | who executes it |\n|---|---|---|\n"
	       "| native | %d | the host kernel, when the seccomp filter accepts the arguments |\n"
	       "| checked | %d | the host kernel, after the application kernel has looked at the registers |\n"
	       "| emulated | %d | the application kernel |\n"
	       "| refused | %d | nobody: the application kernel counts it and answers with the error number |\n\n"
	       "Numbers that are not in the table, and the calls of foreign architectures (i386, x32),\n"
	       "get `ENOSYS`.\n",
	       counts[NATIVE], counts[CHECKED], counts[EMULATED], counts[REFUSED]);
}

/* The product of interest for a security review, so it comes first and alone. */
static void print_native(void)
{
	printf("\n## What reaches the host kernel directly\n\n"
	       "No call of this list takes a path or a descriptor. The list may only shrink without a\n"
	       "written argument.\n\n"
	       "| call | condition | why it is safe |\n|---|---|---|\n");
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (rows[i].class == NATIVE)
			printf("| `%s` | %s | %s |\n", rows[i].name, check_meaning(rows[i].check),
			       rows[i].note);
	}
}

static void print_all(void)
{
	printf("\n## All calls\n\n"
	       "| number | call | class | error | deviation from Linux, or reason |\n"
	       "|---:|---|---|---|---|\n");
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct row *r = &rows[i];
		printf("| %d | `%s` | %s | %s | %s |\n", r->number, r->name, class_names[r->class],
		       r->class == REFUSED ? r->error : "", r->note);
	}
}

int main(void)
{
	for (size_t i = 1; i < COUNT(rows); i++) {
		if (rows[i].number <= rows[i - 1].number) {
			fprintf(stderr, "the table is not in order at %s\n", rows[i].name);
			return 1;
		}
	}
	print_intro();
	print_native();
	print_all();
	return 0;
}
