/* Line discipline: post-processing of output, and echo. See ldisc.c. */
#include <string.h>

#include "kernel/fs/tty/ldisc_internal.h"

static unsigned newline(const struct ldisc *ld, struct ldisc_columns *at, uint8_t *dst)
{
	unsigned n = 0;

	if (ldisc_oflag(ld, ONLRET))
		at->column = 0;
	if (ldisc_oflag(ld, ONLCR)) {
		at->column = 0;
		dst[n++] = '\r';
	}
	at->line_column = at->column;
	dst[n++] = '\n';
	return n;
}

static unsigned carriage_return(const struct ldisc *ld, struct ldisc_columns *at, uint8_t *dst)
{
	if (ldisc_oflag(ld, ONOCR) && !at->column)
		return 0;
	if (ldisc_oflag(ld, OCRNL)) {
		if (ldisc_oflag(ld, ONLRET))
			at->column = at->line_column = 0;
		dst[0] = '\n';
		return 1;
	}
	at->column = at->line_column = 0;
	dst[0] = '\r';
	return 1;
}

static unsigned tabulator(const struct ldisc *ld, struct ldisc_columns *at, uint8_t *dst)
{
	unsigned spaces = 8 - (at->column & 7);

	at->column += spaces;
	if ((ld->termios.oflag & TABDLY) == XTABS) {
		memset(dst, ' ', spaces);
		return spaces;
	}
	dst[0] = '\t';
	return 1;
}

unsigned ldisc_post_process(const struct ldisc *ld, struct ldisc_columns *at, uint8_t c,
			    uint8_t dst[LDISC_EXPANSION])
{
	dst[0] = c;
	if (!ldisc_oflag(ld, OPOST))
		return 1;
	switch (c) {
	case '\n':
		return newline(ld, at, dst);
	case '\r':
		return carriage_return(ld, at, dst);
	case '\t':
		return tabulator(ld, at, dst);
	case '\b':
		if (at->column)
			at->column--;
		return 1;
	default:
		if (ldisc_is_control(c))
			return 1;
		if (ldisc_oflag(ld, OLCUC) && ldisc_is_lower(c))
			dst[0] = (uint8_t)(c - LDISC_CASE_DISTANCE);
		if (!ldisc_is_continuation(ld, c))
			at->column++;
		return 1;
	}
}

struct ldisc_columns ldisc_output_begin(struct ldisc *ld)
{
	byte_queue_stage_reset(&ld->out);
	ldisc_flush_echo(ld);
	return (struct ldisc_columns){ ld->column, ld->line_column };
}

size_t ldisc_output(struct ldisc *ld, struct ldisc_columns *at, const uint8_t *bytes, size_t count)
{
	size_t i;

	if (ld->stopped)
		return 0;
	if (!ldisc_oflag(ld, OPOST))
		return byte_queue_stage_bytes(&ld->out, bytes, count);
	for (i = 0; i < count && byte_queue_room(&ld->out) >= LDISC_EXPANSION; i++) {
		uint8_t dst[LDISC_EXPANSION];
		unsigned n = ldisc_post_process(ld, at, bytes[i], dst);

		for (unsigned k = 0; k < n; k++)
			byte_queue_stage(&ld->out, dst[k]);
	}
	return i;
}

void ldisc_output_commit(struct ldisc *ld, struct ldisc_columns at)
{
	if (ld->out.staged)
		ld->events |= LDISC_EVENT_OUTPUT;
	byte_queue_commit(&ld->out, ld->out.staged);
	ld->column = at.column;
	ld->line_column = at.line_column;
	ld->shown = at;
}

void ldisc_flush_echo(struct ldisc *ld)
{
	uint32_t moved;

	if (!ld->echo_count || ld->stopped)
		return;
	moved = byte_queue_stage_bytes(&ld->out, ld->echo, ld->echo_count);
	if (!moved)
		return;
	byte_queue_commit(&ld->out, moved);
	ld->echo_count -= moved;
	memmove(ld->echo, ld->echo + moved, ld->echo_count);
	if (!ld->echo_count)
		ld->shown = (struct ldisc_columns){ ld->column, ld->line_column };
	ld->events |= LDISC_EVENT_OUTPUT;
}

static void echo_append(struct ldisc *ld, const uint8_t *bytes, unsigned count)
{
	if (count > LDISC_ECHO_BYTES - ld->echo_count)
		ldisc_flush_echo(ld);
	if (count > LDISC_ECHO_BYTES - ld->echo_count)
		return;
	memcpy(ld->echo + ld->echo_count, bytes, count);
	ld->echo_count += count;
}

void ldisc_echo_raw(struct ldisc *ld, uint8_t c)
{
	struct ldisc_columns at = { ld->column, ld->line_column };
	uint8_t dst[LDISC_EXPANSION];
	unsigned n = ldisc_post_process(ld, &at, c, dst);

	ld->column = at.column;
	ld->line_column = at.line_column;
	echo_append(ld, dst, n);
}

void ldisc_echo_verbatim(struct ldisc *ld, uint8_t c, int columns)
{
	if (columns >= 0 || ld->column)
		ld->column += (uint32_t)columns;
	echo_append(ld, &c, 1);
}

void ldisc_echo(struct ldisc *ld, uint8_t c)
{
	if (ldisc_lflag(ld, ECHOCTL) && ldisc_is_control(c) && c != '\t') {
		ldisc_echo_verbatim(ld, '^', 1);
		ldisc_echo_verbatim(ld, c ^ 0x40, 1);
	} else if (c == 0xff) {
		ldisc_echo_verbatim(ld, c, 1);
	} else {
		ldisc_echo_raw(ld, c);
	}
}

void ldisc_echo_finish_erasing(struct ldisc *ld)
{
	if (!ld->erasing)
		return;
	ldisc_echo_raw(ld, '/');
	ld->erasing = false;
}
