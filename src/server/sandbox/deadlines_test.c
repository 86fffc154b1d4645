/* Many deadlines, one timer: order, exactness, changes while they fire. */
#include "check.h"

#include <uv.h>

#include "base/clock_boot.h"
#include "server/sandbox/deadlines.h"

#define COUNT 5000u

static struct deadlines *all;
static struct deadline many[COUNT];
static unsigned int fired;
static uint64_t last_ns;
static bool early, unordered;

static void on_due(void *ctx, struct deadline *d)
{
	early |= clock_boot_ns() < d->at_ns;
	unordered |= d->at_ns < last_ns;
	last_ns = d->at_ns;
	CHECK_EQ(d->position, 0);
	fired++;
	if (ctx && d == &many[0]) { /* one that ends another, and sets a third */
		deadline_clear(all, &many[1]);
		CHECK_EQ(deadline_set(all, &many[2], d->at_ns + 2000000), 0);
	}
}

static void open_all(void *ctx)
{
	struct error err;
	CHECK_EQ(deadlines_new(uv_default_loop(), on_due, ctx, &all, &err), 0);
}

static void run_until(unsigned int count)
{
	while (fired < count)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
}

static void close_all(void)
{
	deadlines_free(all);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

TEST(thousands_in_order)
{
	uint64_t now = clock_boot_ns();
	open_all(NULL);
	for (unsigned int i = 0; i < COUNT; i++)
		CHECK_EQ(deadline_set(all, &many[i], now + (i * 7919u % COUNT) * 20000), 0);
	for (unsigned int i = 0; i < COUNT; i += 3)
		deadline_clear(all, &many[i]);
	for (unsigned int i = 1; i < COUNT; i += 3)
		CHECK_EQ(deadline_set(all, &many[i], now + i * 10000ull), 0);
	run_until(COUNT - (COUNT + 2) / 3);
	CHECK(!early);
	CHECK(!unordered);
	close_all();
	CHECK_EQ(fired, COUNT - (COUNT + 2) / 3);
}

TEST(changes_while_one_fires)
{
	uint64_t now = clock_boot_ns();
	open_all(&fired);
	CHECK_EQ(deadline_set(all, &many[0], now), 0);
	CHECK_EQ(deadline_set(all, &many[1], now + 1), 0);
	CHECK_EQ(deadline_set(all, &many[2], now + 3600 * NSEC_PER_SEC), 0);
	many[3].at_ns = 0;
	deadline_clear(all, &many[3]); /* never set */
	run_until(2);
	CHECK_EQ(many[1].position, 0);
	CHECK(!early);
	close_all();
}

TEST(the_past_is_due_at_once)
{
	open_all(NULL);
	CHECK_EQ(deadline_set(all, &many[0], 1), 0);
	run_until(1);
	CHECK_EQ(deadline_set(all, &many[0], 2), 0);
	run_until(2);
	close_all();
}
CHECK_MAIN()
