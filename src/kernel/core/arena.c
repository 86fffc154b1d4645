/*
 * The arena allocator.
 *
 * The arena is cut into chunks of 64 KiB, aligned to their size. A chunk belongs either to a slab
 * (objects of one size class, carved from the front as needed, freed ones on a list) or to a large
 * allocation (a run of chunks). Both begin with a header, found by masking an object's address, so
 * kfree() needs no size. Runs that are free are kept in address order and merged with their
 * neighbours; their memory goes back to the host at once, hence comes back zeroed.
 *
 *   | header | obj | obj | free | obj | ... never used yet ... |     one slab chunk
 *
 * Objects are zeroed when handed out. Nothing here aborts; the arena limit and the injected
 * failure of tests both show as NULL.
 */
#include "kernel/core/arena.h"

#include <errno.h>
#include <string.h>

#include "base/list.h"
#include "base/util.h"
#include "kernel/host/memory.h"

#define CHUNK_SIZE 65536u
#define CHUNK_MAGIC 0x686f7463u
#define LARGE_CLASS 0xff

static const uint32_t class_size[] = { 16,   32,   48,	 64,   96,   128,  192,	 256,	384,
				       512,  768,  1024, 1536, 2048, 3072, 4096, 8160,	10880,
				       16352, 32736 };
#define CLASS_COUNT ARRAY_SIZE(class_size)

struct chunk {
	uint32_t magic;
	uint8_t class; /* index of class_size, or LARGE_CLASS */
	uint32_t used; /* objects in use; chunks of a large run */
	uint32_t carved; /* objects handed out at least once */
	void *freed;	 /* list through the objects' first word */
	struct list link; /* slab: chunks with room; free run: all free runs by address */
};
_Static_assert(sizeof(struct chunk) <= 64, "object area starts at 64");
#define CHUNK_HEADER 64u

struct arena {
	uint64_t limit;
	uint64_t next;	/* first chunk never used */
	uint64_t used; /* bytes of chunks in use */
	uint64_t fail_after;
	uint64_t allocations;
	struct list partial[CLASS_COUNT];
	struct list free_runs;
	void *roots[ROOT_MAX];
};

/* The arena's own state is the first thing inside it. */
static struct arena *const arena = (struct arena *)ARENA_BASE;

int arena_init(uint64_t limit)
{
	int r = host_map_arena(ARENA_BASE, ARENA_MAX_BYTES);
	if (r < 0)
		return r;
	arena->limit = MIN(limit, ARENA_MAX_BYTES - CHUNK_SIZE);
	arena->next = ARENA_BASE + CHUNK_SIZE;
	for (size_t i = 0; i < CLASS_COUNT; i++)
		list_init(&arena->partial[i]);
	list_init(&arena->free_runs);
	return 0;
}

/* Takes `count` chunks from the front of a free run that is large enough. */
static struct chunk *take_free_run(uint32_t count)
{
	struct chunk *run;

	list_for_each(run, &arena->free_runs, link) {
		if (run->used < count)
			continue;
		if (run->used > count) {
			struct chunk *rest =
				(struct chunk *)(void *)((char *)run + (size_t)count * CHUNK_SIZE);
			rest->magic = CHUNK_MAGIC;
			rest->used = run->used - count;
			list_insert_between(&rest->link, run->link.prev, run->link.next);
		} else {
			list_del(&run->link);
		}
		memset(run, 0, sizeof(*run));
		return run;
	}
	return NULL;
}

static struct chunk *chunks_new(uint32_t count, uint8_t class)
{
	uint64_t size = (uint64_t)count * CHUNK_SIZE;
	struct chunk *c;

	if (size > arena->limit || arena->used > arena->limit - size)
		return NULL;
	c = take_free_run(count);
	if (!c) {
		if (size > ARENA_BASE + ARENA_MAX_BYTES - arena->next)
			return NULL;
		c = (struct chunk *)(uintptr_t)arena->next;
		arena->next += size;
	}
	arena->used += size;
	c->magic = CHUNK_MAGIC;
	c->class = class;
	c->used = class == LARGE_CLASS ? count : 0;
	list_init(&c->link);
	return c;
}

static bool adjacent(const struct chunk *a, const struct chunk *b)
{
	return (const char *)a + (size_t)a->used * CHUNK_SIZE == (const char *)b;
}

/* Gives the memory back to the host and the address range to the list of free runs. */
static void chunks_free(struct chunk *c, uint32_t count)
{
	struct chunk *next;

	arena->used -= (uint64_t)count * CHUNK_SIZE;
	host_discard(c, (size_t)count * CHUNK_SIZE);
	c->magic = CHUNK_MAGIC;
	c->used = count;
	list_for_each(next, &arena->free_runs, link) {
		if (next > c)
			break;
	}
	list_insert_between(&c->link, next->link.prev, &next->link);
	if (&next->link != &arena->free_runs && adjacent(c, next)) {
		c->used += next->used;
		list_del(&next->link);
		memset(next, 0, sizeof(*next));
	}
	if (c->link.prev != &arena->free_runs) {
		struct chunk *prev = list_entry(c->link.prev, struct chunk, link);
		if (adjacent(prev, c)) {
			prev->used += c->used;
			list_del(&c->link);
			memset(c, 0, sizeof(*c));
		}
	}
}

