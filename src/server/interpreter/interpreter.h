/*
 * Port 49999 of every sandbox: the code interpreter, answered by the daemon. docs/interpreter.md tells
 * how it works, docs/api.md what it answers.
 */
#pragma once

#include <stdbool.h>

#include "http/exchange.h"

struct pool_recipe;
struct sandbox;

#define INTERPRETER_PORT 49999

/* For ingress_services[]. */
void interpreter_handle(struct http_exchange *x, struct sandbox *s);
bool interpreter_may_wake(struct http_exchange *x, struct sandbox *s);

/* A sandbox was made: if its template is for code, its Python starts now, unless it waits there already. */
void interpreter_begin(struct sandbox *s);
/* What the cells of POOL_CODE have inside. */
extern const struct pool_recipe interpreter_recipe;

/* For sandboxes_on_gone(): its processes are gone. Contexts stay when the sandbox does. */
void interpreter_gone(struct sandbox *s);
