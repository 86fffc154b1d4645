#include "client/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"

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

/* What the server says is shown, not obeyed: no control characters reach the terminal. */
void table_set(struct table *t, unsigned int column, const char *format, ...)
{
	char *cell = t->cells[(size_t)(t->rows - 1) * t->columns + column];
	va_list ap;

	va_start(ap, format);
	vsnprintf(cell, TABLE_CELL_MAX, format, ap);
	va_end(ap);
	for (; *cell; cell++) {
		if ((unsigned char)*cell < ' ' || *cell == 0x7f)
			*cell = '?';
	}
}

static int width(const struct table *t, unsigned int column)
{
	size_t w = strlen(t->heads[column]);

	for (unsigned int r = 0; r < t->rows; r++)
		w = MAX(w, strlen(t->cells[(size_t)r * t->columns + column]));
	return (int)w;
}

void table_print(const struct table *t)
{
	bool bold = isatty(STDOUT_FILENO);

	printf("%s", bold ? "\033[1m" : "");
	for (unsigned int c = 0; c < t->columns; c++)
		printf("%-*s%s", c + 1 < t->columns ? width(t, c) : 0, t->heads[c],
		       c + 1 < t->columns ? "  " : "");
	printf("%s\n", bold ? "\033[0m" : "");
	for (unsigned int r = 0; r < t->rows; r++) {
		for (unsigned int c = 0; c < t->columns; c++)
			printf("%-*s%s", c + 1 < t->columns ? width(t, c) : 0,
			       t->cells[(size_t)r * t->columns + c],
			       c + 1 < t->columns ? "  " : "\n");
	}
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
