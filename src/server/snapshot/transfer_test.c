/* Bytes between sockets and files, whatever happens at the other end. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <uv.h>

#include "base/io.h"
#include "base/util.h"
#include "server/snapshot/transfer.h"

#define SIZE (3u << 20)

static struct transfers *all;

struct one {
	struct transfer *t;
	struct transfer_plan plan;
	bool turned, done, hold;
	uint64_t bytes;
	int code;
};

static void on_turn(void *ctx)
{
	struct one *o = ctx;
	o->turned = true;
	if (!o->hold)
		transfer_run(o->t, &o->plan);
}

static void on_done(void *ctx, uint64_t bytes, const struct error *err)
{
	struct one *o = ctx;
	CHECK(!o->done);
	o->done = true;
	o->bytes = bytes;
	o->code = err ? err->code : 0;
}

static const struct transfer_events events = { on_turn, on_done };

static void make(unsigned int most)
{
	all = transfers_new(uv_default_loop(), most);
	CHECK(all);
	transfers_set_space(all, 1ull << 40);
}

static void begin(struct one *o)
{
	o->t = transfer_new(all, &events, o);
	CHECK(o->t);
	transfer_wait(o->t);
}

static void loop_until(const bool *done)
{
	while (!*done)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
}

static int temporary(void)
{
	char name[] = "transfer-XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC);
	CHECK(fd >= 0);
	unlink(name);
	return fd;
}

/* Returns our end. */
static int connect_to(int *ret_theirs)
{
	int pair[2];
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	CHECK_EQ(fcntl(pair[1], F_SETFL, O_NONBLOCK), 0);
	*ret_theirs = pair[1];
	return pair[0];
}

static struct one save_of(int *ret_ours, int *ret_file)
{
	struct one o = { .plan = {
				 .save = true, .max = SIZE, .sync = true, .patience_ms = 60000 } };
	*ret_ours = connect_to(&o.plan.from);
	*ret_file = temporary();
	o.plan.to = dup(*ret_file);
	return o;
}

static off_t size_of(int fd)
{
	struct stat st;
	CHECK_EQ(fstat(fd, &st), 0);
	return st.st_size;
}

static void put(uv_work_t *work)
{
	static uint8_t bytes[SIZE];
	int fd = *(int *)work->data;
	memset(bytes, 'x', sizeof(bytes));
	(void)io_write_all(fd, bytes, sizeof(bytes));
	close(fd);
}

TEST(all_of_it_and_back)
{
	static uint8_t bytes[1000];
	int ours, file;
	uv_work_t work;
	make(2);
	struct one save = save_of(&ours, &file);
	work.data = &ours;
	uv_queue_work(uv_default_loop(), &work, put, NULL);
	begin(&save);
	loop_until(&save.done);
	CHECK_EQ(save.code, 0);
	CHECK_EQ(save.bytes, SIZE);
	CHECK_EQ(size_of(file), SIZE);
	CHECK_EQ(transfers_space(all), SIZE);
	struct one load = { .plan = { .from = file, .patience_ms = 60000 } };
	CHECK_EQ(ftruncate(file, sizeof(bytes)), 0);
	ours = connect_to(&load.plan.to);
	begin(&load);
	loop_until(&load.done);
	CHECK_EQ(load.code, 0);
	CHECK_EQ(recv(ours, bytes, sizeof(bytes), MSG_WAITALL), (ssize_t)sizeof(bytes));
	CHECK(bytes[0] == 'x' && bytes[999] == 'x');
	CHECK_EQ(recv(ours, bytes, 1, 0), 0);
	close(ours);
	transfers_free(all);
}

/* Too much of one, too much of all, no patience: nothing is counted afterwards. */
TEST(bounds)
{
	static const uint8_t bytes[100000];
	static const struct {
		uint64_t max, space;
		int code;
	} rows[] = { { 99999, 1 << 20, EFBIG },
		     { 1 << 20, 99999, EDQUOT },
		     { 1 << 20, 1 << 20, ETIMEDOUT } };
	make(1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int ours, file;
		struct one o = save_of(&ours, &file);
		o.plan.max = rows[i].max;
		o.plan.patience_ms = 10;
		transfers_set_space(all, rows[i].space);
		CHECK_EQ(io_write_all(ours, bytes, sizeof(bytes)), 0);
		begin(&o);
		loop_until(&o.done);
		CHECK_EQ(o.code, rows[i].code);
		CHECK_EQ(transfers_space(all), 0);
		CHECK(recv(ours, &file, sizeof(file), 0) <= 0); /* the other end is told */
		close(ours);
	}
	transfers_free(all);
}

TEST(a_reader_that_leaves)
{
	make(1);
	int file = temporary(), ours;
	CHECK_EQ(ftruncate(file, 64 << 20), 0);
	struct one o = { .plan = { .from = file, .patience_ms = 60000 } };
	ours = connect_to(&o.plan.to);
	close(ours);
	begin(&o);
	loop_until(&o.done);
	CHECK_EQ(o.code, EPIPE);
	transfers_free(all);
}

TEST(turns)
{
	int ours[3], file[3];
	struct one o[3];
	make(1);
	for (int i = 0; i < 3; i++) {
		o[i] = save_of(&ours[i], &file[i]);
		begin(&o[i]);
	}
	CHECK(o[0].turned && !o[1].turned && !o[2].turned);
	transfer_cancel(o[1].t); /* one that waits */
	close(ours[0]);
	loop_until(&o[0].done);
	CHECK(o[2].turned && !o[1].turned);
	close(ours[2]);
	loop_until(&o[2].done);
	CHECK_EQ(o[2].code, 0);
	/* One that has its turn and does not want it. */
	struct one held = { .hold = true };
	begin(&held);
	CHECK(held.turned);
	transfer_cancel(held.t);
	struct one last = { .hold = true };
	begin(&last);
	CHECK(last.turned);
	transfer_cancel(last.t);
	transfers_free(all);
}

/* The worker waits for bytes: it is woken, nobody is called, and all that it had is closed. */
TEST(one_that_runs_is_cancelled)
{
	char byte = 0;
	int ours, file;
	make(1);
	struct one o = save_of(&ours, &file), next = { .hold = true };
	CHECK_EQ(write(ours, &byte, 1), 1);
	begin(&o);
	begin(&next);
	transfer_cancel(o.t);
	loop_until(&next.turned);
	CHECK(!o.done);
	CHECK_EQ(transfers_space(all), 0);
	CHECK(recv(ours, &byte, 1, 0) <= 0);
	/* And with its transfers freed before it is over. */
	transfer_cancel(next.t);
	o = save_of(&ours, &file);
	begin(&o);
	transfer_cancel(o.t);
	transfers_free(all);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	CHECK(!o.done);
}

CHECK_MAIN()
