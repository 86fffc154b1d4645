/* also as root */
/* Every refused call answers with the errno of the table, whatever its arguments; every number that
 * is not in the table does not exist. */
#include "attack.h"

enum { NATIVE, CHECKED, EMULATED, REFUSED };

static const struct row {
	const char *name;
	int number, class, error;
} rows[] = {
#define SYSCALL(name, number, class, handler, check, error, trace, note) { #name, number, class, error },
#include "../../src/kernel/abi/syscalls.def"
};

#define ROWS (int)(sizeof(rows) / sizeof(rows[0]))

static const long arguments[] = { 0, -1, 1, 4096, 0x7fffffff, (long)0x8000000000000000, STUB_AREA,
				  (long)0xffffffff80000000 };

TEST(refused_calls_answer_with_their_errno)
{
	int tried = 0;
	for (int i = 0; i < ROWS; i++) {
		if (rows[i].class != REFUSED)
			continue;
		for (size_t a = 0; a < sizeof(arguments) / sizeof(long); a++) {
			long v = arguments[a];
			errno = 0;
			long r = syscall(rows[i].number, v, v, v, v, v, v);
			if (r != -1 || errno != rows[i].error)
				printf("# %s(%lx...): %ld errno %d, want %d\n", rows[i].name, v, r, errno,
				       rows[i].error);
			CHECK(r == -1 && errno == rows[i].error);
		}
		tried++;
	}
	CHECK(tried > 60);
}

TEST(unknown_numbers_do_not_exist)
{
	bool known[1024] = { false };
	for (int i = 0; i < ROWS; i++)
		if (rows[i].number < 1024)
			known[rows[i].number] = true;
	/* uretprobe and uprobe: the host kernel lets them pass every filter (Linux 6.14) and answers
	 * with SIGILL or ENXIO outside of its own trampolines. */
	known[335] = known[336] = true;
	for (int number = 0; number < 1024; number++) {
		for (size_t a = 0; !known[number] && a < sizeof(arguments) / sizeof(long); a++) {
			long v = arguments[a];
			errno = 0;
			long r = syscall(number, v, v, v, v, v, v);
			if (r != -1 || errno != ENOSYS)
				printf("# number %d: %ld errno %d\n", number, r, errno);
			CHECK(r == -1 && errno == ENOSYS);
		}
	}
}

static void call_number(void *number)
{
	_exit(syscall((long)number, 0, 0, 0, 0, 0, 0) == -1 ? 0 : 9);
}

TEST(probe_calls_lead_nowhere)
{
	for (long number = 335; number <= 336; number++) {
		int r = run_attack(call_number, (void *)number, 3);
		CHECK(r == 0 || r == 256 + SIGILL);
	}
}

TEST(large_and_negative_numbers_do_not_exist)
{
	static const long numbers[] = { -1, -2, 0x7fffffff, (long)0x80000000, 0x10000, 0x3fffffff };
	for (size_t i = 0; i < sizeof(numbers) / sizeof(long); i++)
		CHECK_ERRNO(syscall(numbers[i], 1, 2, 3, 4, 5, 6), ENOSYS);
}

TEST(the_private_call_of_the_stub_is_not_for_guests)
{
	/* Numbers around any private range: nothing but an error may come back. */
	for (long number = 1024; number < 66000; number += 7)
		CHECK(syscall(number, 0, 0, 0, 0, 0, 0) < 0);
	check_alive();
}

CHECK_MAIN()
