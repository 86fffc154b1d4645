/*
 * Fuzz target of the bodies of the control channel: the first byte says which decoder gets the rest.
 * What is accepted must be encoded to the same bytes again. The unit test runs it on garbled bodies;
 * with clang: -fsanitize=fuzzer,address and the files beside it.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t again[1 << 16];

static void check_same(const struct wire_in *in, const struct wire_out *o)
{
	if (o->failed)
		return; /* longer than our buffer */
	assert(o->length == in->offset && !memcmp(again, in->data, in->offset));
}

static void fuzz_config(struct wire_in *in, struct wire_out *o)
{
	static struct wire_config c;
	if (wire_get_config(in, &c))
		wire_put_config(o, &c); /* bits of a mount that mean nothing are not kept */
}

static void fuzz_spawn(struct wire_in *in, struct wire_out *o)
{
	struct wire_spawn s;
	if (!wire_get_spawn(in, &s))
		return;
	wire_put_spawn(o, &s);
	check_same(in, o);
}

static void fuzz_entry(struct wire_in *in, struct wire_out *o)
{
	static struct wire_entry e;
	if (!wire_get_entry(in, &e))
		return;
	wire_put_entry(o, &e);
	check_same(in, o);
}

static void fuzz_event(struct wire_in *in, struct wire_out *o)
{
	static struct wire_fs_event e;
	if (!wire_get_fs_event(in, &e))
		return;
	wire_put_fs_event(o, &e);
	check_same(in, o);
}

static void fuzz_process(struct wire_in *in, struct wire_out *o)
{
	struct wire_process p;
	if (!wire_get_process(in, &p))
		return;
	wire_put_process(o, &p);
	check_same(in, o);
}

static void fuzz_error(struct wire_in *in, struct wire_out *o)
{
	const char *message;
	uint32_t about;
	int error;
	if (!wire_get_error(in, &error, &about, &message))
		return;
	wire_put_error(o, error, about, message);
	check_same(in, o);
}

static void fuzz_stats(struct wire_in *in, struct wire_out *o)
{
	struct wire_stats s;
	if (wire_get_stats(in, &s))
		wire_put_stats(o, &s);
}

/* DIAL, LISTEN, ACCEPT, OUTPUT_ACK. */
static void fuzz_number(struct wire_in *in, struct wire_out *o)
{
	uint32_t number = wire_get_u32(in);
	if (!wire_in_end(in))
		return;
	wire_put_u32(o, number);
	check_same(in, o);
}

static void fuzz_fs(uint32_t type, struct wire_in *in, struct wire_out *o)
{
	static struct wire_fs f;
	if (!wire_get_fs(in, type, &f))
		return;
	wire_put_fs(o, type, &f);
	check_same(in, o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const bodies[])(struct wire_in *, struct wire_out *) = {
		fuzz_config, fuzz_spawn, fuzz_entry, fuzz_event, fuzz_process, fuzz_error, fuzz_stats,
		fuzz_number
	};
	const size_t count = sizeof(bodies) / sizeof(bodies[0]);
	if (size < 1 || size > WIRE_BODY_MAX)
		return 0;
	/* A copy of the exact size: reading beyond it is seen. */
	uint8_t *copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	struct wire_in in = { copy, (uint32_t)size - 1, 0, false };
	struct wire_out o = { again, 0, sizeof(again), false };
	if (data[0] % 16 < count)
		bodies[data[0] % 16](&in, &o);
	else
		fuzz_fs(20 + data[0] / 16, &in, &o);
	free(copy);
	return 0;
}
