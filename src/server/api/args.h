/*
 * Members of a JSON object that a client sent. The first thing that is wrong is remembered as a
 * sentence, later calls do nothing: a handler reads all members, then asks once.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/exchange.h"

struct args {
	json_t *object; /* owned; NULL when there is none */
	bool failed;
	char message[256];
};

/* An empty body counts as {} when `optional`. Numbers with a fraction, duplicates and anything but
 * an object fail. */
void args_init(struct args *a, const uint8_t *body, size_t size, bool optional);
void args_fini(struct args *a);
#define AUTO_ARGS __attribute__((cleanup(args_fini)))

__attribute__((format(printf, 2, 3))) void args_fail(struct args *a, const char *format, ...);

/* Absent or null: fallback. */
const char *args_string(struct args *a, const char *name, size_t max, const char *fallback);
const char *args_required(struct args *a, const char *name, size_t max);
int64_t args_integer(struct args *a, const char *name, int64_t min, int64_t max, int64_t fallback);
bool args_bool(struct args *a, const char *name, bool fallback);
/* 1, 0, or -1 when absent or null. */
int args_tristate(struct args *a, const char *name);
/* A borrowed object or array, NULL when absent or null. */
json_t *args_object(struct args *a, const char *name);
json_t *args_array(struct args *a, const char *name);
/* An object whose values are all strings, as JSON text (to be freed); NULL when absent or empty. */
char *args_string_map(struct args *a, const char *name, size_t max_entries);

/* Answers 400 with the sentence when something was wrong. */
bool args_answered(struct args *a, struct http_exchange *x);
