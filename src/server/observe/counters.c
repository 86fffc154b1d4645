#include "server/observe/counters.h"

#include "base/util.h"

struct counters counters;

const uint64_t histogram_bounds[HISTOGRAM_BUCKETS] = {
	500 * NSEC_PER_USEC, 1 * NSEC_PER_MSEC,	  2 * NSEC_PER_MSEC,   3 * NSEC_PER_MSEC,
	5 * NSEC_PER_MSEC,   8 * NSEC_PER_MSEC,	  15 * NSEC_PER_MSEC,  30 * NSEC_PER_MSEC,
	60 * NSEC_PER_MSEC,  120 * NSEC_PER_MSEC, 250 * NSEC_PER_MSEC, 500 * NSEC_PER_MSEC,
	1 * NSEC_PER_SEC,    5 * NSEC_PER_SEC,
};

void histogram_add(struct histogram *h, uint64_t ns)
{
	unsigned int i = 0;
	while (i < HISTOGRAM_BUCKETS && ns > histogram_bounds[i])
		i++;
	h->counts[i]++;
	h->count++;
	h->sum_ns += ns;
}
