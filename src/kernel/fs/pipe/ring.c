/*
 * The buffer of a pipe: a ring of slots, each at most one page of data.
 *
 *            head                       head + used
 *   slots:    | page: offset,length | page | page |  (staged)  |  free  |
 *
 * The slots and not the bytes are counted, as Linux does: a pipe is writable when a slot is free,
 * hence a write of PIPE_BUF bytes never has to be split; packets (O_DIRECT) are slots that are
 * never merged. A short write goes behind the data of the last page when it fits there as a whole.
 *
 * Writing has two steps because an answer can get lost (core/call.h): stage puts the bytes where
 * nobody sees them, commit counts them in. A stage without a commit is simply written over.
 * Reading is copy, then remove.
 *
 * Pages come when data comes and go when it is read, but for one spare page, so a pipe that was
 * never used costs only its struct. Each page is charged to LIMIT_BUFFER_BYTES.
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/limits.h"
#include "kernel/fs/pipe/pipe_internal.h"

#define PIECES_MAX 64u /* pages of one transfer */

static uint8_t *page_new(struct pipe *p)
{
	uint8_t *page = p->spare;

	if (page) {
		p->spare = NULL;
		return page;
	}
	if (!limit_charge(LIMIT_BUFFER_BYTES, PIPE_PAGE))
		return NULL;
	page = arena_pages(1);
	if (!page)
		limit_release(LIMIT_BUFFER_BYTES, PIPE_PAGE);
	return page;
}

static void page_free(uint8_t *page)
{
	if (!page)
		return;
	arena_pages_free(page, 1);
	limit_release(LIMIT_BUFFER_BYTES, PIPE_PAGE);
}

static void slot_drop(struct pipe *p, struct pipe_slot *slot)
{
	if (!p->spare)
		p->spare = slot->page;
	else
		page_free(slot->page);
	*slot = (struct pipe_slot){ 0 };
}

void pipe_ring_init(struct pipe *p)
{
	p->slots = p->first;
	p->slot_count = PIPE_SLOTS_DEFAULT;
}

void pipe_ring_clear(struct pipe *p)
{
	for (uint32_t i = 0; i < p->slot_count; i++) {
		page_free(p->slots[i].page);
		p->slots[i] = (struct pipe_slot){ 0 };
	}
	page_free(p->spare);
	p->spare = NULL;
	p->head = p->used = 0;
	p->staged_slots = p->staged_merge = 0;
}

void pipe_ring_fini(struct pipe *p)
{
	pipe_ring_clear(p);
	if (p->slots != p->first)
		kfree(p->slots);
	p->slots = NULL;
}

int pipe_ring_resize(struct pipe *p, uint32_t slot_count)
{
	struct pipe_slot *slots;

	if (slot_count == p->slot_count)
		return 0;
	if (p->used > slot_count)
		return -EBUSY;
	slots = knew_array(struct pipe_slot, slot_count);
	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->slot_count; i++) {
		if (i < p->used)
			slots[i] = *pipe_slot_at(p, i);
		else
			page_free(pipe_slot_at(p, i)->page);
	}
	if (p->slots != p->first)
		kfree(p->slots);
	p->slots = slots;
	p->slot_count = slot_count;
	p->head = 0;
	p->staged_slots = p->staged_merge = 0;
	return 0;
}

size_t pipe_ring_size(const struct pipe *p)
{
	size_t size = 0;

	for (uint32_t i = 0; i < p->used; i++)
		size += pipe_slot_at(p, i)->length;
	return size;
}

/* Copies from slot *slot on, as much as one transfer can; *ret_want is what was tried. */
static ssize_t copy_slots(struct pipe *p, struct uio *u, uint32_t *slot, size_t *ret_want)
{
	struct iovec pieces[PIECES_MAX];
	size_t want = 0;
	unsigned count = 0;

	while (*slot < p->used && want < u->resid && count < PIECES_MAX) {
		const struct pipe_slot *s = pipe_slot_at(p, *slot);
		size_t part = MIN((size_t)s->length, u->resid - want);

		pieces[count++] = (struct iovec){ s->page + s->offset, part };
		want += part;
		/* A packet is the end, whatever follows it. */
		*slot = s->packet ? p->used : *slot + 1;
	}
	*ret_want = want;
	return count ? uio_put_pieces(u, pieces, count) : 0;
}

