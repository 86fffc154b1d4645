/*
 * Theory of operation
 *
 *   terminal --ldisc_input()--> input[] --ldisc_next()/consume()--> program
 *      ^                          |  echo
 *      |                          v
 *      +------- out <---------- echo[]
 *                ^
 *                +--ldisc_output()------------------------------------ program
 *
 * input[] is a ring of 4096 bytes with two bitmaps beside it: `ends` marks the last byte of a
 * complete line, `eofs` marks an end-of-file character (which is not data). In canonical mode only
 * bytes before `line_end` can be read and only bytes behind it can be edited. In raw mode
 * everything up to `head` can be read at once.
 *
 * A line may have 4095 bytes and its end; what is typed beyond is dropped, so that the line can
 * always be ended. When complete lines (or raw bytes) fill the ring, ldisc_input() takes no more
 * and the bytes wait with the owner.
 *
 * Echo is processed like output and kept in echo[] until output may flow (not stopped by ^S, room
 * in `out`); echo that finds echo[] full is lost, as on Linux.
 *
 * Files: ldisc.c input and reading, ldisc_output.c post-processing and echo, ldisc_edit.c erasing.
 * Reference: termios(3), POSIX.1-2017 chapter 11.
 */
#include <string.h>

#include "kernel/fs/tty/ldisc_internal.h"

void ldisc_default_termios(struct tty_termios *t)
{
	*t = (struct tty_termios){
		.iflag = ICRNL | IXON,
		.oflag = OPOST | ONLCR,
		.cflag = B38400 | CS8 | CREAD,
		.lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN,
		.cc = {
			[VINTR] = 'C' & 0x1f,
			[VQUIT] = '\\' & 0x1f,
			[VERASE] = 0x7f,
			[VKILL] = 'U' & 0x1f,
			[VEOF] = 'D' & 0x1f,
			[VMIN] = 1,
			[VSTART] = 'Q' & 0x1f,
			[VSTOP] = 'S' & 0x1f,
			[VSUSP] = 'Z' & 0x1f,
			[VREPRINT] = 'R' & 0x1f,
			[VDISCARD] = 'O' & 0x1f,
			[VWERASE] = 'W' & 0x1f,
			[VLNEXT] = 'V' & 0x1f,
		},
		.ispeed = 38400,
		.ospeed = 38400,
	};
}

void ldisc_init(struct ldisc *ld, void *out_storage, uint32_t out_size)
{
	memset(ld, 0, sizeof(*ld));
	ldisc_default_termios(&ld->termios);
	byte_queue_init(&ld->out, out_storage, out_size);
}

bool ldisc_canonical(const struct ldisc *ld)
{
	return ldisc_lflag(ld, ICANON) && !ldisc_lflag(ld, EXTPROC);
}

static bool bit_get(const uint8_t *map, uint32_t position)
{
	position %= LDISC_INPUT_BYTES;
	return (map[position / 8] >> (position % 8)) & 1;
}

static void bit_set(uint8_t *map, uint32_t position, bool value)
{
	uint8_t mask = (uint8_t)(1u << (position % 8));

	position %= LDISC_INPUT_BYTES;
	if (value)
		map[position / 8] |= mask;
	else
		map[position / 8] &= (uint8_t)~mask;
}

static uint32_t used(const struct ldisc *ld)
{
	return ld->head - ld->tail;
}

static void put(struct ldisc *ld, uint8_t c)
{
	/* The last place is kept for the end of the line. */
	if (used(ld) >= LDISC_INPUT_BYTES - 1)
		return;
	bit_set(ld->ends, ld->head, false);
	bit_set(ld->eofs, ld->head, false);
	ld->input[ld->head++ % LDISC_INPUT_BYTES] = c;
	if (!ldisc_canonical(ld))
		ld->events |= LDISC_EVENT_READABLE;
}

/* Ends the line being typed with `c`, or with an end-of-file mark. */
static void end_line(struct ldisc *ld, uint8_t c, bool eof)
{
	bit_set(ld->ends, ld->head, !eof);
	bit_set(ld->eofs, ld->head, eof);
	ld->input[ld->head++ % LDISC_INPUT_BYTES] = eof ? 0 : c;
	ld->line_end = ld->head;
	ld->events |= LDISC_EVENT_READABLE;
}

void ldisc_flush_input(struct ldisc *ld)
{
	ld->tail = ld->line_end = ld->head;
	ld->lnext = ld->erasing = false;
	ld->events |= LDISC_EVENT_FLUSHED_READ;
}

/*
 * On Linux the first bytes travel to the master's own buffer at once and cannot be taken back; only
 * what queues up behind it goes, and what this very input has caused.
 */
void ldisc_flush_output(struct ldisc *ld)
{
	byte_queue_truncate(&ld->out, ld->in_input ? ld->delivered : LDISC_DELIVERED_BYTES);
	ld->column = ld->shown.column;
	ld->line_column = ld->shown.line_column;
	ld->echo_count = 0;
	ld->events |= LDISC_EVENT_FLUSHED_WRITE;
}

