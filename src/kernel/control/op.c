#include "kernel/control/op.h"

#include <errno.h>

#include "kernel/control/control.h"
#include "kernel/control/op_kinds.h"
#include "kernel/core/arena.h"

struct op_state {
	struct list all, runnable, congested;
	struct op *exclusive; /* that is under way, NULL = none */
	bool urgent; /* one of `runnable` is, perhaps */
	uint32_t counts[OP_KIND_MAX];
};

/* How many there may be at a time, and what they do. */
static const struct op_row {
	uint32_t max;
	enum op_result (*step)(struct op *op);
	void (*release)(struct op *op); /* what the record owns */
	bool urgent;			/* op_run_urgent() */
	bool exclusive;
} kinds[OP_KIND_MAX] = {
	[OP_LIST] = { 64, list_step, list_release },
	[OP_REMOVE] = { 64, remove_step, remove_release },
	[OP_READ] = { 256, read_step, read_release },
	[OP_WRITE] = { 256, write_step, write_release },
	[OP_DIAL] = { 256, dial_step, dial_release },
	[OP_WATCH] = { 256, watch_step, watch_release, .urgent = true },
	[OP_PROCESSES] = { 16, processes_step, processes_release },
	[OP_LISTEN] = { 8, listen_step, listen_release },
	[OP_ACCEPT] = { 64, accept_step, accept_release },
	[OP_SAVE] = { 1, save_step, save_release, .exclusive = true },
	[OP_LOAD] = { 1, load_step, load_release, .exclusive = true },
};

static struct op_state *get(void)
{
	static struct op_state *state;

	if (state)
		return state;
	state = arena_root(ROOT_OPS, sizeof(*state));
	if (state && !state->all.next) {
		list_init(&state->all);
		list_init(&state->runnable);
		list_init(&state->congested);
	}
	return state;
}

static struct op *find(uint32_t request)
{
	struct op *op;

	list_for_each(op, &get()->all, link) {
		if (op->request == request)
			return op;
	}
	return NULL;
}

int op_new(enum op_kind kind, uint32_t request, size_t size, void *ret)
{
	struct op_state *s = get();

	if (!s)
		return -ENOMEM;
	if (!op_room(kind))
		return -EAGAIN;
	if (find(request))
		return -EEXIST;
	struct op *op = kmalloc(size);
	if (!op)
		return -ENOMEM;
	op->request = request;
	op->kind = (uint8_t)kind;
	list_init(&op->run_link);
	list_add_tail(&s->all, &op->link);
	s->counts[kind]++;
	*(struct op **)ret = op;
	return 0;
}

void op_start(struct op *op)
{
	if (kinds[op->kind].exclusive)
		get()->exclusive = op;
	op_wake(op);
}

void op_free(struct op *op)
{
	if (!op)
		return;
	struct op_state *s = get();
	kinds[op->kind].release(op);
	list_del(&op->link);
	list_del(&op->run_link);
	s->counts[op->kind]--;
	if (s->exclusive == op) {
		s->exclusive = NULL;
		control_read_on();
	}
	kfree(op);
}

void op_wake(struct op *op)
{
	list_del(&op->run_link);
	list_add_tail(&get()->runnable, &op->run_link);
}

struct op *op_find(enum op_kind kind, uint32_t request)
{
	struct op *op = get() ? find(request) : NULL;

	return op && op->kind == kind ? op : NULL;
}

bool op_room(enum op_kind kind)
{
	return get()->counts[kind] < kinds[kind].max;
}

void op_wake_all(enum op_kind kind)
{
	struct op *op;

	list_for_each(op, &get()->all, link) {
		if (op->kind == kind)
			op_wake(op);
	}
}

void op_wait_on(struct op *op, struct waiter *w, struct waitq *wq)
{
	w->kind = WAITER_OP;
	w->owner = op;
	waitq_add(wq, w);
}

bool op_waiter_wake(struct waiter *w, uint32_t events)
{
	struct op *op = w->owner;

	(void)events;
	if (list_linked(&op->run_link))
		return true;
	op_wake(op);
	get()->urgent |= kinds[op->kind].urgent;
	return true;
}

void op_cancel(uint32_t request)
{
	if (get())
		op_free(find(request));
}

void op_channel_drained(void)
{
	if (get())
		list_splice_tail(&get()->runnable, &get()->congested);
}

bool op_exclusive(void)
{
	return get() && get()->exclusive;
}

/* The next one to run, NULL = none. */
static struct op *next_op(void)
{
	struct op_state *s = get();

	if (!s || list_empty(&s->runnable))
		return NULL;
	if (s->exclusive)
		return list_linked(&s->exclusive->run_link) ? s->exclusive : NULL;
	return list_first(&s->runnable, struct op, run_link);
}

bool op_runnable(void)
{
	return next_op();
}

static void step(struct op *op)
{
	list_del(&op->run_link);
	switch (kinds[op->kind].step(op)) {
	case OP_AGAIN:
		op_wake(op);
		break;
	case OP_CONGESTED:
		list_del(&op->run_link);
		list_add_tail(&get()->congested, &op->run_link);
		break;
	case OP_END:
		op_free(op);
		break;
	case OP_WAIT:
		break;
	}
}

void op_run(void)
{
	struct op *op = next_op();

	if (op)
		step(op);
}

bool op_urgent(void)
{
	return get()->urgent;
}

void op_run_urgent(void)
{
	struct op_state *s = get();
	struct op *op, *next;

	if (!s || !s->urgent || s->exclusive)
		return;
	s->urgent = false;
	list_for_each_safe(op, next, &s->runnable, run_link) {
		if (kinds[op->kind].urgent)
			step(op);
	}
}
