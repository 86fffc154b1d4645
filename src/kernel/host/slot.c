/*
 * Theory of operation
 *
 * A fixed table outside the arena, so that a restored arena simply finds nothing open.
 *
 *   host_ref.slot ---> slots[slot - 1] { fd[READ], fd[WRITE], owner ---> host_ref }
 *                        |  linked by index, most recently used first
 *
 * A slot belongs to a reference only if its `owner` points back: stale numbers of a restored arena
 * are harmless. Slots of what cannot be opened again are on no list and are never evicted.
 *
 * Bounds: SLOT_MAX slots, and open descriptors below the limit that was set at start. Past that the
 * least recently used is closed.
 *
 * host-syscalls: close
 */
#include "kernel/host/slot.h"

#include <errno.h>
#include <unistd.h>

#include "base/util.h"

#define SLOT_MAX 4096u

static struct slot slots[SLOT_MAX];
static uint32_t lru_head, lru_tail; /* index + 1 */
static uint32_t free_head;	    /* index + 1, linked by next */
static uint32_t never_used;	    /* slots from here on were never taken */
static uint32_t open_count, open_limit;
static uint32_t pinned_count; /* slots that are never evicted */

static void lru_unlink(struct slot *s)
{
	if (!s->on_lru)
		return;
	if (s->prev)
		slots[s->prev - 1].next = s->next;
	else
		lru_head = s->next;
	if (s->next)
		slots[s->next - 1].prev = s->prev;
	else
		lru_tail = s->prev;
	s->next = s->prev = 0;
	s->on_lru = false;
}

uint32_t slot_number(const struct slot *s)
{
	return (uint32_t)(s - slots) + 1;
}

static void lru_push(struct slot *s)
{
	uint32_t number = slot_number(s);

	s->prev = 0;
	s->next = lru_head;
	if (lru_head)
		slots[lru_head - 1].prev = number;
	else
		lru_tail = number;
	lru_head = number;
	s->on_lru = true;
}

static void slot_close_fd(struct slot *s, int which)
{
	if (s->fd[which] < 0)
		return;
	close(s->fd[which]);
	s->fd[which] = -EBADF;
	open_count--;
}

void slot_free(struct slot *s)
{
	lru_unlink(s);
	slot_close_fd(s, FD_READ);
	slot_close_fd(s, FD_WRITE);
	if (s->owner)
		s->owner->slot = 0;
	s->owner = NULL;
	s->used = false;
	pinned_count -= s->pinned;
	s->next = free_head;
	free_head = slot_number(s);
}

bool slots_evict_one(void)
{
	if (!lru_tail)
		return false;
	slot_free(&slots[lru_tail - 1]);
	return true;
}

void slots_limit(uint64_t descriptors)
{
	open_limit = (uint32_t)MIN(descriptors, SLOT_MAX * 2ull);
}

void slots_make_room(void)
{
	while (open_count >= open_limit && slots_evict_one())
		;
}

void slot_hold(struct slot *s)
{
	lru_unlink(s);
}

void slot_release(struct slot *s)
{
	if (!s->pinned)
		lru_push(s);
}

void slot_touch(struct slot *s)
{
	if (!s->on_lru || lru_head == slot_number(s))
		return;
	lru_unlink(s);
	lru_push(s);
}

void slot_set_fd(struct slot *s, int which, int fd)
{
	s->fd[which] = fd;
	open_count++;
}

struct slot *slot_new(struct host_ref *owner, bool pinned)
{
	struct slot *s;

	/* A part of the table stays for what can be closed and opened again, or nothing would work. */
	if (pinned && pinned_count >= MIN(open_limit, SLOT_MAX) / 4 * 3)
		return NULL;
	if (!free_head && never_used == SLOT_MAX && !slots_evict_one())
		return NULL;
	if (free_head) {
		s = &slots[free_head - 1];
		free_head = s->next;
	} else {
		s = &slots[never_used++];
	}
	*s = (struct slot){ .fd = { -EBADF, -EBADF }, .owner = owner, .used = true, .pinned = pinned };
	pinned_count += pinned;
	return s;
}

struct slot *slot_of(struct host_ref *ref)
{
	if (ref->slot == 0 || ref->slot > SLOT_MAX)
		return NULL;
	struct slot *s = &slots[ref->slot - 1];
	if (!s->used)
		return NULL;
	/* A passed descriptor's reference may have been copied: its slot has no owner. */
	if (ref->kind == HOST_REF_PASSED)
		return s->owner ? NULL : s;
	return s->owner == ref ? s : NULL;
}
