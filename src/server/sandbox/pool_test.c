/* Pools of cells: what they hold, in which order, and what recipes do inside, with real kernel processes. */
#include "life_test.h"

/* ---- a recipe that a test steers ---- */

static struct {
	bool at_once, fails; /* how a preparation ends */
	struct cell *cell;   /* being prepared, until finish() */
	void (*done)(void *ctx, const char *why);
	void *done_ctx;
	unsigned int begun, undone, alive;
} recipe;

static void finish(void)
{
	struct cell *c = recipe.cell;
	recipe.cell = NULL;
	if (!recipe.fails) {
		c->prepared = malloc(1);
		recipe.alive++;
	}
	recipe.done(recipe.done_ctx, recipe.fails ? "there is no oven" : NULL);
}

static void prepare(struct server *s, struct cell *c, void (*done)(void *ctx, const char *why),
		    void *ctx)
{
	CHECK(s == &server && c->ready && c->runtime && !c->prepared && !recipe.cell);
	recipe.begun++;
	recipe.cell = c;
	recipe.done = done;
	recipe.done_ctx = ctx;
	if (recipe.at_once)
		finish();
}

static void unprepare(struct cell *c)
{
	recipe.undone++;
	recipe.alive -= c->prepared != NULL;
	free(c->prepared);
	if (recipe.cell == c)
		recipe.cell = NULL;
}

static const struct pool_recipe steered = { prepare, unprepare };

static const struct sandbox_spec coded = { .template = "code-interpreter-v1",
					   .timeout_s = 60,
					   .allow_internet = -1,
					   .pause_keeps_memory = true };

static void start_pools(const char *plain_size, const char *code_option)
{
	make_top();
	start_with(plain_size, code_option);
	sandboxes_set_recipe(&server, POOL_CODE, &steered);
}

/* Nothing of a recipe is left behind. */
static void stop_pools(void)
{
	stop();
	CHECK_EQ(recipe.alive, 0);
	CHECK(!recipe.cell);
	CHECK_EQ(count_entries("sandboxes"), 0);
}

static void begin_preparation(void)
{
	while (!recipe.cell)
		uv_run(server.loop, UV_RUN_ONCE);
}

static const struct pool_state *code_pool(void)
{
	return sandboxes_pool(&server, POOL_CODE);
}

/* ---- tests ---- */

TEST(each_template_has_its_pool)
{
	start_pools("1", "--code-pool=1");
	recipe.at_once = true;
	fill_pool(POOL_PLAIN, 1);
	fill_pool(POOL_CODE, 1);
	CHECK_EQ(code_pool()->prepared, 1);
	struct sandbox *code = create_one(&coded), *base = create_one(&plain);
	char *prepared = sandbox_take_prepared(code);
	CHECK(prepared);
	CHECK(!sandbox_take_prepared(code)); /* it was given away */
	CHECK(!sandbox_take_prepared(base));
	CHECK_EQ(run(code, "exit 0"), 0);
	recipe.alive--;
	free(prepared);
	stop_pools();
}

TEST(what_nobody_takes_goes_with_the_sandbox)
{
	start_pools("0", "--code-pool=1");
	recipe.at_once = true;
	fill_pool(POOL_CODE, 1);
	struct sandbox *s = create_one(&coded);
	server.config->code_pool = 0;
	sandboxes_reload(&server);
	CHECK_EQ(kill_one(s), 0);
	while (recipe.alive)
		uv_run(server.loop, UV_RUN_ONCE);
	CHECK_EQ(recipe.undone, recipe.begun);
	stop_pools();
}

TEST(without_its_pool_a_template_uses_the_plain_one)
{
	start_pools("1", "--code-pool=1");
	fill_pool(POOL_PLAIN, 1);
	begin_preparation(); /* which does not end */
	uint64_t started = sandboxes_pool(&server, POOL_PLAIN)->started;
	struct sandbox *s = create_one(&coded);
	CHECK(!sandbox_take_prepared(s));
	CHECK_EQ(run(s, "exit 0"), 0);
	/* Meanwhile others are started. */
	fill_pool(POOL_PLAIN, 1);
	CHECK_EQ(sandboxes_pool(&server, POOL_PLAIN)->started, started + 1);
	CHECK_EQ(code_pool()->ready, 0);
	finish();
	CHECK_EQ(code_pool()->ready, 1);
	stop_pools();
}

