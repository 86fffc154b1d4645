#include "server/sandbox/deadlines.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock_boot.h"

struct deadlines {
	uv_poll_t poll;
	int timer_fd;
	void (*due)(void *ctx, struct deadline *d);
	void *ctx;
	struct deadline **heap; /* heap[1] is the earliest */
	size_t count, capacity;
	uint64_t armed_ns;
};

/* ---- the heap ---- */

static void place(struct deadlines *h, size_t at, struct deadline *d)
{
	h->heap[at] = d;
	d->position = at;
}

static void sift_up(struct deadlines *h, size_t at)
{
	struct deadline *d = h->heap[at];
	for (; at > 1 && h->heap[at / 2]->at_ns > d->at_ns; at /= 2)
		place(h, at, h->heap[at / 2]);
	place(h, at, d);
}

static void sift_down(struct deadlines *h, size_t at)
{
	struct deadline *d = h->heap[at];
	for (;;) {
		size_t child = at * 2;
		if (child > h->count)
			break;
		if (child < h->count && h->heap[child + 1]->at_ns < h->heap[child]->at_ns)
			child++;
		if (h->heap[child]->at_ns >= d->at_ns)
			break;
		place(h, at, h->heap[child]);
		at = child;
	}
	place(h, at, d);
}

static void take_out(struct deadlines *h, struct deadline *d)
{
	size_t at = d->position;
	struct deadline *last = h->heap[h->count--];
	d->position = 0;
	if (last == d)
		return;
	place(h, at, last);
	sift_up(h, at);
	sift_down(h, last->position);
}

static int make_room(struct deadlines *h)
{
	if (h->count + 1 < h->capacity)
		return 0;
	size_t more = h->capacity ? h->capacity * 2 : 64;
	struct deadline **heap = reallocarray(h->heap, more, sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	h->heap = heap;
	h->capacity = more;
	return 0;
}

/* ---- the timer ---- */

static void arm(struct deadlines *h)
{
	uint64_t at = h->count ? h->heap[1]->at_ns : 0;
	if (at == h->armed_ns)
		return;
	h->armed_ns = at;
	struct itimerspec spec = { .it_value = { .tv_sec = (time_t)(at / NSEC_PER_SEC),
						 .tv_nsec = (long)(at % NSEC_PER_SEC) } };
	/* Cannot fail with a valid descriptor and time; zero disarms. */
	(void)timerfd_settime(h->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

static void on_timer(uv_poll_t *poll, int status, int events)
{
	struct deadlines *h = poll->data;
	uint64_t expirations, now = clock_boot_ns();
	(void)!read(h->timer_fd, &expirations, sizeof(expirations));
	h->armed_ns = 0;
	while (h->count && h->heap[1]->at_ns <= now) {
		struct deadline *d = h->heap[1];
		take_out(h, d);
		h->due(h->ctx, d);
	}
	arm(h);
}

int deadline_set(struct deadlines *h, struct deadline *d, uint64_t at_ns)
{
	if (d->position) {
		d->at_ns = at_ns;
		sift_up(h, d->position);
		sift_down(h, d->position);
	} else {
		if (make_room(h) < 0)
			return -ENOMEM;
		d->at_ns = at_ns;
		place(h, ++h->count, d);
		sift_up(h, h->count);
	}
	arm(h);
	return 0;
}

void deadline_clear(struct deadlines *h, struct deadline *d)
{
	if (!d->position)
		return;
	take_out(h, d);
	arm(h);
}

/* ---- life ---- */

int deadlines_new(uv_loop_t *loop, void (*due)(void *ctx, struct deadline *d), void *ctx,
		  struct deadlines **ret, struct error *err)
{
	struct deadlines *h = calloc(1, sizeof(*h));
	if (!h)
		return error_set(err, ENOMEM, "timer");
	h->due = due;
	h->ctx = ctx;
	h->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (h->timer_fd < 0 || uv_poll_init(loop, &h->poll, h->timer_fd) < 0) {
		int r = error_set(err, errno, "timer");
		if (h->timer_fd >= 0)
			close(h->timer_fd);
		free(h);
		return r;
	}
	h->poll.data = h;
	uv_poll_start(&h->poll, UV_READABLE, on_timer);
	*ret = h;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	struct deadlines *h = handle->data;
	close(h->timer_fd);
	free(h->heap);
	free(h);
}

void deadlines_free(struct deadlines *h)
{
	if (h)
		uv_close((uv_handle_t *)&h->poll, on_closed);
}
