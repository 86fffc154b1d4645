/*
 * Answers that were accepted and not heard: found by what the handler's return restores, and never
 * mistaken for a call that was taken back unseen. In a guest it takes a busy host and luck.
 */
#include "check.h"

#include <errno.h>
#include <sys/syscall.h>

#include "kernel/task/past.h"

static const uint64_t ip = 0x401000;
static const uint64_t reading[6] = { 3, 0x7000, 4, 11, 12, 13 };
static const uint64_t writing[6] = { 4, 0x8000, 1, 21, 22, 23 };

static void answered_read(struct past *p, long result, uint64_t missed)
{
	past_begin(p, SYS_read, ip, reading);
	past_answered(p, result, missed);
}

static struct past_registers registers(uint64_t at, long rax, const uint64_t args[6])
{
	struct past_registers r = { .ip = at, .rax = (uint64_t)rax };

	for (int i = 0; i < 6; i++)
		r.args[i] = args[i];
	return r;
}

static enum past_verdict take(struct past *p, uint64_t at, long rax, uint64_t missed, long *ret)
{
	struct past_registers r = registers(at, rax, reading);
	struct past_call c;
	enum past_verdict verdict = past_take(p, &r, missed, &c);

	if (verdict != PAST_NONE) {
		CHECK_EQ(c.ip, ip);
		CHECK_EQ(c.nr, SYS_read);
		*ret = c.result;
	}
	return verdict;
}

TEST(answer_comes_after_the_handler)
{
	struct past p = { 0 };
	long result = 0;

	answered_read(&p, 4, 7);
	CHECK_EQ(take(&p, ip, -EINTR, 7, &result), PAST_UNHEARD);
	CHECK_EQ(result, 4);
	CHECK_EQ(take(&p, ip, -EINTR, 7, &result), PAST_NONE); /* once */
}

TEST(also_when_the_host_would_repeat_the_call)
{
	struct past p = { 0 };
	long result = 0;

	answered_read(&p, -EPIPE, 0);
	CHECK_EQ(take(&p, ip - SYSCALL_INSTRUCTION_SIZE, SYS_write, 0, &result), PAST_NONE);
	CHECK_EQ(take(&p, ip - SYSCALL_INSTRUCTION_SIZE, SYS_read, 0, &result), PAST_UNHEARD);
	CHECK_EQ(result, -EPIPE);
}

TEST(handler_may_make_calls)
{
	struct past p = { 0 };
	long result = 0;

	answered_read(&p, 4, 0);
	for (int i = 0; i < PAST_MAX - 1; i++) {
		past_begin(&p, SYS_write, ip + 64, writing);
		past_answered(&p, 1, 0);
	}
	CHECK_EQ(take(&p, ip, -EINTR, 0, &result), PAST_UNHEARD);
	CHECK_EQ(result, 4);
}

TEST(result_that_arrived_is_left_alone)
{
	struct past p = { 0 };
	long result;

	answered_read(&p, 4, 0);
	CHECK_EQ(take(&p, ip, 4, 0, &result), PAST_NONE);
	CHECK_EQ(take(&p, ip + 64, -EINTR, 0, &result), PAST_NONE);
	struct past_registers r = registers(ip, -EINTR, writing);
	struct past_call c;
	CHECK_EQ(past_take(&p, &r, 0, &c), PAST_NONE);
}

/* read() answered, the next one, alike, gone before it was received: its number is missing. */
TEST(unseen_call_is_not_the_answered_one)
{
	struct past p = { 0 };
	long result;

	answered_read(&p, 4, 0);
	CHECK_EQ(take(&p, ip, -EINTR, 1, &result), PAST_UNSURE);
	answered_read(&p, 4, 1);
	past_begin(&p, SYS_write, ip + 64, writing);
	past_answered(&p, 1, 1);
	CHECK_EQ(take(&p, ip, -EINTR, 2, &result), PAST_UNSURE);
}

/* The newest call at that place was interrupted while it waited, or never answered. */
TEST(older_answers_do_not_count)
{
	struct past p = { 0 };
	long result;

	answered_read(&p, 4, 0);
	past_begin(&p, SYS_read, ip, reading);
	CHECK_EQ(take(&p, ip, -EINTR, 0, &result), PAST_NONE);
}

TEST(nothing_is_known_of_a_new_thread)
{
	struct past p = { 0 };
	struct past_registers r = { .rax = (uint64_t)-EINTR };
	struct past_call c;

	CHECK_EQ(past_take(&p, &r, 0, &c), PAST_NONE);
}

CHECK_MAIN()
