/* Random bytes of the host. */
#pragma once

#include <stddef.h>

/* Fills the buffer; cannot fail once the host's generator is seeded (it is, long before us). */
int host_random(void *buf, size_t size);