void ldisc_stop(struct ldisc *ld)
{
	if (ld->stopped)
		return;
	ld->stopped = true;
	ld->events |= LDISC_EVENT_STOPPED;
}

void ldisc_start(struct ldisc *ld)
{
	if (!ld->stopped || ld->stopped_by_ioctl)
		return;
	ld->stopped = false;
	ld->events |= LDISC_EVENT_STARTED;
	ldisc_flush_echo(ld);
}

static void signal_char(struct ldisc *ld, enum ldisc_event event, uint8_t c)
{
	ld->events |= event;
	if (!ldisc_lflag(ld, NOFLSH)) {
		ldisc_flush_output(ld);
		ldisc_flush_input(ld);
	}
	if (ldisc_iflag(ld, IXON))
		ldisc_start(ld);
	if (ldisc_lflag(ld, ECHO))
		ldisc_echo(ld, c);
}

/* IXON and ISIG characters. True: `c` was one and is done with. */
static bool flow_or_signal(struct ldisc *ld, uint8_t c)
{
	if (ldisc_iflag(ld, IXON)) {
		if (ldisc_cc(ld, VSTART, c)) {
			ldisc_start(ld);
			ldisc_flush_echo(ld);
			return true;
		}
		if (ldisc_cc(ld, VSTOP, c)) {
			ldisc_stop(ld);
			return true;
		}
	}
	if (ldisc_lflag(ld, ISIG)) {
		enum ldisc_event event = 0;

		if (ldisc_cc(ld, VINTR, c))
			event = LDISC_EVENT_INTR;
		else if (ldisc_cc(ld, VQUIT, c))
			event = LDISC_EVENT_QUIT;
		else if (ldisc_cc(ld, VSUSP, c))
			event = LDISC_EVENT_SUSP;
		if (event) {
			signal_char(ld, event, c);
			return true;
		}
	}
	if (ld->stopped && ldisc_iflag(ld, IXON) && ldisc_iflag(ld, IXANY))
		ldisc_start(ld);
	return false;
}

/* A literal byte: echoed and stored. `newline`: it moves the cursor and does not show as ^J. */
static void plain_char(struct ldisc *ld, uint8_t c, bool newline)
{
	if (ldisc_lflag(ld, ECHO)) {
		ldisc_echo_finish_erasing(ld);
		if (newline && c == '\n') {
			ldisc_echo_raw(ld, c);
		} else {
			if (ld->line_end == ld->head)
				ld->line_column = ld->column;
			ldisc_echo(ld, c);
		}
	}
	if (c == 0xff && ldisc_iflag(ld, PARMRK))
		put(ld, c); /* a real 0xff is doubled */
	put(ld, c);
}

static void literal_next(struct ldisc *ld)
{
	ld->lnext = true;
	if (!ldisc_lflag(ld, ECHO))
		return;
	ldisc_echo_finish_erasing(ld);
	if (ldisc_lflag(ld, ECHOCTL)) {
		ldisc_echo_raw(ld, '^');
		ldisc_echo_raw(ld, '\b');
	}
}

/* Editing and line ends of canonical mode. True: `c` is done with. */
static bool canonical_char(struct ldisc *ld, uint8_t c)
{
	bool extended = ldisc_lflag(ld, IEXTEN);
	bool echo = ldisc_lflag(ld, ECHO);

	if (ldisc_cc(ld, VERASE, c)) {
		ldisc_erase(ld, LDISC_ERASE_CHAR);
	} else if (ldisc_cc(ld, VKILL, c)) {
		ldisc_erase(ld, LDISC_ERASE_LINE);
	} else if (extended && ldisc_cc(ld, VWERASE, c)) {
		ldisc_erase(ld, LDISC_ERASE_WORD);
	} else if (extended && ldisc_cc(ld, VLNEXT, c)) {
		literal_next(ld);
	} else if (extended && echo && ldisc_cc(ld, VREPRINT, c)) {
		ldisc_echo_finish_erasing(ld);
		ldisc_echo(ld, c);
		ldisc_echo_raw(ld, '\n');
		ldisc_reprint(ld);
	} else if (c == '\n') {
		if (echo || ldisc_lflag(ld, ECHONL))
			ldisc_echo_raw(ld, '\n');
		end_line(ld, c, false);
	} else if (ldisc_cc(ld, VEOF, c)) {
		end_line(ld, c, true);
	} else if (ldisc_cc(ld, VEOL, c) || (extended && ldisc_cc(ld, VEOL2, c))) {
		if (echo) {
			if (ld->line_end == ld->head)
				ld->line_column = ld->column;
			ldisc_echo(ld, c);
		}
		if (c == 0xff && ldisc_iflag(ld, PARMRK))
			put(ld, c);
		end_line(ld, c, false);
	} else {
		return false;
	}
	return true;
}

