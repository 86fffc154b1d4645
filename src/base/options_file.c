/* Configuration files by the table of options, and their opposite. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/options_internal.h"
#include "base/util.h"

#define BLANK " \t\r"

/* Cuts blanks at both ends, in place. */
static char *trim(char *s)
{
	s += strspn(s, BLANK);
	for (size_t n = strlen(s); n > 0 && strchr(BLANK, s[n - 1]); n--)
		s[n - 1] = '\0';
	return s;
}

static int parse_line(const struct option_spec *specs, size_t count, void *base, char *line,
		      struct error *err)
{
	char *equals = strchr(line, '=');
	if (!equals)
		return error_set(err, 0, "'%.100s' is not 'name = value'", line);
	*equals = '\0';
	char *name = trim(line), *value = trim(equals + 1);
	const struct option_spec *s = option_find(specs, count, name);
	if (!s || s->no_file || s->kind == OPTION_FLAG)
		return error_set(err, 0, "unknown name '%.100s' (--help lists them)", name);
	if (*value == '\0')
		return error_set(err, 0, "%s needs a value; leave the line out for the default",
				 name);
	return option_store(s, base, value, err);
}

int options_parse_file(const struct option_spec *specs, size_t count, void *base, const char *path,
		       char *text, struct error *err)
{
	unsigned int number = 0;
	while (*text) {
		char *line = text;
		size_t n = strcspn(text, "\n");
		text += n + (text[n] == '\n');
		line[n] = '\0';
		number++;
		line = trim(line);
		if (*line == '\0' || *line == '#')
			continue;
		int r = parse_line(specs, count, base, line, err);
		if (r == 0)
			continue;
		/* Options are called --name in messages; here they are not. */
		char message[sizeof(err->message)];
		memcpy(message, err->message, sizeof(message));
		return error_set(err, 0, "%.200s:%u: %.280s", path, number,
				 message + (strncmp(message, "--", 2) == 0 ? 2 : 0));
	}
	return 0;
}

static void print_scaled(uint64_t v, const uint64_t *scales, const char *const *suffixes,
			 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (v >= scales[i] && v % scales[i] == 0) {
			printf("%" PRIu64 "%s\n", v / scales[i], suffixes[i]);
			return;
		}
	}
	printf("%" PRIu64 "\n", v);
}

static void print_number(const struct option_spec *s, uint64_t v)
{
	static const uint64_t sizes[] = { 1ull << 40, 1ull << 30, 1ull << 20, 1ull << 10 };
	static const char *const size_names[] = { "T", "G", "M", "K" };
	static const uint64_t times[] = { 86400 * NSEC_PER_SEC, 3600 * NSEC_PER_SEC,
					  60 * NSEC_PER_SEC, NSEC_PER_SEC, NSEC_PER_MSEC };
	static const char *const time_names[] = { "d", "h", "m", "s", "ms" };
	if (s->kind == OPTION_SIZE)
		print_scaled(v, sizes, size_names, ARRAY_SIZE(sizes));
	else if (s->kind == OPTION_DURATION)
		print_scaled(v, times, time_names, ARRAY_SIZE(times));
	else if (s->kind == OPTION_CPUS)
		printf("%" PRIu64 ".%03" PRIu64 "\n", v / 1000, v % 1000);
	else
		printf("%" PRIu64 "\n", v);
}

static void print_name(const char *name)
{
	for (; *name; name++)
		putchar(*name == '-' ? '_' : *name);
	printf(" = ");
}

static void print_list(const struct option_spec *s, const struct option_list *list)
{
	for (unsigned int i = 0; i < list->count; i++) {
		print_name(s->name);
		printf("%s\n", list->items[i].text);
	}
}

static void print_text(const struct option_spec *s, const char *text)
{
	if (!text) {
		printf("# ");
		print_name(s->name);
		printf("(%s)\n", s->shown ? s->shown : "none");
		return;
	}
	print_name(s->name);
	printf("%s\n", text);
}

void options_print(const struct option_spec *specs, size_t count, const void *base)
{
	for (size_t i = 0; i < count; i++) {
		const struct option_spec *s = &specs[i];
		const char *at = (const char *)base + s->offset;
		const char *text;
		uint64_t v;
		if (s->no_file || s->kind == OPTION_FLAG)
			continue;
		if (s->kind == OPTION_LIST) {
			print_list(s, (const struct option_list *)(const void *)at);
		} else if (s->kind == OPTION_TEXT || s->kind == OPTION_OPTIONAL) {
			memcpy(&text, at, sizeof(text));
			print_text(s, text);
		} else {
			memcpy(&v, at, sizeof(v));
			print_name(s->name);
			print_number(s, v);
		}
	}
}
