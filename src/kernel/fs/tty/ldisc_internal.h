/* Shared by the files of the line discipline only. */
#pragma once

/* The kernel's terminal constants; must not meet <termios.h>. */
#include <asm/termbits.h>

#include "kernel/fs/tty/ldisc.h"

static inline bool ldisc_iflag(const struct ldisc *ld, uint32_t flag)
{
	return (ld->termios.iflag & flag) != 0;
}
static inline bool ldisc_oflag(const struct ldisc *ld, uint32_t flag)
{
	return (ld->termios.oflag & flag) != 0;
}
static inline bool ldisc_lflag(const struct ldisc *ld, uint32_t flag)
{
	return (ld->termios.lflag & flag) != 0;
}

/* Is `c` the control character `index`? 0 switches a control character off. */
static inline bool ldisc_cc(const struct ldisc *ld, unsigned index, uint8_t c)
{
	return c && ld->termios.cc[index] == c;
}

static inline bool ldisc_is_control(uint8_t c)
{
	return c < 0x20 || c == 0x7f;
}

/* Letters as the kernel's ctype knows them: Latin-1. */
static inline bool ldisc_is_upper(uint8_t c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 0xc0 && c <= 0xde && c != 0xd7);
}
static inline bool ldisc_is_lower(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 0xdf && c <= 0xfe && c != 0xf7);
}
#define LDISC_CASE_DISTANCE ('a' - 'A')

/* A byte inside a UTF-8 character: takes no column, is erased with its first byte. */
static inline bool ldisc_is_continuation(const struct ldisc *ld, uint8_t c)
{
	return ldisc_iflag(ld, IUTF8) && (c & 0xc0) == 0x80;
}

static inline uint8_t ldisc_byte(const struct ldisc *ld, uint32_t position)
{
	return ld->input[position % LDISC_INPUT_BYTES];
}

/*
 * One byte of output through post-processing (OPOST) at the cursor `at`. `dst` has room for
 * LDISC_EXPANSION bytes; returns how many were made.
 */
#define LDISC_EXPANSION 8
unsigned ldisc_post_process(const struct ldisc *ld, struct ldisc_columns *at, uint8_t c,
			    uint8_t dst[LDISC_EXPANSION]);

/* Echo of a byte as it is, and with control characters as ^X. */
void ldisc_echo_raw(struct ldisc *ld, uint8_t c);
/* Not even post-processed; the cursor moves by `columns`. */
void ldisc_echo_verbatim(struct ldisc *ld, uint8_t c, int columns);
void ldisc_echo(struct ldisc *ld, uint8_t c);
void ldisc_echo_finish_erasing(struct ldisc *ld);

/* The editing characters ERASE, WERASE, KILL, REPRINT on the line being typed. */
enum ldisc_erase { LDISC_ERASE_CHAR, LDISC_ERASE_WORD, LDISC_ERASE_LINE };
void ldisc_erase(struct ldisc *ld, enum ldisc_erase what);
void ldisc_reprint(struct ldisc *ld);
