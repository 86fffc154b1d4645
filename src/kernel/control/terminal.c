#include "kernel/control/terminal.h"

#include <string.h>

#include "base/util.h"
#include "kernel/control/control.h"
#include "kernel/core/arena.h"
#include "kernel/core/wait.h"
#include "wire/wire.h"

#define WINDOW (256u << 10)
/* Typed ahead while the line discipline is full; a paste beyond it is cut. */
#define INPUT_MAX (1u << 20)

struct terminal {
	uint32_t request;
	struct tty *tty;
	struct waiter waiter;
	uint32_t unacknowledged;
	char *input; /* not yet taken by the line discipline */
	uint32_t input_size;
	bool pumping; /* giving input away wakes the queue we wait on */
};

static void pump_output(struct terminal *t, bool all)
{
	char bytes[4096];
	size_t n;

	while (all || t->unacknowledged < WINDOW) {
		n = tty_control_output(t->tty, bytes, sizeof(bytes));
		if (!n)
			return;
		t->unacknowledged += (uint32_t)n;
		control_send(WIRE_OUTPUT, t->request, bytes, (uint32_t)n);
	}
}

static void pump_input(struct terminal *t)
{
	size_t taken = 0;

	if (t->pumping)
		return;
	t->pumping = true;
	while (taken < t->input_size) {
		size_t n = tty_control_input(t->tty, t->input + taken, t->input_size - taken);
		if (!n)
			break;
		taken += n;
	}
	t->pumping = false;
	t->input_size -= (uint32_t)taken;
	memmove(t->input, t->input + taken, t->input_size);
	if (!t->input_size) {
		kfree(t->input);
		t->input = NULL;
	}
}

bool control_waiter_wake(struct waiter *w, uint32_t events)
{
	struct terminal *t = w->owner;

	(void)events;
	if (t->input)
		pump_input(t);
	pump_output(t, false);
	return true;
}

struct terminal *terminal_new(uint32_t request, uint16_t rows, uint16_t cols)
{
	struct terminal *t = knew(struct terminal);

	if (!t)
		return NULL;
	t->request = request;
	t->tty = tty_new_controlled(rows, cols);
	if (!t->tty) {
		kfree(t);
		return NULL;
	}
	t->waiter.owner = t;
	t->waiter.kind = WAITER_CONTROL;
	waitq_add(tty_control_waitq(t->tty), &t->waiter);
	return t;
}

void terminal_free(struct terminal *t)
{
	if (!t)
		return;
	waiter_del(&t->waiter);
	tty_control_hangup(t->tty);
	kfree(t->input);
	kfree(t);
}

struct tty *terminal_tty(struct terminal *t)
{
	return t->tty;
}

void terminal_input(struct terminal *t, const void *bytes, uint32_t size)
{
	size = MIN(size, INPUT_MAX - t->input_size);
	char *grown = krealloc(t->input, t->input_size, t->input_size + size);
	if (!grown || !size)
		return;
	memcpy(grown + t->input_size, bytes, size);
	t->input = grown;
	t->input_size += size;
	pump_input(t);
	pump_output(t, false);
}

void terminal_ack(struct terminal *t, uint32_t bytes)
{
	t->unacknowledged -= MIN(bytes, t->unacknowledged);
	pump_output(t, false);
}

void terminal_drain(struct terminal *t)
{
	pump_output(t, true);
}