static void input_char(struct ldisc *ld, uint8_t c)
{
	bool translated = false;

	if (ldisc_iflag(ld, ISTRIP))
		c &= 0x7f;
	if (ldisc_iflag(ld, IUCLC) && ldisc_lflag(ld, IEXTEN) && ldisc_is_upper(c))
		c = (uint8_t)(c + LDISC_CASE_DISTANCE);
	if (ldisc_lflag(ld, EXTPROC)) {
		put(ld, c);
		return;
	}
	if (ld->lnext) {
		ld->lnext = false;
		plain_char(ld, c, false);
		return;
	}
	if (flow_or_signal(ld, c))
		return;
	if (c == '\r') {
		if (ldisc_iflag(ld, IGNCR))
			return;
		if (ldisc_iflag(ld, ICRNL)) {
			c = '\n';
			translated = true;
		}
	} else if (c == '\n' && ldisc_iflag(ld, INLCR)) {
		c = '\r';
	}
	if (ldisc_canonical(ld) && canonical_char(ld, c))
		return;
	plain_char(ld, c, translated);
}

/* May one more byte be processed? A line that is being typed always goes on (and is cut). */
static bool accepts(const struct ldisc *ld)
{
	uint32_t need = ldisc_iflag(ld, PARMRK) ? 3 : 2;

	if (ldisc_canonical(ld) && ld->line_end == ld->tail)
		return true;
	return LDISC_INPUT_BYTES - used(ld) >= need;
}

size_t ldisc_input(struct ldisc *ld, const uint8_t *bytes, size_t count)
{
	size_t i = 0;

	ld->in_input = true;
	ld->delivered = MIN(ld->out.count, LDISC_DELIVERED_BYTES);
	while (i < count && accepts(ld))
		input_char(ld, bytes[i++]);
	ld->in_input = false;
	ldisc_flush_echo(ld);
	return i;
}

/* ---- the reading side ---- */

bool ldisc_has_input(const struct ldisc *ld, uint32_t min)
{
	if (ldisc_canonical(ld))
		return ld->line_end != ld->tail;
	return used(ld) >= MAX(min, 1u);
}

uint32_t ldisc_pending(const struct ldisc *ld)
{
	uint32_t count = 0;

	if (!ldisc_canonical(ld))
		return used(ld);
	for (uint32_t at = ld->tail; at != ld->line_end; at++)
		count += !bit_get(ld->eofs, at);
	return count;
}

bool ldisc_next(const struct ldisc *ld, size_t size, struct ldisc_span *ret)
{
	uint32_t limit = (uint32_t)MIN(size, (size_t)LDISC_INPUT_BYTES);
	struct ldisc_span span = { 0 };

	if (!ldisc_has_input(ld, 1))
		return false;
	if (!ldisc_canonical(ld)) {
		*ret = (struct ldisc_span){ .count = MIN(limit, used(ld)) };
		return true;
	}
	while (ld->tail + span.count != ld->line_end) {
		uint32_t at = ld->tail + span.count;

		if (bit_get(ld->eofs, at)) {
			span.eof = size != 0;
			break;
		}
		if (span.count == limit)
			break;
		span.count++;
		if (bit_get(ld->ends, at))
			break;
	}
	*ret = span;
	return true;
}

const uint8_t *ldisc_peek(const struct ldisc *ld, uint32_t offset, uint32_t *ret_count)
{
	uint32_t at = (ld->tail + offset) % LDISC_INPUT_BYTES;

	*ret_count = offset >= used(ld) ? 0 : MIN(used(ld) - offset, LDISC_INPUT_BYTES - at);
	return ld->input + at;
}

void ldisc_consume(struct ldisc *ld, uint32_t count, bool eof)
{
	ld->tail += MIN(count, used(ld));
	if (eof && ld->tail != ld->head && bit_get(ld->eofs, ld->tail))
		ld->tail++;
	if ((int32_t)(ld->line_end - ld->tail) < 0)
		ld->line_end = ld->tail;
}

/* What was typed under the old mode stays: as one line without end, or as plain bytes. */
static void change_mode(struct ldisc *ld)
{
	memset(ld->ends, 0, sizeof(ld->ends));
	memset(ld->eofs, 0, sizeof(ld->eofs));
	ld->line_end = ldisc_canonical(ld) ? ld->head : ld->tail;
	ld->lnext = ld->erasing = false;
	if (!used(ld))
		return;
	bit_set(ld->ends, ld->head - 1, true); /* matters in canonical mode only */
	ld->events |= LDISC_EVENT_READABLE;
}

void ldisc_set_termios(struct ldisc *ld, const struct tty_termios *t)
{
	bool was_canonical = ldisc_canonical(ld);
	bool had_flow_control = ldisc_iflag(ld, IXON);

	ld->termios = *t;
	if (ldisc_canonical(ld) != was_canonical)
		change_mode(ld);
	if (had_flow_control && !ldisc_iflag(ld, IXON))
		ldisc_start(ld); /* nobody could type ^Q any more */
}
