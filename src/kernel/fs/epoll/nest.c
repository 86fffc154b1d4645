/*
 * Instances that watch instances: no loops, and no chain longer than Linux allows.
 *
 * The graph is kept legal at every EPOLL_CTL_ADD, so it is a forest of bounded depth before the
 * check; the walks recurse at most EPOLL_MAX_NESTS + 1 deep and see each instance once per round.
 */
#include <errno.h>

#include "base/util.h"
#include "kernel/fs/epoll/epoll_internal.h"

#define DEPTH_ILLEGAL 100

/* Instances below `ep` in the longest chain; DEPTH_ILLEGAL if `avoid` is among them. */
static int depth_below(struct epoll *ep, const struct epoll *avoid, int level)
{
	uint64_t round = epoll_root()->round;
	struct epoll_item *item;
	int depth = 0;

	if (ep == avoid || level > EPOLL_MAX_NESTS)
		return DEPTH_ILLEGAL;
	if (ep->walk_round == round)
		return ep->walk_depth;
	list_for_each(item, &ep->nested, nest_link) {
		int below = depth_below(epoll_of(item->file), avoid, level + 1) + 1;

		depth = MAX(depth, below);
		if (depth >= DEPTH_ILLEGAL)
			break;
	}
	ep->walk_round = round;
	ep->walk_depth = depth;
	return depth;
}

/* Instances above `ep` in the longest chain. */
static int depth_above(struct epoll *ep, int level)
{
	uint64_t round = epoll_root()->round;
	struct epoll_item *first = ep->file->epoll_items, *item = first;
	int depth = 0;

	if (level > EPOLL_MAX_NESTS)
		return DEPTH_ILLEGAL;
	if (ep->walk_round == round)
		return ep->walk_depth;
	while (item) {
		depth = MAX(depth, depth_above(item->ep, level + 1) + 1);
		item = list_entry(item->file_link.next, struct epoll_item, file_link);
		if (item == first || depth >= DEPTH_ILLEGAL)
			break;
	}
	ep->walk_round = round;
	ep->walk_depth = depth;
	return depth;
}

int epoll_nest_check(struct epoll *ep, struct epoll *target)
{
	int below, above;

	epoll_root()->round++;
	below = depth_below(target, ep, 0);
	epoll_root()->round++;
	above = depth_above(ep, 0);
	return above + 1 + below > EPOLL_MAX_NESTS ? -ELOOP : 0;
}
