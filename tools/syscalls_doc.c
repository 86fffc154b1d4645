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

static int by_filter(const struct row *r)
{
	return strcmp(r->check, "CHECK_FILTER") == 0;
}

static void print_intro(void)
{
	int counts[CLASSES] = { 0 }, walls = 0;
	for (size_t i = 0; i < COUNT(rows); i++) {
		counts[rows[i].class]++;
		walls += by_filter(&rows[i]);
	}
	printf("# System calls\n\n"
	       "Generated from `src/kernel/abi/syscalls.def` by `make docs`; a test compares. Every\n"
	       "x86-64 system call of Linux is in one of four classes:\n\n"
	       "| class | count | who executes it |\n|---|---|---|\n"
	       "| native | %d | the host kernel, when the seccomp filter accepts the arguments |\n"
	       "| checked | %d | the host kernel, after the application kernel has looked at the registers |\n"
	       "| emulated | %d | the application kernel |\n"
	       "| refused | %d | nobody: %d by the filter itself, %d by the application kernel, which counts them |\n\n"
	       "Numbers that are not in the table, and the calls of foreign architectures (i386, x32),\n"
	       "get `ENOSYS`.\n",
	       counts[NATIVE], counts[CHECKED], counts[EMULATED], counts[REFUSED], walls,
	       counts[REFUSED] - walls);
}

/* The product of interest for a security review, so it comes first and alone. */
static void print_native(void)
{
	int native = 0;

	for (size_t i = 0; i < COUNT(rows); i++)
		native += rows[i].class == NATIVE;
	printf("\n## What reaches the host kernel directly\n\n"
	       "These %d calls a guest makes without anybody looking but the filter. None takes a path or\n"
	       "a descriptor, with two exceptions that do nothing: `clock_gettime` and its relatives accept\n"
	       "the descriptor of a clock device, and no such descriptor can be in a guest process. (`close`\n"
	       "and `mmap` of a descriptor are native too for instructions in the stub's text, where any\n"
	       "guest code can jump: on the descriptors of mapped files, which are all there are, they can do\n"
	       "no more than the guest's own access allows.) The list may only shrink without a written\n"
	       "argument.\n\n"
	       "| call | condition | why it is safe |\n|---|---|---|\n",
	       native);
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (rows[i].class == NATIVE)
			printf("| `%s` | %s | %s |\n", rows[i].name, check_meaning(rows[i].check),
			       rows[i].note);
	}
}

/* The host executes these as well, after a decision that is taken in registers. */
static void print_checked(void)
{
	int checked = 0;

	for (size_t i = 0; i < COUNT(rows); i++)
		checked += rows[i].class == CHECKED;
	printf("\n## What reaches the host kernel after a look\n\n"
	       "%d calls are let through by the application kernel when it agrees:",
	       checked);
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (rows[i].class == CHECKED)
			printf(" `%s`%s", rows[i].name, --checked ? "," : "");
	}
	printf(".\nFor `clone` the filter itself refuses every flag that makes a namespace.\n");
}

/* If the application kernel is taken over, what the filter refuses itself is what stays refused. */
static void print_walls(void)
{
	int walls = 0, column = 0;

	for (size_t i = 0; i < COUNT(rows); i++)
		walls += by_filter(&rows[i]);
	printf("\n## What stays closed when the kernel process is taken over\n\n"
	       "Whatever comes to the kernel process as a notification, it may let pass; who takes it over can\n"
	       "so have a guest process execute any checked or emulated call on the host, inside of the\n"
	       "sandbox's namespaces. %d calls never come that far, because the filter refuses them itself:\n",
	       walls);
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (by_filter(&rows[i]))
			printf("`%s`%s", rows[i].name, !--walls ? "" : ++column % 6 ? ", " : ",\n");
	}
	printf(".\nThe same holds for `clone` with a flag that makes a namespace, `socket` and `socketpair` of\n"
	       "other families than unix, IPv4, IPv6, netlink and packet, and every number that is not in the\n"
	       "table. Only with `--trace` do the listed calls go to the kernel process, to be seen.\n");
}

static void print_all(void)
{
	printf("\n## All calls\n\n"
	       "| number | call | class | error | deviation from Linux, or reason |\n"
	       "|---:|---|---|---|---|\n");
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct row *r = &rows[i];
		printf("| %d | `%s` | %s | %s | %s |\n", r->number, r->name, by_filter(r) ? "refused (filter)" : class_names[r->class],
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
	print_checked();
	print_walls();
	print_all();
	return 0;
}
