/* Shared by downloads and uploads. */
#pragma once

#include <stdint.h>

#include "http/exchange.h"

/* Answers with {"code", "message"}: the status for an error of the sandbox. */
void files_fail(struct http_exchange *x, int error, uint32_t about, const char *message);

/* How the body may be encoded, from Accept-Encoding. */
enum files_coding { FILES_IDENTITY, FILES_GZIP, FILES_NONE };
enum files_coding files_accepted(const char *accept_encoding);
