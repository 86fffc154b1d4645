/* Errors of a sandbox in words: it says errno and what about; people want a sentence. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define EXPLAIN_SIZE 512

/* error = errno; about = enum wire_about; subject = the path, user or program that it is about. */
void explain(char ret[EXPLAIN_SIZE], int error, uint32_t about, const char *subject);
