#include "base/options.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/options_internal.h"
#include "base/parse.h"
#include "base/text.h"

static bool takes_value(const struct option_spec *s)
{
	return s->kind != OPTION_FLAG && s->kind != OPTION_OPTIONAL;
}

static const char *expectation(enum option_kind kind)
{
	switch (kind) {
	case OPTION_SIZE:
		return "a size such as 512M or 2G";
	case OPTION_DURATION:
		return "a duration such as 500ms, 30s or 5m";
	case OPTION_COUNT:
		return "a number";
	case OPTION_CPUS:
		return "a number of CPUs such as 2 or 0.5";
	case OPTION_FLAG:
	case OPTION_TEXT:
	case OPTION_OPTIONAL:
	case OPTION_LIST:
		break;
	}
	return "a value";
}

static int parse_number(const struct option_spec *s, const char *text, uint64_t *ret)
{
	switch (s->kind) {
	case OPTION_SIZE:
		return parse_size(text, ret);
	case OPTION_DURATION:
		return parse_duration(text, ret);
	case OPTION_COUNT:
		return parse_count(text, ret);
	case OPTION_CPUS:
		return parse_cpus(text, ret);
	case OPTION_FLAG:
	case OPTION_TEXT:
	case OPTION_OPTIONAL:
	case OPTION_LIST:
		break;
	}
	return -EINVAL;
}

static int store_number(const struct option_spec *s, void *at, const char *text, struct error *err)
{
	uint64_t v;
	int r = parse_number(s, text, &v);
	if (r == -EINVAL)
		return error_set(err, 0, "--%s: '%.100s' is not %s", s->name, text,
				 expectation(s->kind));
	if (r < 0 || v < s->min || (s->max && v > s->max))
		return error_set(err, 0, "--%s: '%.100s' is out of range", s->name, text);
	*(uint64_t *)at = v;
	return 0;
}

int option_store(const struct option_spec *s, void *base, const char *text, struct error *err)
{
	void *at = (char *)base + s->offset;
	switch (s->kind) {
	case OPTION_FLAG:
		*(int *)at = s->value;
		return 0;
	case OPTION_TEXT:
	case OPTION_OPTIONAL:
		*(const char **)at = text;
		return 0;
	case OPTION_LIST: {
		struct option_list *list = at;
		if (list->count == OPTION_ITEMS_MAX)
			return error_set(err, 0, "--%s: more than %d of them", s->name,
					 OPTION_ITEMS_MAX);
		list->items[list->count].text = text;
		list->items[list->count++].tag = s->value;
		return 0;
	}
	case OPTION_SIZE:
	case OPTION_DURATION:
	case OPTION_COUNT:
	case OPTION_CPUS:
		return store_number(s, at, text, err);
	}
	return -EINVAL;
}

void options_init(const struct option_spec *specs, size_t count, void *base)
{
	for (size_t i = 0; i < count; i++) {
		struct error err;
		if (specs[i].initial && specs[i].kind != OPTION_FLAG) {
			int r = option_store(&specs[i], base, specs[i].initial, &err);
			assert(r == 0);
			(void)r;
		}
	}
}

static bool same_name(const char *name, const char *given, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (name[i] != (given[i] == '_' ? '-' : given[i]))
			return false;
	}
	return name[length] == '\0';
}

static const struct option_spec *find_name(const struct option_spec *specs, size_t count,
					   const char *name, size_t length)
{
	for (size_t i = 0; i < count; i++) {
		if (same_name(specs[i].name, name, length))
			return &specs[i];
	}
	return NULL;
}

const struct option_spec *option_find(const struct option_spec *specs, size_t count,
				      const char *name)
{
	return find_name(specs, count, name, strlen(name));
}

static const struct option_spec *find_letter(const struct option_spec *specs, size_t count, char c)
{
	for (size_t i = 0; i < count; i++) {
		if (specs[i].letter == c)
			return &specs[i];
	}
	return NULL;
}