TEST(the_plain_pool_is_filled_first)
{
	start_pools("4", "--code-pool=2");
	recipe.at_once = true;
	while (recipe.begun == 0) {
		CHECK(code_pool()->started == 0);
		uv_run(server.loop, UV_RUN_ONCE);
	}
	CHECK_EQ(sandboxes_pool(&server, POOL_PLAIN)->ready, 4);
	fill_pool(POOL_CODE, 2);
	stop_pools();
}

TEST(a_preparation_that_fails_leaves_a_plain_cell)
{
	start_pools("0", "--code-pool=2");
	recipe.at_once = recipe.fails = true;
	fill_pool(POOL_CODE, 2);
	CHECK_EQ(code_pool()->prepared, 0);
	CHECK_EQ(code_pool()->prepare_failed, 2);
	/* Once for each cell, and as soon as it can it works again. */
	recipe.fails = false;
	struct sandbox *s = create_one(&coded);
	CHECK(!sandbox_take_prepared(s));
	CHECK_EQ(run(s, "exit 0"), 0);
	fill_pool(POOL_CODE, 2);
	CHECK_EQ(recipe.begun, 3);
	CHECK_EQ(code_pool()->prepared, 1);
	CHECK_EQ(recipe.undone, 0);
	stop_pools();
	CHECK_EQ(recipe.undone, 1);
}

static void wait_undone(unsigned int count)
{
	while (recipe.undone < count)
		uv_run(server.loop, UV_RUN_ONCE);
}

TEST(a_cell_that_dies_while_it_is_prepared)
{
	start_pools("1", "--code-pool=1");
	begin_preparation();
	runtime_shutdown(recipe.cell->runtime, "the test");
	wait_undone(1);
	CHECK_EQ(code_pool()->prepare_failed, 1);
	begin_preparation(); /* of another */
	finish();
	fill_pool(POOL_CODE, 1);
	stop_pools();
}

TEST(a_cell_that_dies_in_the_pool)
{
	start_pools("0", "--code-pool=1");
	begin_preparation();
	struct cell *c = recipe.cell;
	finish();
	runtime_shutdown(c->runtime, "the test");
	wait_undone(1);
	CHECK_EQ(code_pool()->ready, 0);
	recipe.at_once = true;
	fill_pool(POOL_CODE, 1);
	stop_pools();
}

TEST(a_stop_breaks_a_preparation_off)
{
	start_pools("1", "--code-pool=1");
	begin_preparation();
	stop_pools();
	CHECK_EQ(recipe.undone, 1);
}

TEST(sizes_change_at_run_time)
{
	start_pools("1", "--code-pool=2");
	recipe.at_once = true;
	fill_pool(POOL_CODE, 2);
	server.config->code_pool = 1;
	sandboxes_reload(&server);
	CHECK_EQ(code_pool()->ready, 1);
	CHECK_EQ(recipe.undone, 1);
	recipe.at_once = false;
	server.config->code_pool = 2;
	server.config->pool_size = 0;
	sandboxes_reload(&server);
	CHECK_EQ(sandboxes_pool(&server, POOL_PLAIN)->ready, 0);
	begin_preparation();
	server.config->memory_bytes = GIB(1); /* another shape: all of them go, also this one */
	sandboxes_reload(&server);
	CHECK_EQ(recipe.undone, 3);
	CHECK_EQ(code_pool()->ready, 0);
	recipe.at_once = true;
	fill_pool(POOL_CODE, 2);
	CHECK(sandbox_take_prepared(create_one(&coded)));
	recipe.alive--;
	server.config->code_pool = 0;
	sandboxes_reload(&server);
	stop_pools();
}

TEST(without_a_recipe_there_is_no_pool)
{
	make_top();
	start_with("2", "--code-pool=2");
	fill_pool(POOL_PLAIN, 2);
	create_one(&coded);
	fill_pool(POOL_PLAIN, 2);
	CHECK_EQ(code_pool()->started, 0);
	stop();
}

CHECK_MAIN()
