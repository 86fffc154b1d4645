/*
 * Wait queues, timers and the pipe's buffer, without guests: order and fairness of wakes, the heap
 * and the ring against plain models, and no allocation failure leaves anything charged.
 */
#include "check.h"

#include "base/util.h"

#include "kernel/core/arena.h"
#include "kernel/core/call.h"
#include "kernel/core/call_internal.h"
#include "kernel/core/clock.h"
#include "kernel/core/limits.h"
#include "kernel/core/timer.h"
#include "kernel/core/user.h"
#include "kernel/core/wait.h"
#include "kernel/fs/pipe/pipe_internal.h"

static void begin(void)
{
	CHECK_EQ(arena_init(MIB(256)), 0);
	CHECK_EQ(clock_init(), 0);
	CHECK_EQ(limits_init(), 0);
	CHECK_EQ(call_init(), 0);
	limit_set(LIMIT_BUFFER_BYTES, MIB(64));
}

static uint32_t seed = 1;
static uint32_t rnd(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

/* ---- wait queues ---- */

static struct call calls[8];
static struct waiter waiters[8];

static void wait_for(struct waitq *wq, int i, bool exclusive)
{
	list_init(&calls[i].run_link);
	waiters[i] = (struct waiter){ .owner = &calls[i], .kind = WAITER_CALL, .exclusive = exclusive };
	waitq_add(wq, &waiters[i]);
}

/* The woken calls in order, as decimal digits: 123. */
static int woken(void)
{
	struct call *c;
	int digits = 0;

	while ((c = call_next_woken()))
		digits = digits * 10 + (int)(c - calls);
	return digits;
}

TEST(wake_tells_everyone_in_order)
{
	struct waitq wq = { 0 };

	begin();
	CHECK(!waitq_active(&wq));
	waitq_wake(&wq, 1);
	wait_for(&wq, 1, false);
	wait_for(&wq, 2, false);
	wait_for(&wq, 3, false);
	CHECK(waitq_active(&wq));
	waitq_wake(&wq, 1);
	CHECK_EQ(woken(), 123);
	waiter_del(&waiters[2]);
	waitq_wake(&wq, 0);
	waitq_wake(&wq, 0); /* already on the run queue: once */
	CHECK_EQ(woken(), 13);
	waiter_del(&waiters[2]); /* idempotent */
	waiter_del(&waiters[1]);
	waiter_del(&waiters[3]);
	CHECK(!waitq_active(&wq));
}

TEST(exclusive_waiters_take_turns)
{
	struct waitq wq = { 0 };

	begin();
	wait_for(&wq, 1, true);
	wait_for(&wq, 2, false);
	wait_for(&wq, 3, true);
	wait_for(&wq, 4, true);
	waitq_wake(&wq, 1);
	CHECK_EQ(woken(), 12);
	waitq_wake(&wq, 1);
	CHECK_EQ(woken(), 23);
	waitq_wake(&wq, 1);
	CHECK_EQ(woken(), 24);
	waitq_wake(&wq, 1);
	CHECK_EQ(woken(), 21);
}

TEST(drain_detaches)
{
	struct waitq wq = { 0 };

	begin();
	wait_for(&wq, 1, true);
	wait_for(&wq, 2, false);
	wait_for(&wq, 3, true);
	waitq_drain(&wq);
	CHECK(!waitq_active(&wq));
	CHECK_EQ(woken(), 123);
	for (int i = 1; i <= 3; i++)
		CHECK(!list_linked(&waiters[i].link));
}

/* ---- timers ---- */

#define TIMERS 300

static void check_timers(const struct timer *t, const uint64_t *deadline, uint64_t next)
{
	uint64_t now = clock_mono(), first = UINT64_MAX;

	for (int i = 0; i < TIMERS; i++) {
		CHECK_EQ(timer_armed(&t[i]), deadline[i] > now);
		if (deadline[i] > now && deadline[i] < first)
			first = deadline[i];
	}
	CHECK_EQ(next, first == UINT64_MAX ? UINT64_MAX : first - now);
}

TEST(timers_like_a_model)
{
	static struct timer t[TIMERS];
	static uint64_t deadline[TIMERS]; /* 0 = not armed */

	begin();
	CHECK_EQ(timer_run(), UINT64_MAX);
	for (int round = 0; round < 20000; round++) {
		uint32_t i = rnd(TIMERS);

		if (rnd(3)) {
			deadline[i] = clock_mono() + 1 + (uint64_t)rnd(2000000);
			CHECK_EQ(timer_arm(&t[i], TIMER_NONE, deadline[i]), 0);
		} else {
			timer_cancel(&t[i]);
			deadline[i] = 0;
		}
		if (rnd(50))
			continue;
		clock_tick();
		check_timers(t, deadline, timer_run());
		for (i = 0; i < TIMERS; i++)
			if (deadline[i] <= clock_mono())
				deadline[i] = 0;
	}
	for (int i = 0; i < TIMERS; i++)
		timer_cancel(&t[i]);
	CHECK_EQ(timer_run(), UINT64_MAX);
}

TEST(timer_without_memory)
{
	static struct timer t[1000];
	int armed = 0;

	begin();
	CHECK_EQ(timer_arm(&t[0], TIMER_NONE, UINT64_MAX - 1), 0);
	arena_fail_after(1);
	for (int i = 1; i < 1000 && timer_arm(&t[i], TIMER_NONE, 1000u + (uint64_t)i) == 0; i++)
		armed = i;
	CHECK(armed < 999);
	/* What is armed can be armed again. */
	for (int i = 0; i <= armed; i++)
		CHECK_EQ(timer_arm(&t[i], TIMER_NONE, UINT64_MAX - (uint64_t)i), 0);
	arena_fail_after(0);
	for (int i = 0; i <= armed; i++)
		timer_cancel(&t[i]);
}

/* ---- the pipe's buffer ---- */

#define MODEL_SIZE (1u << 20)

/* Stages `n` bytes that continue the sequence; commits unless the answer "got lost". */
static size_t put(struct pipe *p, uint8_t *sequence, size_t n, bool lost)
{
	static uint8_t data[MODEL_SIZE];
	struct uio u;
	ssize_t staged;

	for (size_t i = 0; i < n; i++)
		data[i] = (uint8_t)(*sequence + i);
	uio_kernel(&u, data, n);
	staged = pipe_ring_stage(p, &u, false);
	if (staged <= 0) {
		CHECK(staged == -EAGAIN || staged == -ENOMEM);
		return 0;
	}
	if (lost)
		return 0;
	pipe_ring_commit(p, (size_t)staged);
	*sequence = (uint8_t)(*sequence + staged);
	return (size_t)staged;
}

static size_t get(struct pipe *p, uint8_t *sequence, size_t n, bool lost)
{
	static uint8_t data[MODEL_SIZE];
	struct uio u;
	ssize_t got;

	uio_kernel(&u, data, n);
	got = pipe_ring_copy(p, &u);
	CHECK(got >= 0);
	for (ssize_t i = 0; i < got; i++)
		CHECK_EQ(data[i], (uint8_t)(*sequence + i));
	if (lost)
		return 0;
	pipe_ring_remove(p, (size_t)got);
	*sequence = (uint8_t)(*sequence + got);
	return (size_t)got;
}

static void exercise(struct pipe *p, int rounds)
{
	uint8_t in = 0, out = 0;
	size_t have = 0;

	for (int round = 0; round < rounds; round++) {
		size_t n = 1 + (rnd(3) ? rnd(6000) : rnd(100000));

		have += put(p, &in, n, rnd(4) == 0);
		CHECK_EQ(pipe_ring_size(p), have);
		have -= get(p, &out, 1 + (rnd(3) ? rnd(6000) : rnd(100000)), rnd(4) == 0);
		CHECK_EQ(pipe_ring_size(p), have);
		if (rnd(20) == 0) {
			int err = pipe_ring_resize(p, 1u << rnd(9));
			CHECK(err == 0 || err == -EBUSY || err == -ENOMEM);
		}
	}
}

TEST(pipe_ring_like_a_model)
{
	struct pipe p = { 0 };

	begin();
	pipe_ring_init(&p);
	exercise(&p, 5000);
	pipe_ring_fini(&p);
	CHECK_EQ(limit_used(LIMIT_BUFFER_BYTES), 0);
}

TEST(pipe_ring_without_memory)
{
	begin();
	for (uint64_t n = 1; n < 60; n++) {
		struct pipe p = { 0 };

		pipe_ring_init(&p);
		arena_fail_after(n);
		exercise(&p, 50);
		arena_fail_after(0);
		pipe_ring_fini(&p);
		CHECK_EQ(limit_used(LIMIT_BUFFER_BYTES), 0);
	}
	/* And at the limit instead of the end of memory. */
	struct pipe p = { 0 };
	pipe_ring_init(&p);
	limit_set(LIMIT_BUFFER_BYTES, 3 * PIPE_PAGE);
	exercise(&p, 500);
	pipe_ring_fini(&p);
	CHECK_EQ(limit_used(LIMIT_BUFFER_BYTES), 0);
}

TEST(splice_moves_and_tee_copies)
{
	struct pipe a = { 0 }, b = { 0 };
	uint8_t in = 0, out = 0;
	size_t size;

	begin();
	pipe_ring_init(&a);
	pipe_ring_init(&b);
	size = put(&a, &in, 50000, false);
	CHECK_EQ(size, 50000);
	CHECK_EQ(pipe_tee(&a, &b, 10000), 10000);
	CHECK_EQ(pipe_ring_size(&a), 50000);
	CHECK_EQ(get(&b, &out, MODEL_SIZE, false), 10000);
	out = 0;
	for (size_t moved = 0; moved < size;) {
		ssize_t n = pipe_splice(&a, &b, 1 + rnd(9000));
		CHECK(n > 0);
		moved += (size_t)n;
		CHECK_EQ(pipe_ring_size(&a), size - moved);
		CHECK_EQ(get(&b, &out, MODEL_SIZE, false), n);
	}
	CHECK_EQ(pipe_splice(&a, &b, 1), -EAGAIN);
	CHECK_EQ(pipe_tee(&a, &b, 1), -EAGAIN);
	CHECK_EQ(pipe_splice(&a, &a, 1), -EINVAL);
	pipe_ring_fini(&a);
	pipe_ring_fini(&b);
	CHECK_EQ(limit_used(LIMIT_BUFFER_BYTES), 0);
}

CHECK_MAIN()
