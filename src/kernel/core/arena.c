/*
 * The arena allocator.
 *
 * The arena is cut into chunks of 64 KiB, aligned to their size. A chunk belongs either to a slab
 * (objects of one size class, carved from the front as needed, freed ones on a list) or to a large
 * allocation (a run of chunks). Both begin with a header, found by masking an object's address, so
 * kfree() needs no size. Which chunks are free is a bitmap outside of them: finding, freeing and
 * merging cost the same whatever pattern of holes a guest leaves behind. The memory of a free
 * chunk goes back to the host at once, hence comes back zeroed.
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
	struct list link; /* slab: chunks with room */
};
_Static_assert(sizeof(struct chunk) <= 64, "object area starts at 64");
#define CHUNK_HEADER 64u
#define CHUNKS_MAX (ARENA_MAX_BYTES / CHUNK_SIZE)
#define ARRAY_FIRST 16u /* elements, of karray_reserve() */

struct arena {
	uint64_t limit;
	uint32_t next; /* first chunk never used */
	uint32_t low;  /* no word of free_map below this one has a bit set */
	uint64_t used; /* bytes of chunks in use */
	uint64_t fail_first, fail_last; /* allocations that are to fail */
	uint64_t allocations;
	uint64_t objects;
	struct list partial[CLASS_COUNT];
	void *roots[ROOT_MAX];
	uint64_t free_map[CHUNKS_MAX / 64]; /* a bit per chunk; only what was ever used is resident */
};

/* The arena's own state is the first thing inside it. */
static struct arena *const arena = (struct arena *)ARENA_BASE;
#define OWN_CHUNKS ((sizeof(struct arena) + CHUNK_SIZE - 1) / CHUNK_SIZE)

int arena_init(uint64_t limit)
{
	int r = host_map_arena(ARENA_BASE, ARENA_MAX_BYTES);
	if (r < 0)
		return r;
	arena->limit = MIN(limit, ARENA_MAX_BYTES - OWN_CHUNKS * CHUNK_SIZE);
	arena->next = OWN_CHUNKS;
	for (size_t i = 0; i < CLASS_COUNT; i++)
		list_init(&arena->partial[i]);
	return 0;
}

static struct chunk *chunk_at(uint32_t index)
{
	return (struct chunk *)(uintptr_t)(ARENA_BASE + (uint64_t)index * CHUNK_SIZE);
}

/* ---- free chunks ---- */

static void mark_free(uint32_t first, uint32_t count, bool free)
{
	for (uint32_t i = first; i < first + count; i++) {
		uint64_t bit = 1ull << (i % 64);
		if (free)
			arena->free_map[i / 64] |= bit;
		else
			arena->free_map[i / 64] &= ~bit;
	}
}

/* The first free run of `count` chunks, lowest address first; 0 = none. */
static uint32_t find_free(uint32_t count)
{
	uint32_t words = (arena->next + 63) / 64, run = 0;
	bool any = false;

	for (uint32_t w = arena->low; w < words; w++) {
		uint64_t map = arena->free_map[w];

		if (!map) {
			if (!any)
				arena->low = w + 1;
			run = 0;
			continue;
		}
		any = true;
		for (uint32_t bit = 0; bit < 64; bit++) {
			if (!run && !(map >> bit))
				break; /* nothing more in this word */
			run = map >> bit & 1 ? run + 1 : 0;
			if (run == count)
				return w * 64 + bit + 1 - count;
		}
	}
	return 0;
}

static struct chunk *chunks_new(uint32_t count, uint8_t class)
{
	uint64_t size = (uint64_t)count * CHUNK_SIZE;

	if (size > arena->limit || arena->used > arena->limit - size)
		return NULL;
	uint32_t index = find_free(count);
	if (index) {
		mark_free(index, count, false);
	} else {
		if (count > CHUNKS_MAX - arena->next)
			return NULL;
		index = arena->next;
		arena->next += count;
	}
	struct chunk *c = chunk_at(index);
	arena->used += size;
	c->magic = CHUNK_MAGIC;
	c->class = class;
	c->used = class == LARGE_CLASS ? count : 0;
	list_init(&c->link);
	return c;
}

/* Gives the memory back to the host and the address range to whoever asks next. */
static void chunks_free(struct chunk *c, uint32_t count)
{
	uint32_t index = (uint32_t)(((uintptr_t)c - ARENA_BASE) / CHUNK_SIZE);

	arena->used -= (uint64_t)count * CHUNK_SIZE;
	host_discard(c, (size_t)count * CHUNK_SIZE);
	mark_free(index, count, true);
	arena->low = MIN(arena->low, index / 64);
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
	return arena->allocations >= arena->fail_first && arena->allocations <= arena->fail_last;
}

static void *large_new(size_t size)
{
	uint32_t count = (uint32_t)((size + CHUNK_HEADER + CHUNK_SIZE - 1) / CHUNK_SIZE);
	struct chunk *c = chunks_new(count, LARGE_CLASS);
	return c ? (char *)c + CHUNK_HEADER : NULL;
}

void *kmalloc(size_t size)
{
	if (injected_failure() || size > (1u << 30))
		return NULL;
	void *object = size <= class_size[CLASS_COUNT - 1] ? slab_new(class_of(size)) :
							     large_new(size);
	arena->objects += object != NULL;
	return object;
}

void kfree(void *ptr)
{
	if (!ptr)
		return;
	struct chunk *c = chunk_of(ptr);
	arena->objects--;
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

int karray_reserve(void *array, uint32_t count, uint32_t *capacity, size_t size)
{
	uint32_t more = *capacity ? *capacity * 2 : ARRAY_FIRST;
	void *elements;

	if (count < *capacity)
		return 0;
	if (more > INT32_MAX / size)
		return -ENOMEM;
	memcpy(&elements, array, sizeof(elements)); /* a pointer to any type */
	elements = krealloc(elements, *capacity * size, more * size);
	if (!elements)
		return -ENOMEM;
	memcpy(array, &elements, sizeof(elements));
	*capacity = more;
	return 0;
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

uint64_t arena_objects(void)
{
	return arena->objects;
}

uint64_t arena_allocations(void)
{
	return arena->allocations;
}

void arena_fail(uint64_t n, uint64_t count)
{
	uint64_t first = arena->allocations + n;

	arena->fail_first = n ? first : 0;
	arena->fail_last = !n ? 0 : count > UINT64_MAX - first ? UINT64_MAX : first + count - 1;
}

void arena_fail_after(uint64_t n)
{
	arena_fail(n, UINT64_MAX);
}