ssize_t pipe_ring_copy(struct pipe *p, struct uio *u)
{
	uint32_t slot = 0;
	ssize_t total = 0;

	while (slot < p->used && u->resid) {
		size_t want;
		ssize_t got = copy_slots(p, u, &slot, &want);

		if (got < 0)
			return total ? total : got;
		total += got;
		if ((size_t)got < want)
			break;
	}
	return total;
}

bool pipe_ring_remove(struct pipe *p, size_t size)
{
	bool was_full = pipe_full(p);

	while (size && p->used) {
		struct pipe_slot *slot = pipe_slot_at(p, 0);
		size_t take = MIN((size_t)slot->length, size);

		size -= take;
		if (take < slot->length && !slot->packet) {
			slot->offset = (uint16_t)(slot->offset + take);
			slot->length = (uint16_t)(slot->length - take);
			break;
		}
		slot_drop(p, slot);
		p->head = (p->head + 1) & (p->slot_count - 1);
		p->used--;
	}
	/* A staged write would sit at another place now; there is none between the two steps. */
	p->staged_slots = p->staged_merge = 0;
	return was_full && !pipe_full(p);
}

/* Behind the data of the last slot, if the odd part of the write fits there as a whole. */
static ssize_t stage_merge(struct pipe *p, struct uio *u)
{
	size_t odd = u->resid & (PIPE_PAGE - 1);
	struct pipe_slot *last;
	ssize_t got;

	if (!odd || !p->used)
		return 0;
	last = pipe_slot_at(p, p->used - 1);
	if (last->packet || last->offset + last->length + odd > PIPE_PAGE)
		return 0;
	got = uio_get(u, last->page + last->offset + last->length, odd);
	if (got > 0)
		p->staged_merge = (uint32_t)got;
	return got;
}

/* Fills free slots, as many as one transfer can; *ret_want is what was tried. */
static ssize_t stage_slots(struct pipe *p, struct uio *u, bool packet, ssize_t *ret_want)
{
	struct iovec pieces[PIECES_MAX];
	unsigned count = 0;
	size_t want = 0;
	uint32_t first = p->used + p->staged_slots;
	ssize_t got, left;

	while (want < u->resid && count < PIECES_MAX && first + count < p->slot_count) {
		struct pipe_slot *slot = pipe_slot_at(p, first + count);
		size_t part = MIN((size_t)PIPE_PAGE, u->resid - want);

		if (!slot->page)
			slot->page = page_new(p);
		if (!slot->page)
			break;
		pieces[count++] = (struct iovec){ slot->page, part };
		want += part;
	}
	if (!count)
		return -ENOMEM;
	*ret_want = (ssize_t)want;
	got = uio_get_pieces(u, pieces, count);
	for (left = got; left > 0; left -= PIPE_PAGE) {
		struct pipe_slot *slot = pipe_slot_at(p, p->used + p->staged_slots++);

		slot->offset = 0;
		slot->length = (uint16_t)MIN(left, (ssize_t)PIPE_PAGE);
		slot->packet = packet;
	}
	return got;
}

ssize_t pipe_ring_stage(struct pipe *p, struct uio *u, bool packet)
{
	ssize_t total = 0;
	size_t odd = u->resid & (PIPE_PAGE - 1);

	p->staged_slots = p->staged_merge = 0;
	if (!packet) {
		total = stage_merge(p, u);
		if (total < 0 || (total && (size_t)total < odd))
			return total;
	}
	while (u->resid && p->used + p->staged_slots < p->slot_count) {
		ssize_t want = 0, got = stage_slots(p, u, packet, &want);

		if (got <= 0)
			return total ? total : got;
		total += got;
		if (got < want)
			break;
	}
	return total ? total : -EAGAIN;
}

void pipe_ring_commit(struct pipe *p, size_t size)
{
	size_t merge = MIN((size_t)p->staged_merge, size);
	uint32_t slots = p->staged_slots;

	p->staged_slots = p->staged_merge = 0;
	if (merge) {
		struct pipe_slot *last = pipe_slot_at(p, p->used - 1);

		last->length = (uint16_t)(last->length + merge);
		size -= merge;
	}
	while (slots-- && size) {
		struct pipe_slot *slot = pipe_slot_at(p, p->used);

		slot->length = (uint16_t)MIN((size_t)slot->length, size);
		size -= slot->length;
		p->used++;
	}
}
