/* The test header itself, and the few calls which everything else stands on. */
#include "check.h"

TEST(equality_and_strings)
{
	CHECK(1 + 1 == 2);
	CHECK_EQ(sizeof(long), 8);
	CHECK_STR("a", "a");
}

TEST(errno_is_reported)
{
	CHECK_ERRNO(close(-1), EBADF);
	CHECK_EQ(close(-1), -1);
	CHECK_EQ(errno, EBADF);
}

TEST(a_child_has_its_own_memory)
{
	static int value = 1;
	int status;
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		value = 2;
		_exit(7);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 7);
	CHECK_EQ(value, 1);
}

CHECK_MAIN()
