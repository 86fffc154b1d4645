/* The line discipline, driven by bytes. What is expected here was seen on Linux. */
#include "check.h"

#include "kernel/fs/tty/ldisc_internal.h"

static uint8_t storage[8192];
static struct ldisc ld;

struct setting {
	uint32_t iflag_on, iflag_off, oflag_on, oflag_off, lflag_on, lflag_off;
};

static void start(struct setting s)
{
	struct tty_termios t;

	ldisc_init(&ld, storage, sizeof(storage));
	ldisc_default_termios(&t);
	t.iflag = (t.iflag | s.iflag_on) & ~s.iflag_off;
	t.oflag = (t.oflag | s.oflag_on) & ~s.oflag_off;
	t.lflag = (t.lflag | s.lflag_on) & ~s.lflag_off;
	ldisc_set_termios(&ld, &t);
	ld.events = 0;
}

static void type_bytes(const char *bytes, size_t count)
{
	CHECK_EQ(ldisc_input(&ld, (const uint8_t *)bytes, count), count);
}

static void type(const char *text)
{
	type_bytes(text, strlen(text));
}

/* What the terminal shows since the last time. */
static const char *shown(void)
{
	static char text[8192 + 1];
	size_t n = 0;
	uint32_t part;

	while (ld.out.count) {
		const uint8_t *p = byte_queue_peek(&ld.out, 0, &part);

		memcpy(text + n, p, part);
		byte_queue_drop(&ld.out, part);
		n += part;
	}
	text[n] = 0;
	return text;
}

/* One read(2): "EAGAIN" when it would wait. */
static const char *reads(size_t size)
{
	static char text[LDISC_INPUT_BYTES + 1];
	struct ldisc_span span;
	uint32_t n = 0, part;

	if (!ldisc_next(&ld, size, &span))
		return "EAGAIN";
	while (n < span.count) {
		const uint8_t *p = ldisc_peek(&ld, n, &part);

		part = MIN(part, span.count - n);
		memcpy(text + n, p, part);
		n += part;
	}
	text[n] = 0;
	ldisc_consume(&ld, span.count, span.eof);
	return text;
}

static void prints(const char *text)
{
	struct ldisc_columns at = ldisc_output_begin(&ld);

	CHECK_EQ(ldisc_output(&ld, &at, (const uint8_t *)text, strlen(text)), strlen(text));
	ldisc_output_commit(&ld, at);
}

static const struct setting cooked;
static const struct setting raw = { .lflag_off = ICANON | ECHO | ISIG | IEXTEN,
				    .iflag_off = ICRNL | IXON };

TEST(a_line_is_read_when_it_ends)
{
	start(cooked);
	type("ab");
	CHECK_STR(shown(), "ab");
	CHECK_STR(reads(10), "EAGAIN");
	CHECK_EQ(ldisc_pending(&ld), 0);
	type("c\r");
	CHECK_STR(shown(), "c\r\n");
	CHECK_EQ(ldisc_pending(&ld), 4);
	CHECK_STR(reads(10), "abc\n");
	CHECK_STR(reads(10), "EAGAIN");
}

TEST(one_read_gets_one_line)
{
	start(cooked);
	type("one\ntwo\n");
	CHECK_STR(reads(2), "on");
	CHECK_STR(reads(100), "e\n");
	CHECK_STR(reads(100), "two\n");
}

TEST(erase_word_erase_kill)
{
	start(cooked);
	type("abc\x7f");
	CHECK_STR(shown(), "abc\b \b");
	type(" de  \x17");
	CHECK_STR(shown(), " de  \b \b\b \b\b \b\b \b");
	type("x\n");
	CHECK_STR(reads(100), "ab x\n");
	shown();
	type("abc\x15");
	CHECK_STR(shown(), "abc\b \b\b \b\b \b");
	type("\x7f\x7fz\n");
	CHECK_STR(reads(100), "z\n");
}

TEST(erase_of_a_tab_and_a_control_character)
{
	start(cooked);
	prints("12345");
	shown();
	type("a\tb\x7f\x7f");
	CHECK_STR(shown(), "a\tb\b \b\b\b");
	type("\x01\x7f");
	CHECK_STR(shown(), "^A\b \b\b \b");
}

