/*
 * Counters of the sandbox-wide limits.
 *
 * A limit is a number and what is used of it; the owner of an object charges when it makes the
 * object and releases when the object goes. A charge that does not fit changes nothing and the
 * caller answers with the errno Linux would give. Lowering a limit below what is used is allowed:
 * nothing is taken away, new charges fail. The control side sets the values at start; the
 * defaults here are what a sandbox gets without options.
 */
#include "kernel/core/limits.h"

#include <errno.h>

#include "base/util.h"
#include "kernel/core/arena.h"

struct limits {
	bool ready;
	struct {
		uint64_t value, used, peak, refused;
	} rows[LIMIT_MAX];
};

static const uint64_t defaults[LIMIT_MAX] = {
	[LIMIT_MEMORY] = GIB(1),
	[LIMIT_PIDS] = 1024,
	[LIMIT_DISK_BYTES] = GIB(4),
	[LIMIT_DISK_INODES] = 500000,
	[LIMIT_FILES] = 65536,
	[LIMIT_BUFFER_BYTES] = MIB(64),
	[LIMIT_CPU_MILLI] = LIMIT_NONE,
	[LIMIT_LIFETIME_MS] = LIMIT_NONE,
	[LIMIT_ARENA_BYTES] = GIB(1),
};

static struct limits *limits;

int limits_init(void)
{
	limits = arena_root(ROOT_LIMITS, sizeof(*limits));
	if (!limits)
		return -ENOMEM;
	if (limits->ready)
		return 0;
	for (unsigned i = 0; i < LIMIT_MAX; i++)
		limits->rows[i].value = defaults[i];
	limits->ready = true;
	return 0;
}

bool limit_charge(enum limit l, uint64_t amount)
{
	uint64_t total;

	if (__builtin_add_overflow(limits->rows[l].used, amount, &total) ||
	    total > limits->rows[l].value) {
		limits->rows[l].refused++;
		return false;
	}
	limits->rows[l].used = total;
	if (total > limits->rows[l].peak)
		limits->rows[l].peak = total;
	return true;
}

void limit_release(enum limit l, uint64_t amount)
{
	/* Saturates: one release too many is our bug, not a reason to end the sandbox. */
	limits->rows[l].used -= MIN(amount, limits->rows[l].used);
}

uint64_t limit_used(enum limit l)
{
	return limits->rows[l].used;
}

uint64_t limit_peak(enum limit l)
{
	return limits->rows[l].peak;
}

uint64_t limit_refused(enum limit l)
{
	return limits->rows[l].refused;
}

uint64_t limit_value(enum limit l)
{
	return limits->rows[l].value;
}

void limit_set(enum limit l, uint64_t value)
{
	limits->rows[l].value = value;
}

void limit_set_used(enum limit l, uint64_t used)
{
	limits->rows[l].used = used;
	if (used > limits->rows[l].peak)
		limits->rows[l].peak = used;
}
