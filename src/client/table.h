/* Columns for people: as wide as their longest cell; a bold head on a terminal. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define TABLE_COLUMNS_MAX 10
#define TABLE_CELL_MAX	  96

struct table {
	unsigned int columns, rows, room;
	const char *const *heads;
	char (*cells)[TABLE_CELL_MAX];
};

void table_init(struct table *t, const char *const *heads, unsigned int columns);
/* The next row's cells are all set with table_set(). False: out of memory. */
bool table_row(struct table *t);
__attribute__((format(printf, 3, 4))) void table_set(struct table *t, unsigned int column,
						     const char *format, ...);
void table_print(const struct table *t);
void table_fini(struct table *t);

/* "3m", "2h 5m", "4d": two units at most. */
void format_span(char *out, size_t size, double seconds);
/* "1.5G" */
void format_bytes(char *out, size_t size, double bytes);
/* Seconds since the epoch of an RFC 3339 text; 0 = none. */
double parse_time(const char *text);
/* A value and a line end; on a terminal in ASCII. */
void print_json(json_t *value, size_t flags);