TEST(erase_of_utf8)
{
	start((struct setting){ .iflag_on = IUTF8 });
	type("x\xe2\x82\xac\x7f");
	CHECK_STR(shown(), "x\xe2\x82\xac\b \b");
	type("\n");
	CHECK_STR(reads(10), "x\n");
}

TEST(kill_without_echoke_says_so)
{
	start((struct setting){ .lflag_off = ECHOKE });
	type("ab\x15");
	CHECK_STR(shown(), "ab^U\r\n");
}

TEST(echoprt_shows_what_is_erased)
{
	start((struct setting){ .lflag_on = ECHOPRT });
	type("abc\x7f\x7fx\n");
	CHECK_STR(shown(), "abc\\cb/x\r\n");
}

TEST(literal_next)
{
	start(cooked);
	type("a\x16\x03\x16\x7f\n");
	CHECK_STR(shown(), "a^\b^C^\b^?\r\n");
	CHECK_STR(reads(10), "a\x03\x7f\n");
	CHECK(!(ld.events & LDISC_EVENT_INTR));
}

TEST(reprint)
{
	start(cooked);
	type("ab\x12");
	CHECK_STR(shown(), "ab^R\r\nab");
}

TEST(end_of_file)
{
	start(cooked);
	type("\x04");
	CHECK_EQ(ldisc_pending(&ld), 0);
	CHECK_STR(reads(10), "");
	CHECK_STR(reads(10), "EAGAIN");
	type("ab\x04");
	CHECK_STR(shown(), "ab");
	CHECK_STR(reads(2), "ab");
	CHECK_STR(reads(10), "EAGAIN");
	type("ab\x04");
	CHECK_STR(reads(1), "a");
	CHECK_STR(reads(9), "b");
	CHECK_STR(reads(9), "EAGAIN");
	type("l\n\x04");
	CHECK_STR(reads(9), "l\n");
	CHECK_STR(reads(9), "");
}

TEST(end_of_line_characters)
{
	struct tty_termios t;

	start(cooked);
	t = ld.termios;
	t.cc[VEOL] = ';';
	t.cc[VEOL2] = ',';
	ldisc_set_termios(&ld, &t);
	type("a;b,");
	CHECK_STR(shown(), "a;b,");
	CHECK_STR(reads(9), "a;");
	CHECK_STR(reads(9), "b,");
}

TEST(signals_flush)
{
	start(cooked);
	type("abc\n");
	type("de");
	ld.events = 0;
	type("\x03");
	CHECK(ld.events & LDISC_EVENT_INTR);
	CHECK(ld.events & LDISC_EVENT_FLUSHED_READ);
	CHECK_STR(reads(9), "EAGAIN");
	/* What was shown before is not taken back. */
	CHECK_STR(shown(), "abc\r\nde^C");
	type("\x1c\x1a");
	CHECK(ld.events & LDISC_EVENT_QUIT);
	CHECK(ld.events & LDISC_EVENT_SUSP);
}

TEST(signals_do_not_flush_with_noflsh)
{
	start((struct setting){ .lflag_on = NOFLSH });
	type("ab\x03" "c\n");
	CHECK(ld.events & LDISC_EVENT_INTR);
	CHECK_STR(shown(), "ab^Cc\r\n");
	CHECK_STR(reads(9), "abc\n");
}

TEST(stop_and_start)
{
	struct ldisc_columns at;

	start(cooked);
	type("\x13");
	CHECK(ld.events & LDISC_EVENT_STOPPED);
	at = ldisc_output_begin(&ld);
	CHECK_EQ(ldisc_output(&ld, &at, (const uint8_t *)"x", 1), 0);
	type("ab");
	CHECK_STR(shown(), "");
	type("\x11");
	CHECK(ld.events & LDISC_EVENT_STARTED);
	CHECK_STR(shown(), "ab");
}

TEST(any_character_starts_with_ixany)
{
	start((struct setting){ .iflag_on = IXANY });
	type("\x13");
	type("a");
	CHECK_STR(shown(), "a");
}

