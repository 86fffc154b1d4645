/* Line discipline: the editing characters of canonical mode. See ldisc.c. */
#include "kernel/fs/tty/ldisc_internal.h"

/* Width of the line being typed before the position `end`, back to the last tab or its start. */
static uint32_t width_before(const struct ldisc *ld, uint32_t end)
{
	uint32_t width = 0;

	for (uint32_t at = end; at != ld->line_end;) {
		uint8_t c = ldisc_byte(ld, --at);

		if (c == '\t')
			return width;
		if (ldisc_is_control(c))
			width += ldisc_lflag(ld, ECHOCTL) ? 2 : 0;
		else if (!ldisc_is_continuation(ld, c))
			width++;
	}
	return width + ld->line_column;
}

static void echo_backspaces(struct ldisc *ld, uint32_t count)
{
	while (count--)
		ldisc_echo_verbatim(ld, '\b', -1);
}

static void echo_rubout(struct ldisc *ld)
{
	ldisc_echo_raw(ld, '\b');
	ldisc_echo_raw(ld, ' ');
	ldisc_echo_raw(ld, '\b');
}

/* Shows that the `size` bytes of one character at ld->head are gone. */
static void echo_erased(struct ldisc *ld, uint32_t size, enum ldisc_erase what)
{
	uint8_t c = ldisc_byte(ld, ld->head);

	if (ldisc_lflag(ld, ECHOPRT)) {
		if (!ld->erasing) {
			ldisc_echo_raw(ld, '\\');
			ld->erasing = true;
		}
		ldisc_echo(ld, c);
		for (uint32_t i = 1; i < size; i++)
			ldisc_echo_raw(ld, ldisc_byte(ld, ld->head + i));
	} else if (what == LDISC_ERASE_CHAR && !ldisc_lflag(ld, ECHOE)) {
		ldisc_echo(ld, ld->termios.cc[VERASE]);
	} else if (c == '\t') {
		echo_backspaces(ld, 8 - (width_before(ld, ld->head) & 7));
	} else {
		if (ldisc_is_control(c) && ldisc_lflag(ld, ECHOCTL))
			echo_rubout(ld);
		if (!ldisc_is_control(c) || ldisc_lflag(ld, ECHOCTL))
			echo_rubout(ld);
	}
}

/* Where the last character of the line begins. False: only a torn UTF-8 character is left. */
static bool last_char(const struct ldisc *ld, uint32_t *ret_at)
{
	uint32_t at = ld->head;

	do {
		at--;
	} while (ldisc_is_continuation(ld, ldisc_byte(ld, at)) && at != ld->line_end);
	*ret_at = at;
	return !ldisc_is_continuation(ld, ldisc_byte(ld, at));
}

/* The first byte of most UTF-8 letters is a letter in Latin-1, too. */
static bool is_word_char(uint8_t c)
{
	return (c >= '0' && c <= '9') || ldisc_is_upper(c) || ldisc_is_lower(c) ||
	       c == 0xff || c == '_';
}

/* KILL without the full set of echo flags: the line is only said to be gone. */
static bool kill_quietly(struct ldisc *ld)
{
	if (!ldisc_lflag(ld, ECHO)) {
		ld->head = ld->line_end;
		return true;
	}
	if (ldisc_lflag(ld, ECHOK) && ldisc_lflag(ld, ECHOKE) && ldisc_lflag(ld, ECHOE))
		return false;
	ld->head = ld->line_end;
	ldisc_echo_finish_erasing(ld);
	ldisc_echo(ld, ld->termios.cc[VKILL]);
	if (ldisc_lflag(ld, ECHOK))
		ldisc_echo_raw(ld, '\n');
	return true;
}

void ldisc_erase(struct ldisc *ld, enum ldisc_erase what)
{
	bool seen_word = false;

	if (ld->head == ld->line_end)
		return;
	if (what == LDISC_ERASE_LINE && kill_quietly(ld))
		return;
	while (ld->head != ld->line_end) {
		uint32_t at, size;
		uint8_t c;

		if (!last_char(ld, &at))
			break;
		c = ldisc_byte(ld, at);
		if (what == LDISC_ERASE_WORD) {
			if (is_word_char(c))
				seen_word = true;
			else if (seen_word)
				break;
		}
		size = ld->head - at;
		ld->head = at;
		if (ldisc_lflag(ld, ECHO))
			echo_erased(ld, size, what);
		if (what == LDISC_ERASE_CHAR)
			break;
	}
	if (ld->head == ld->line_end && ldisc_lflag(ld, ECHO))
		ldisc_echo_finish_erasing(ld);
}

void ldisc_reprint(struct ldisc *ld)
{
	for (uint32_t at = ld->line_end; at != ld->head; at++)
		ldisc_echo(ld, ldisc_byte(ld, at));
}
