/*
 * JSON bodies of clients: what is let through is bounded in values and depth, survives being written and
 * read again, and gives handlers only what they asked for.
 */
#include "fuzz.h"

#include <string.h>

#include "server/api/args.h"
#include "server/api/json.h"

/* For args_answered(), which is not called here. */
void http_error(struct http_exchange *x, int status, const char *format, ...)
{
	abort();
}

static size_t count(const json_t *v, unsigned int depth)
{
	size_t n = 1, i;
	const char *key;
	json_t *child;

	FUZZ_CHECK(depth <= JSON_DEPTH_MAX);
	json_array_foreach(v, i, child)
		n += count(child, depth + 1);
	json_object_foreach((json_t *)(uintptr_t)v, key, child)
		n += count(child, depth + 1);
	return n;
}

static void check_value(const json_t *v)
{
	char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
	json_error_t error;

	FUZZ_CHECK(count(v, 0) <= JSON_VALUES_MAX);
	FUZZ_CHECK(text);
	json_t *again = json_parse((const uint8_t *)text, strlen(text), 0, &error);
	FUZZ_CHECK(again && json_equal(v, again));
	json_decref(again);
	free(text);
}

static void check_args(const uint8_t *data, size_t size)
{
	AUTO_ARGS struct args a;

	args_init(&a, data, size, true);
	const char *s = args_string(&a, "templateID", 64, "fallback");
	FUZZ_CHECK(s && strlen(s) <= 64);
	int64_t n = args_integer(&a, "timeout", 1, 1000, 15);
	FUZZ_CHECK(n >= 1 && n <= 1000);
	int t = args_tristate(&a, "secure");
	FUZZ_CHECK(t >= -1 && t <= 1);
	char *map = args_string_map(&a, "metadata", 16);
	FUZZ_CHECK(!map || map[0] == '{');
	FUZZ_CHECK(!map || !a.failed);
	FUZZ_CHECK(!a.failed || strlen(a.message) < sizeof(a.message));
	free(map);
	(void)args_object(&a, "network");
	(void)args_array(&a, "volumeMounts");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_error_t error;
	json_t *v = json_parse(data, size, JSON_REJECT_DUPLICATES, &error);

	if (v)
		check_value(v);
	json_decref(v);
	check_args(data, size);
	return 0;
}