TEST(input_mapping)
{
	start((struct setting){ .iflag_on = INLCR | IGNCR | ISTRIP, .iflag_off = ICRNL });
	type("a\r\xe2\n");
	CHECK_STR(reads(9), "EAGAIN");
	start((struct setting){ .iflag_on = IUCLC });
	type("AbC\n");
	CHECK_STR(reads(9), "abc\n");
}

TEST(echonl_without_echo)
{
	start((struct setting){ .lflag_off = ECHO, .lflag_on = ECHONL });
	type("secret\n");
	CHECK_STR(shown(), "\r\n");
	CHECK_STR(reads(9), "secret\n");
}

TEST(output_processing)
{
	start(cooked);
	prints("a\nb");
	CHECK_STR(shown(), "a\r\nb");
	start((struct setting){ .oflag_on = XTABS });
	prints("abc\tx");
	CHECK_STR(shown(), "abc     x");
	start((struct setting){ .oflag_on = OCRNL | ONOCR, .oflag_off = ONLCR });
	prints("\ra\r");
	CHECK_STR(shown(), "a\n");
	start((struct setting){ .oflag_off = OPOST });
	prints("a\n\t\r");
	CHECK_STR(shown(), "a\n\t\r");
}

TEST(output_takes_what_fits)
{
	static uint8_t lines[sizeof(storage)];
	struct ldisc_columns at;
	size_t taken;

	start(cooked);
	memset(lines, '\n', sizeof(lines));
	at = ldisc_output_begin(&ld);
	taken = ldisc_output(&ld, &at, lines, sizeof(lines));
	CHECK(taken > sizeof(storage) / 2 - 8 && taken <= sizeof(storage) / 2);
	CHECK_STR(shown(), ""); /* staged only */
	ldisc_output_commit(&ld, at);
	CHECK_EQ(strlen(shown()), 2 * taken);
}

TEST(raw_bytes_are_read_at_once)
{
	start(raw);
	type("a\r\x03\x04");
	CHECK_EQ(ldisc_pending(&ld), 4);
	CHECK_STR(shown(), "");
	CHECK(!ldisc_has_input(&ld, 5));
	CHECK_STR(reads(2), "a\r");
	CHECK_STR(reads(9), "\x03\x04");
	CHECK_STR(reads(9), "EAGAIN");
}

TEST(raw_input_waits_when_full)
{
	static uint8_t bytes[LDISC_INPUT_BYTES * 2];

	start(raw);
	CHECK_EQ(ldisc_input(&ld, bytes, sizeof(bytes)), LDISC_INPUT_BYTES - 1);
	CHECK_EQ(ldisc_input(&ld, bytes, 1), 0);
	reads(100);
	CHECK_EQ(ldisc_input(&ld, bytes, sizeof(bytes)), 100);
}

TEST(a_long_line_is_cut_and_can_be_ended)
{
	static char bytes[LDISC_INPUT_BYTES * 2];

	start((struct setting){ .lflag_off = ECHO });
	memset(bytes, 'x', sizeof(bytes));
	type_bytes(bytes, sizeof(bytes));
	CHECK_STR(reads(9), "EAGAIN");
	type("\n");
	CHECK_EQ(ldisc_pending(&ld), LDISC_INPUT_BYTES);
	CHECK_EQ(strlen(reads(sizeof(bytes))), LDISC_INPUT_BYTES);
	CHECK_STR(reads(9), "EAGAIN");
}

TEST(changing_the_mode_keeps_the_bytes)
{
	struct tty_termios t;

	start(cooked);
	type("ab");
	t = ld.termios;
	t.lflag &= ~(uint32_t)ICANON;
	ldisc_set_termios(&ld, &t);
	CHECK_EQ(ldisc_pending(&ld), 2);
	CHECK_STR(reads(1), "a");
	type("c");
	t.lflag |= ICANON;
	ldisc_set_termios(&ld, &t);
	type("d\n");
	CHECK_STR(reads(9), "bc");
	CHECK_STR(reads(9), "d\n");
}

TEST(parmrk_doubles_ff)
{
	start((struct setting){ .iflag_on = PARMRK, .lflag_off = ECHO });
	type("a\xff\n");
	CHECK_STR(reads(9), "a\xff\xff\n");
}

CHECK_MAIN()
