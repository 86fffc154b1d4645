/* The line discipline: what is typed, printed, read and set is made of the input. */
#include "fuzz.h"

#include <string.h>

#include "kernel/fs/tty/ldisc_internal.h"

static void read_some(struct ldisc *ld, size_t size)
{
	struct ldisc_span span;
	uint32_t done = 0, part;

	if (!ldisc_next(ld, size, &span))
		return;
	FUZZ_CHECK(span.count <= size && span.count <= ld->head - ld->tail);
	while (done < span.count) {
		ldisc_peek(ld, done, &part);
		FUZZ_CHECK(part);
		done += part;
	}
	ldisc_consume(ld, span.count, span.eof);
}

static void print_some(struct ldisc *ld, const uint8_t *bytes, size_t count, bool answered)
{
	struct ldisc_columns at = ldisc_output_begin(ld);
	size_t taken = ldisc_output(ld, &at, bytes, count);

	FUZZ_CHECK(taken <= count);
	if (answered)
		ldisc_output_commit(ld, at);
}

static void change_settings(struct ldisc *ld, const uint8_t *bytes)
{
	struct tty_termios t = ld->termios;

	t.iflag ^= (uint32_t)bytes[0] << (bytes[1] % 9);
	t.oflag ^= (uint32_t)bytes[2] << (bytes[1] / 16 % 8);
	t.lflag ^= (uint32_t)bytes[3] << (bytes[4] % 12);
	t.cc[bytes[5] % TTY_CC_COUNT] = bytes[6];
	ldisc_set_termios(ld, &t);
}

static void check(const struct ldisc *ld)
{
	FUZZ_CHECK(ld->head - ld->tail <= LDISC_INPUT_BYTES);
	FUZZ_CHECK(ld->line_end - ld->tail <= ld->head - ld->tail);
	FUZZ_CHECK(ld->echo_count <= LDISC_ECHO_BYTES);
	FUZZ_CHECK(ld->out.count + ld->out.staged <= ld->out.size);
	FUZZ_CHECK(ldisc_pending(ld) <= ld->head - ld->tail);
}

/* One step: a command byte, then what it takes. Returns the bytes used. */
static size_t step(struct ldisc *ld, const uint8_t *data, size_t size)
{
	size_t count = MIN(size - 1, (size_t)data[0] >> 3);

	switch (data[0] & 7) {
	case 0:
		read_some(ld, count);
		return 1;
	case 1:
		byte_queue_drop(&ld->out, (uint32_t)count * 64);
		return 1;
	case 2:
	case 3:
		print_some(ld, data + 1, count, data[0] & 1);
		break;
	case 4:
		if (size > 7)
			change_settings(ld, data + 1);
		count = MIN(size - 1, (size_t)7);
		break;
	case 5:
		if (count & 1)
			ldisc_flush_input(ld);
		else
			ldisc_flush_output(ld);
		return 1;
	default:
		ldisc_input(ld, data + 1, count);
		break;
	}
	return 1 + count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t storage[1024];
	static struct ldisc ld;

	ldisc_init(&ld, storage, sizeof(storage));
	while (size) {
		size_t used = step(&ld, data, size);

		check(&ld);
		ld.events = 0;
		data += used;
		size -= used;
	}
	return 0;
}
