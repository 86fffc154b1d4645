/* Random values from the host. They never fail: without randomness the program ends. */
#pragma once

#include <stddef.h>

void random_bytes(void *p, size_t size);
/* `count` characters of the alphabet, each equally likely, and a NUL. At most 256 characters in it. */
void random_text(char *ret, size_t count, const char *alphabet);
/* Version 4. */
void random_uuid(char ret[37]);

#define RANDOM_HEX	    "0123456789abcdef"
#define RANDOM_ALPHANUMERIC "abcdefghijklmnopqrstuvwxyz0123456789"
