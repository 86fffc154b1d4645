#include "client/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "client/clean.h"

void table_init(struct table *t, const char *const *heads, unsigned int columns)
{
	*t = (struct table){ .columns = columns, .heads = heads };
}

bool table_row(struct table *t)
{
	if (t->rows == t->room) {
		unsigned int room = t->room ? t->room * 2 : 64;
		void *cells = realloc(t->cells, (size_t)room * t->columns * sizeof(t->cells[0]));
		if (!cells)
			return false;
		t->cells = cells;
		t->room = room;
	}
	memset(t->cells + (size_t)t->rows * t->columns, 0, t->columns * sizeof(t->cells[0]));
	t->rows++;
	return true;
}

/* A character that is cut in its middle goes. */
static void cut_utf8(char *text, size_t size)
{
	size_t at = size;

	while (at > 0 && ((unsigned char)text[at - 1] & 0xc0) == 0x80)
		at--;
	if (at > 0 && (unsigned char)text[at - 1] >= 0xc0)
		text[at - 1] = '\0';
}

void table_set(struct table *t, unsigned int column, const char *format, ...)
{
	char *cell = t->cells[(size_t)(t->rows - 1) * t->columns + column];
	va_list ap;

	va_start(ap, format);
	int n = vsnprintf(cell, TABLE_CELL_MAX, format, ap);
	va_end(ap);
	if (n >= TABLE_CELL_MAX)
		cut_utf8(cell, TABLE_CELL_MAX - 1);
	clean_text(cell);
}

/* Characters, not bytes. */
static int length(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static int width(const struct table *t, unsigned int column)
{
	int w = length(t->heads[column]);

	for (unsigned int r = 0; r < t->rows; r++)
		w = MAX(w, length(t->cells[(size_t)r * t->columns + column]));
	return w;
}

static void print_cell(const struct table *t, unsigned int column, const char *text)
{
	bool last = column + 1 == t->columns;

	printf("%s%*s", text, last ? 0 : width(t, column) - length(text) + 2, "");
}

void table_print(const struct table *t)
{
	bool bold = isatty(STDOUT_FILENO);

	printf("%s", bold ? "\033[1m" : "");
	for (unsigned int c = 0; c < t->columns; c++)
		print_cell(t, c, t->heads[c]);
	printf("%s\n", bold ? "\033[0m" : "");
	for (unsigned int r = 0; r < t->rows; r++) {
		for (unsigned int c = 0; c < t->columns; c++)
			print_cell(t, c, t->cells[(size_t)r * t->columns + c]);
		putchar('\n');
	}
}

void print_json(json_t *value, size_t flags)
{
	json_dumpf(value, stdout, flags | (isatty(STDOUT_FILENO) ? JSON_ENSURE_ASCII : 0));
	putchar('\n');
}

void table_fini(struct table *t)
{
	free(t->cells);
	t->cells = NULL;
}

void format_span(char *out, size_t size, double seconds)
{
	long s = seconds < 0 ? 0 : (long)seconds;

	if (s < 60)
		snprintf(out, size, "%lds", s);
	else if (s < 3600)
		snprintf(out, size, "%ldm %lds", s / 60, s % 60);
	else if (s < 86400)
		snprintf(out, size, "%ldh %ldm", s / 3600, s / 60 % 60);
	else
		snprintf(out, size, "%ldd %ldh", s / 86400, s / 3600 % 24);
}

void format_bytes(char *out, size_t size, double bytes)
{
	static const char units[] = "BKMGT";
	unsigned int u = 0;

	for (; bytes >= 1000 && u < 4; u++)
		bytes /= 1024;
	snprintf(out, size, u && bytes < 10 ? "%.1f%c" : "%.0f%c", bytes, units[u]);
}

double parse_time(const char *text)
{
	struct tm tm = { 0 };
	const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;

	if (!rest)
		return 0;
	return (double)timegm(&tm) + (*rest == '.' ? strtod(rest, NULL) : 0);
}