struct cursor {
	const struct option_spec *specs;
	size_t count;
	void *base;
	int argc;
	char **argv;
	int at;
};

static int next_value(struct cursor *c, const struct option_spec *s, const char **ret,
		      struct error *err)
{
	if (c->at + 1 >= c->argc)
		return error_set(err, 0, "--%s needs %s", s->name, expectation(s->kind));
	*ret = c->argv[++c->at];
	return 0;
}

static int parse_long(struct cursor *c, const char *arg, struct error *err)
{
	const char *equals = strchr(arg, '=');
	size_t length = equals ? (size_t)(equals - arg) : strlen(arg);
	const struct option_spec *s = find_name(c->specs, c->count, arg, length);
	if (!s)
		return error_set(err, 0, "unknown option --%.*s", (int)length, arg);
	const char *value = equals ? equals + 1 : "";
	if (equals && s->kind == OPTION_FLAG)
		return error_set(err, 0, "--%s takes no value", s->name);
	if (!equals && takes_value(s)) {
		int r = next_value(c, s, &value, err);
		if (r < 0)
			return r;
	}
	return option_store(s, c->base, value, err);
}

static int parse_letters(struct cursor *c, const char *letters, struct error *err)
{
	for (; *letters; letters++) {
		const struct option_spec *s = find_letter(c->specs, c->count, *letters);
		if (!s)
			return error_set(err, 0, "unknown option -%c", *letters);
		const char *value = "";
		if (takes_value(s)) {
			int r = 0;
			if (letters[1])
				value = letters + 1;
			else
				r = next_value(c, s, &value, err);
			return r < 0 ? r : option_store(s, c->base, value, err);
		}
		int r = option_store(s, c->base, value, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int options_parse(const struct option_spec *specs, size_t count, void *base, int argc, char **argv,
		  struct error *err)
{
	struct cursor c = { specs, count, base, argc, argv, 0 };
	for (; c.at < argc; c.at++) {
		const char *arg = argv[c.at];
		if (arg[0] != '-' || arg[1] == '\0')
			break;
		if (strcmp(arg, "--") == 0) {
			c.at++;
			break;
		}
		int r = arg[1] == '-' ? parse_long(&c, arg + 2, err)
				      : parse_letters(&c, arg + 1, err);
		if (r < 0)
			return r;
	}
	return c.at;
}

int options_parse_mixed(const struct option_spec *specs, size_t count, void *base, int argc,
			char **argv, struct error *err)
{
	int arguments = 0, at = 0;
	bool options_end = false;
	while (at < argc) {
		int used = options_end ? 0 : options_parse(specs, count, base, argc - at, argv + at, err);
		if (used < 0)
			return used;
		options_end |= used > 0 && strcmp(argv[at + used - 1], "--") == 0;
		at += used;
		if (at < argc)
			argv[arguments++] = argv[at++];
	}
	return arguments;
}

#define HELP_COLUMN 28

static void print_help_row(const struct option_spec *s)
{
	char buffer[128];
	struct text left = TEXT_INIT(buffer);
	if (s->letter)
		text_printf(&left, "  -%c, --%s", s->letter, s->name);
	else
		text_printf(&left, "      --%s", s->name);
	if (takes_value(s))
		text_printf(&left, " %s", s->metavar);
	else if (s->kind == OPTION_OPTIONAL)
		text_printf(&left, "[=%s]", s->metavar);
	printf("%-*s%s%s", HELP_COLUMN, buffer, left.length >= HELP_COLUMN ? "\n" : "",
	       left.length >= HELP_COLUMN ? "                            " : "");
	for (const char *p = s->help; *p; p++) {
		putchar(*p);
		if (*p == '\n')
			printf("%*s", HELP_COLUMN, "");
	}
	const char *shown = s->shown ? s->shown : s->initial;
	if (shown)
		printf(" [default: %s]", shown);
	putchar('\n');
}

void options_help(const struct option_spec *specs, size_t count)
{
	printf("Options:\n");
	for (size_t i = 0; i < count; i++)
		print_help_row(&specs[i]);
}
