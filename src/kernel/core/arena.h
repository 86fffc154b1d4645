/*
 * The arena: one mapping at one address that holds every object of the application kernel.
 *
 * Rules (they are what makes checkpoint, restore and fork possible):
 *  - every kernel object lives here; nothing of the kernel's state is in libc's heap or in .data;
 *  - no code pointers and no pointers to static data inside: operations are small integers that
 *    index const tables;
 *  - host descriptors are never stored bare (see host/host_ref.h);
 *  - absolute times are kept on the sandbox's own clock (see core/clock.h).
 *
 * Allocation never aborts: it returns NULL when the arena limit is reached, the caller answers
 * -ENOMEM. Memory is always zeroed. There is one thread, hence no locks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARENA_BASE 0x200000000000ull
#define ARENA_MAX_BYTES (64ull << 30) /* address space reserved, not memory */
#ifndef PAGE_SIZE /* some libcs have it in limits.h */
#define PAGE_SIZE 4096u
#endif

/* Reserves the arena. `limit` bounds what may ever be allocated, in bytes. 0 or -errno. */
int arena_init(uint64_t limit);

/* `count` contiguous zeroed pages, or NULL. */
void *arena_pages(size_t count);
void arena_pages_free(void *pages, size_t count);

uint64_t arena_used(void); /* bytes handed out, in pages */
uint64_t arena_objects(void); /* allocations not freed: what tests of leaks compare */
uint64_t arena_allocations(void); /* ever tried */

/*
 * Module roots: a module keeps all its state in one struct found through its root id, so that a
 * restored arena finds it again. Created zeroed at first use; NULL only when the arena is full.
 */
enum arena_root {
	ROOT_CLOCK,
	ROOT_TIMER,
	ROOT_CALL,
	ROOT_TASK,
	ROOT_VFS,
	ROOT_TREEFS,
	ROOT_HOSTREF,
	ROOT_TTY,
	ROOT_UNIX,
	ROOT_INET,
	ROOT_NETLINK,
	ROOT_SHM,
	ROOT_LOCKS,
	ROOT_INOTIFY,
	ROOT_EPOLL,
	ROOT_LIMITS,
	ROOT_CONTROL,
	ROOT_DEVFS,
	ROOT_SIGNALFD,
	ROOT_SYSV,
	ROOT_RING,
	ROOT_SOCKET,
	ROOT_UTS,
	ROOT_MM_NAMES,
	ROOT_FAMILY,
	ROOT_METER,
	ROOT_ORPHANS,
	ROOT_OPS,
	ROOT_HASH,
	ROOT_SETTINGS,
	ROOT_FREEZE,
	ROOT_REBOOT,
	ROOT_IMAGE,
	ROOT_MAX,
};
void *arena_root(enum arena_root id, size_t size);

/*
 * kmalloc: zeroed memory of any size up to 1 GiB, size-class slabs below 32 KiB, whole pages above.
 * knew(type) is the usual spelling. kfree(NULL) is fine.
 */
void *kmalloc(size_t size);
void *krealloc(void *ptr, size_t old_size, size_t new_size); /* grown part zeroed; NULL keeps ptr */
void kfree(void *ptr);
char *kstrdup(const char *s);
char *kmemdup0(const void *bytes, size_t size); /* copy plus a NUL */

#define knew(type) ((type *)kmalloc(sizeof(type)))
#define knew_array(type, count) ((type *)kmalloc_array(sizeof(type), (count)))
void *kmalloc_array(size_t size, size_t count); /* NULL on overflow */
/*
 * Room for one more behind `count` elements of `size` bytes: the array that *array points to doubles
 * when it is full. -ENOMEM: everything as before.
 */
int karray_reserve(void *array, uint32_t count, uint32_t *capacity, size_t size);

/* Tests: `count` allocations fail from the n-th on (1 = next); n = 0 switches off. */
void arena_fail(uint64_t n, uint64_t count);
void arena_fail_after(uint64_t n); /* the n-th and every later one */