static uint8_t class_of(size_t size)
{
	uint8_t i = 0;
	while (class_size[i] < size)
		i++;
	return i;
}

static uint32_t class_capacity(uint8_t class)
{
	return (CHUNK_SIZE - CHUNK_HEADER) / class_size[class];
}

static void *slab_new(uint8_t class)
{
	uint32_t size = class_size[class];
	struct list *partial = &arena->partial[class];
	struct chunk *c = list_empty(partial) ? NULL : list_first(partial, struct chunk, link);
	void *object;

	if (!c) {
		c = chunks_new(1, class);
		if (!c)
			return NULL;
		list_add_head(partial, &c->link);
	}
	if (c->freed) {
		object = c->freed;
		memcpy(&c->freed, object, sizeof(void *));
		memset(object, 0, size);
	} else {
		object = (char *)c + CHUNK_HEADER + (size_t)c->carved * size;
		c->carved++;
	}
	if (++c->used == class_capacity(class))
		list_del(&c->link);
	return object;
}

static struct chunk *chunk_of(const void *object)
{
	struct chunk *c = (struct chunk *)((uintptr_t)object & ~(uintptr_t)(CHUNK_SIZE - 1));
	if (c->magic != CHUNK_MAGIC)
		__builtin_trap(); /* not ours: the arena is corrupt, this sandbox ends */
	return c;
}

static void slab_free(struct chunk *c, void *object)
{
	struct list *partial = &arena->partial[c->class];

	memcpy(object, &c->freed, sizeof(void *));
	c->freed = object;
	if (c->used-- == class_capacity(c->class))
		list_add_head(partial, &c->link);
	/* Keep one chunk per class for the next one who asks. */
	if (c->used == 0 && (partial->next != &c->link || partial->prev != &c->link)) {
		list_del(&c->link);
		chunks_free(c, 1);
	}
}

static bool injected_failure(void)
{
	arena->allocations++;
	return arena->fail_after && arena->allocations >= arena->fail_after;
}

void *kmalloc(size_t size)
{
	if (injected_failure() || size > (1u << 30))
		return NULL;
	if (size <= class_size[CLASS_COUNT - 1])
		return slab_new(class_of(size));
	uint32_t count = (uint32_t)((size + CHUNK_HEADER + CHUNK_SIZE - 1) / CHUNK_SIZE);
	struct chunk *c = chunks_new(count, LARGE_CLASS);
	return c ? (char *)c + CHUNK_HEADER : NULL;
}

void kfree(void *ptr)
{
	if (!ptr)
		return;
	struct chunk *c = chunk_of(ptr);
	if (c->class == LARGE_CLASS)
		chunks_free(c, c->used);
	else
		slab_free(c, ptr);
}

void *kmalloc_array(size_t size, size_t count)
{
	size_t total;
	return __builtin_mul_overflow(size, count, &total) ? NULL : kmalloc(total);
}

static size_t usable_size(const void *ptr)
{
	const struct chunk *c = chunk_of(ptr);
	return c->class == LARGE_CLASS ? (size_t)c->used * CHUNK_SIZE - CHUNK_HEADER
				       : class_size[c->class];
}

void *krealloc(void *ptr, size_t old_size, size_t new_size)
{
	if (ptr && new_size <= usable_size(ptr) && new_size > old_size) {
		memset((char *)ptr + old_size, 0, new_size - old_size);
		return ptr;
	}
	void *bigger = kmalloc(new_size);
	if (bigger && ptr) {
		memcpy(bigger, ptr, MIN(old_size, new_size));
		kfree(ptr);
	}
	return bigger;
}

char *kmemdup0(const void *bytes, size_t size)
{
	char *copy = kmalloc(size + 1);
	if (copy)
		memcpy(copy, bytes, size);
	return copy;
}

char *kstrdup(const char *s)
{
	return kmemdup0(s, strlen(s));
}

void *arena_pages(size_t count)
{
	return kmalloc_array(PAGE_SIZE, count);
}

void arena_pages_free(void *pages, size_t count)
{
	(void)count;
	kfree(pages);
}

uint64_t arena_used(void)
{
	return arena->used;
}

void *arena_root(enum arena_root id, size_t size)
{
	if (!arena->roots[id])
		arena->roots[id] = kmalloc(size);
	return arena->roots[id];
}

void arena_fail_after(uint64_t n)
{
	arena->fail_after = n ? arena->allocations + n : 0;
}
