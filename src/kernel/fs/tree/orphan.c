/*
 * Theory of operation
 *
 * Guests unmap natively: nothing tells us when the last mapping of a deleted file goes, and until
 * then the host keeps its blocks. In memory the size of the tmpfs bounds that. A directory on a
 * host's disk (--store) has no bound but ours, so a deleted file that was handed to a guest for mmap
 * keeps its name in the store and its charge as long as somebody has it. Whether somebody has it the
 * host says: it grants a write lease only on a file that nobody else has open or mapped.
 *
 * Nearly always nobody has, and the file goes at once. The others are in a list which is looked
 * through when a charge does not fit and when somebody asks for free space. A few are looked at each
 * time: what is free must not be refused because a busy host was slow a moment ago. Many, once that
 * takes long, never so often that it takes more than a twentieth of the time.
 */
#include "kernel/fs/tree/orphan.h"

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/core/limits.h"
#include "kernel/host/host_ref.h"

#define FEW 16u
#define COST_FACTOR 20
#define CHEAP_NS NSEC_PER_MSEC

struct orphan {
	struct orphan *next;
	struct host_ref ref;
	uint64_t charged;
};

struct orphans {
	struct orphan *first;
	uint64_t count;
	uint64_t next_look; /* when they are many */
};

static struct orphans *orphans(void)
{
	return arena_root(ROOT_ORPHANS, sizeof(struct orphans));
}

static void drop_now(struct host_ref *ref, uint64_t charged)
{
	host_ref_drop(ref);
	limit_release(LIMIT_DISK_BYTES, charged);
}

void orphan_drop(struct host_ref *ref, uint64_t charged)
{
	struct orphans *all = orphans();

	if (charged == 0 || !all || !host_store_lent(ref)) {
		drop_now(ref, charged);
		return;
	}
	struct orphan *o = knew(struct orphan);
	/* Without memory for it the file is uncounted: better than a failing close. */
	if (!o) {
		drop_now(ref, charged);
		return;
	}
	host_ref_move(&o->ref, ref);
	o->charged = charged;
	o->next = all->first;
	all->first = o;
	all->count++;
}

void orphan_reap(void)
{
	struct orphans *all = orphans();
	uint64_t begun = clock_boot();

	if (!all || !all->first || (all->count > FEW && begun < all->next_look))
		return;
	for (struct orphan **at = &all->first; *at;) {
		struct orphan *o = *at;
		if (host_store_lent(&o->ref)) {
			at = &o->next;
			continue;
		}
		*at = o->next;
		all->count--;
		drop_now(&o->ref, o->charged);
		kfree(o);
	}
	uint64_t end = clock_boot();
	all->next_look = end - begun < CHEAP_NS ? 0 : end + (end - begun) * COST_FACTOR;
}

bool orphan_disk_charge(uint64_t bytes)
{
	if (limit_used(LIMIT_DISK_BYTES) + bytes > limit_value(LIMIT_DISK_BYTES))
		orphan_reap();
	return limit_charge(LIMIT_DISK_BYTES, bytes);
}
