#include "server/api/args.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/api/json.h"

void args_fail(struct args *a, const char *format, ...)
{
	va_list ap;

	if (a->failed)
		return;
	a->failed = true;
	va_start(ap, format);
	vsnprintf(a->message, sizeof(a->message), format, ap);
	va_end(ap);
}

void args_init(struct args *a, const uint8_t *body, size_t size, bool optional)
{
	json_error_t error;

	memset(a, 0, sizeof(*a));
	if (size == 0 && optional) {
		a->object = json_object();
		return;
	}
	a->object = json_parse(body, size, JSON_REJECT_DUPLICATES, &error);
	if (!a->object)
		args_fail(a, "the body is not valid JSON: line %d, column %d: %.120s", error.line,
			  error.column, error.text);
	else if (!json_is_object(a->object))
		args_fail(a, "the body must be a JSON object");
}

void args_fini(struct args *a)
{
	json_decref(a->object);
	a->object = NULL;
}

static json_t *member(struct args *a, const char *name)
{
	json_t *v = a->failed ? NULL : json_object_get(a->object, name);
	return json_is_null(v) ? NULL : v;
}

const char *args_string(struct args *a, const char *name, size_t max, const char *fallback)
{
	json_t *v = member(a, name);

	if (!v)
		return fallback;
	if (!json_is_string(v))
		args_fail(a, "%s must be a string", name);
	else if (json_string_length(v) > max)
		args_fail(a, "%s is longer than %zu bytes", name, max);
	else if (strlen(json_string_value(v)) != json_string_length(v))
		args_fail(a, "%s must not contain a NUL", name);
	return a->failed ? fallback : json_string_value(v);
}

const char *args_required(struct args *a, const char *name, size_t max)
{
	const char *s = args_string(a, name, max, NULL);

	if (!s || !*s)
		args_fail(a, "%s is required", name);
	return s ? s : "";
}

int64_t args_integer(struct args *a, const char *name, int64_t min, int64_t max, int64_t fallback)
{
	json_t *v = member(a, name);

	if (!v)
		return fallback;
	if (!json_is_integer(v))
		args_fail(a, "%s must be an integer", name);
	else if (json_integer_value(v) < min || json_integer_value(v) > max)
		args_fail(a, "%s must be between %lld and %lld", name, (long long)min,
			  (long long)max);
	return a->failed ? fallback : json_integer_value(v);
}

bool args_bool(struct args *a, const char *name, bool fallback)
{
	int v = args_tristate(a, name);
	return v < 0 ? fallback : v;
}

int args_tristate(struct args *a, const char *name)
{
	json_t *v = member(a, name);

	if (!v)
		return -1;
	if (!json_is_boolean(v))
		args_fail(a, "%s must be true or false", name);
	return json_is_true(v);
}

json_t *args_object(struct args *a, const char *name)
{
	json_t *v = member(a, name);

	if (v && !json_is_object(v))
		args_fail(a, "%s must be an object", name);
	return a->failed ? NULL : v;
}

json_t *args_array(struct args *a, const char *name)
{
	json_t *v = member(a, name);

	if (v && !json_is_array(v))
		args_fail(a, "%s must be an array", name);
	return a->failed ? NULL : v;
}

char *args_string_map(struct args *a, const char *name, size_t max_entries)
{
	json_t *v = args_object(a, name), *value;
	const char *key;

	if (!v || json_object_size(v) == 0)
		return NULL;
	if (json_object_size(v) > max_entries)
		args_fail(a, "%s has more than %zu entries", name, max_entries);
	json_object_foreach(v, key, value) {
		if (!json_is_string(value))
			args_fail(a, "%s: the value of '%.60s' must be a string", name, key);
		else if (strlen(json_string_value(value)) != json_string_length(value))
			args_fail(a, "%s: the value of '%.60s' contains a NUL", name, key);
	}
	return a->failed ? NULL : json_dumps(v, JSON_COMPACT);
}

bool args_answered(struct args *a, struct http_exchange *x)
{
	if (!a->failed)
		return false;
	http_error(x, 400, "%s", a->message);
	return true;
}
