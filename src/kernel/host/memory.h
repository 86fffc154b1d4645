/* The kernel process's own memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Maps zeroed, lazily populated memory at exactly `address`. 0 or -errno (-EEXIST: occupied). */
int host_map_arena(uint64_t address, uint64_t size);
/* Gives pages back; they read as zeroes afterwards. Partial pages at the ends are cleared. */
void host_discard(void *p, size_t size);
