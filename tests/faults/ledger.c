/*
 * Who made the objects in the arena that are in use: a table from address to the place of the call,
 * kept in front of the real allocator (--wrap). What a test of leaks finds gets a name by it.
 */
#include "ledger.h"

#include <stdbool.h>

#include "base/util.h"
#include "kernel/core/arena.h"

#define SLOTS (1u << 19)
#define HERE  ((uintptr_t)__builtin_return_address(0))

/* Address 0: free; 1: was in use, the search goes on behind it. */
static struct entry {
	uintptr_t object, site;
} entries[SLOTS];

extern const char __executable_start[];

static uint32_t slot_of(uintptr_t object)
{
	return (uint32_t)((object >> 4) * 0x9e3779b97f4a7c15ull >> 45);
}

static void remember(const void *object, uintptr_t site)
{
	if (!object)
		return;
	for (uint32_t i = 0, at = slot_of((uintptr_t)object); i < SLOTS;
	     i++, at = (at + 1) % SLOTS) {
		if (entries[at].object > 1)
			continue;
		entries[at] = (struct entry){ (uintptr_t)object, site };
		return;
	}
}

static void forget(const void *object)
{
	for (uint32_t i = 0, at = slot_of((uintptr_t)object); i < SLOTS;
	     i++, at = (at + 1) % SLOTS) {
		if (!entries[at].object)
			return;
		if (entries[at].object == (uintptr_t)object) {
			entries[at].object = 1;
			return;
		}
	}
}

uint32_t ledger_sites(struct faults_site *sites, uint32_t capacity)
{
	uint32_t count = 0, s;

	for (uint32_t at = 0; at < SLOTS; at++) {
		if (entries[at].object < 2)
			continue;
		uint64_t place = entries[at].site - (uintptr_t)__executable_start;
		for (s = 0; s < count && sites[s].place != place; s++)
			;
		if (s == capacity)
			continue;
		if (s == count)
			sites[count++] = (struct faults_site){ .place = place };
		sites[s].objects++;
	}
	return count;
}

#define WRAP(call)                                                                                 \
	void *object = call;                                                                       \
	remember(object, HERE);                                                                    \
	return object

void *__real_kmalloc(size_t size);
void *__wrap_kmalloc(size_t size);
void *__wrap_kmalloc(size_t size)
{
	WRAP(__real_kmalloc(size));
}

void *__real_kmalloc_array(size_t size, size_t count);
void *__wrap_kmalloc_array(size_t size, size_t count);
void *__wrap_kmalloc_array(size_t size, size_t count)
{
	WRAP(__real_kmalloc_array(size, count));
}

void *__real_arena_pages(size_t count);
void *__wrap_arena_pages(size_t count);
void *__wrap_arena_pages(size_t count)
{
	WRAP(__real_arena_pages(count));
}

char *__real_kmemdup0(const void *bytes, size_t size);
char *__wrap_kmemdup0(const void *bytes, size_t size);
char *__wrap_kmemdup0(const void *bytes, size_t size)
{
	WRAP(__real_kmemdup0(bytes, size));
}

char *__real_kstrdup(const char *s);
char *__wrap_kstrdup(const char *s);
char *__wrap_kstrdup(const char *s)
{
	WRAP(__real_kstrdup(s));
}

void *__real_krealloc(void *ptr, size_t old_size, size_t new_size);
void *__wrap_krealloc(void *ptr, size_t old_size, size_t new_size);
void *__wrap_krealloc(void *ptr, size_t old_size, size_t new_size)
{
	void *object = __real_krealloc(ptr, old_size, new_size);

	if (object != ptr) {
		if (object && ptr)
			forget(ptr);
		remember(object, HERE);
	}
	return object;
}

void __real_kfree(void *ptr);
void __wrap_kfree(void *ptr);
void __wrap_kfree(void *ptr)
{
	if (ptr)
		forget(ptr);
	__real_kfree(ptr);
}

void __real_arena_pages_free(void *pages, size_t count);
void __wrap_arena_pages_free(void *pages, size_t count);
void __wrap_arena_pages_free(void *pages, size_t count)
{
	if (pages)
		forget(pages);
	__real_arena_pages_free(pages, count);
}
