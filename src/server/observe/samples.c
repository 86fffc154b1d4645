/*
 * Samples: each second a fifth of the sandboxes is asked, so that each has one every 5 s and no tick
 * asks all. The kernel process knows CPU time and files; memory is the control group's where there is
 * one, because it counts what the host really spends.
 */
#include "server/observe/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/util.h"
#include "server/observe/observe_internal.h"
#include "server/runtime/launcher.h"
#include "server/runtime/runtime.h"
#include "server/sandbox/sandbox.h"
#include "server/server.h"
#include "server/store/store.h"

#define SAMPLES_MAX   720u /* an hour */
#define SAMPLES_FIRST 24u

struct metrics_ring {
	struct sample *samples;
	unsigned int capacity, count, next;
	uint64_t cpu_ns, measured_ns; /* of the last one */
	bool asking;
	struct sample pending;
	uint64_t pending_cpu_ns;
};

static struct metrics_ring *get_ring(struct sandbox *s)
{
	if (!s->metrics)
		s->metrics = calloc(1, sizeof(*s->metrics));
	return s->metrics;
}

/* Grows to its size in steps: most sandboxes do not live an hour. */
static bool make_room(struct metrics_ring *m)
{
	if (m->count < m->capacity || m->capacity == SAMPLES_MAX)
		return true;
	unsigned int more = MIN(m->capacity ? m->capacity * 2 : SAMPLES_FIRST, SAMPLES_MAX);
	struct sample *samples = reallocarray(m->samples, more, sizeof(*samples));
	if (!samples)
		return m->capacity > 0;
	m->samples = samples; /* it was full only up to here: next == count */
	m->capacity = more;
	m->next = m->count;
	return true;
}

static void add(struct metrics_ring *m)
{
	uint64_t now = clock_now_ns();
	uint64_t spent = m->pending_cpu_ns > m->cpu_ns ? m->pending_cpu_ns - m->cpu_ns : 0;
	if (m->measured_ns && now > m->measured_ns)
		m->pending.cpu_used_percent =
			(float)((double)spent * 100 / (double)(now - m->measured_ns));
	m->cpu_ns = m->pending_cpu_ns;
	m->measured_ns = now;
	if (!make_room(m))
		return;
	m->samples[m->next] = m->pending;
	m->next = (m->next + 1) % m->capacity;
	m->count = MIN(m->count + 1, m->capacity);
}

static void on_usage(void *ctx, const struct launcher_usage *usage, const struct error *err)
{
	struct metrics_ring *m = ((struct sandbox *)ctx)->metrics;
	m->asking = false;
	if (!err && usage->has_memory)
		m->pending.memory_used = usage->memory_bytes;
	add(m);
}

static void on_stats(void *ctx, const struct runtime_answer *a)
{
	struct sandbox *s = ctx;
	struct metrics_ring *m = s->metrics;
	struct wire_stats stats;
	if (a->error || !wire_get_stats(a->body, &stats)) {
		m->asking = false;
		return;
	}
	m->pending = (struct sample){ .at_us = store_now_us(),
				      .cpu_count = s->record.cpu_count,
				      .memory_used = stats.memory_bytes,
				      .memory_total = MIB(s->record.memory_mb),
				      .disk_used = stats.disk_bytes,
				      .disk_total = MIB(s->record.disk_mb) };
	m->pending_cpu_ns = stats.cpu_user_ns + stats.cpu_system_ns + stats.kernel_cpu_ns;
	launcher_usage(s->server->launcher, sandbox_launch_id(s), on_usage, s);
}

void samples_take(struct sandbox *s)
{
	struct metrics_ring *m = get_ring(s);
	if (!m || m->asking || s->record.state != SANDBOX_RUNNING)
		return;
	m->asking = true;
	(void)runtime_call(s->runtime, WIRE_STATS, NULL, -1, on_stats, s);
}

void samples_end(struct sandbox *s)
{
	if (s->metrics)
		free(s->metrics->samples);
	free(s->metrics);
	s->metrics = NULL;
}

void samples_each(const struct sandbox *s, int64_t from_us, int64_t to_us,
		  void (*fn)(void *ctx, const struct sample *x), void *ctx)
{
	const struct metrics_ring *m = s->metrics;
	for (unsigned int i = 0; m && i < m->count; i++) {
		unsigned int at = (m->next + m->capacity - m->count + i) % m->capacity;
		if (m->samples[at].at_us >= from_us && m->samples[at].at_us <= to_us)
			fn(ctx, &m->samples[at]);
	}
}

int samples_last(const struct sandbox *s, struct sample *ret)
{
	const struct metrics_ring *m = s->metrics;
	if (!m || m->count == 0)
		return -ENOENT;
	*ret = m->samples[(m->next + m->capacity - 1) % m->capacity];
	return 0;
}
