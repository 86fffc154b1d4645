/* Between the two halves of HTTP/1.1: requests (h1.c) and responses (h1_response.c). */
#pragma once

#include "http/conn_internal.h"
#include "http/exchange_internal.h"
#include "http/server_internal.h"

extern const struct http_carrier h1_carrier;

/* Sends the end and throws away what still comes. */
void h1_linger(struct http_conn *c);
/* Answers without an exchange, and closes. `why` is a constant. */
void h1_refuse(struct http_conn *c, int status, const char *why);
