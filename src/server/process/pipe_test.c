/* The writer: what the pipe takes goes at once, the rest in order; a reader that leaves is told. */
#include "check.h"

#include <fcntl.h>
#include <uv.h>

#include "server/process/pipe.h"

#define PIPE_BYTES 65536
#define DATA_BYTES (3 * PIPE_BYTES + 1000)

static uint8_t data[DATA_BYTES], got[DATA_BYTES];
static int ends[2], calls, last_error;

static struct pipe_writer *open_writer(void)
{
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 31 + i / 256);
	signal(SIGPIPE, SIG_IGN);
	CHECK_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	CHECK_EQ(fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES), PIPE_BYTES);
	struct pipe_writer *w = pipe_writer_new(uv_default_loop(), ends[1]);
	CHECK(w);
	return w;
}

static void written(void *ctx, int error)
{
	(void)ctx;
	calls++;
	last_error = error;
}

/* Reads to the end of the pipe, while the loop goes on. */
static size_t read_all(void)
{
	size_t size = 0;
	ssize_t n;
	while ((n = read(ends[0], got + size, sizeof(got) - size)) != 0) {
		size += n > 0 ? (size_t)n : 0;
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
	}
	return size;
}

TEST(a_full_pipe_takes_a_part_and_the_rest_follows_in_order)
{
	struct pipe_writer *w = open_writer();
	size_t n = pipe_writer_try(w, data, DATA_BYTES - 1000);
	CHECK_EQ(n, PIPE_BYTES);
	CHECK_EQ(pipe_writer_put(w, data + n, DATA_BYTES - 1000 - n, written, NULL), 0);
	CHECK_EQ(pipe_writer_queued(w), DATA_BYTES - 1000 - n);
	CHECK_EQ(pipe_writer_try(w, data, 1), 0); /* not past what waits */
	CHECK_EQ(pipe_writer_put(w, data + DATA_BYTES - 1000, 1000, written, NULL), 0);
	CHECK_EQ(calls, 0);
	pipe_writer_close(w);
	CHECK_EQ(read_all(), DATA_BYTES);
	CHECK_EQ(memcmp(got, data, sizeof(data)), 0);
	CHECK_EQ(calls, 2);
	CHECK_EQ(last_error, 0);
	pipe_writer_free(w);
}

TEST(a_put_that_fits_is_told_at_once)
{
	struct pipe_writer *w = open_writer();
	CHECK_EQ(pipe_writer_put(w, data, 100, written, NULL), 0);
	CHECK_EQ(calls, 1);
	CHECK_EQ(pipe_writer_queued(w), 0);
	pipe_writer_free(w);
}

TEST(a_reader_that_left_is_told_once)
{
	struct pipe_writer *w = open_writer();
	close(ends[0]);
	CHECK_EQ(pipe_writer_put(w, data, 100, written, NULL), 0);
	CHECK_EQ(calls, 1);
	CHECK_EQ(last_error, -EPIPE);
	CHECK_EQ(pipe_writer_try(w, data, 100), 0);
	CHECK_EQ(pipe_writer_put(w, data, 100, written, NULL), -EPIPE);
	CHECK_EQ(calls, 1);
	pipe_writer_free(w);
}
CHECK_MAIN()
