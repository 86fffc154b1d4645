/* The arena under random loads, and the hash that guests must not be able to predict. */
#include "check.h"

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/hash.h"

#define OBJECTS 2000

static uint32_t seed = 1;
static uint32_t rnd(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

static struct {
	uint8_t *at;
	size_t size;
} objects[OBJECTS];

static void fill(size_t i)
{
	/* Mostly small, some of several chunks: holes of every size. */
	size_t size = rnd(8) ? rnd(5000) : rnd(400000);
	uint8_t *p = kmalloc(size);

	if (!p)
		return;
	for (size_t k = 0; k < size; k += 97)
		CHECK_EQ(p[k], 0);
	memset(p, (int)(i | 1), size);
	objects[i].at = p;
	objects[i].size = size;
}

static void empty(size_t i)
{
	for (size_t k = 0; k < objects[i].size; k += 97)
		CHECK_EQ(objects[i].at[k], (uint8_t)(i | 1));
	kfree(objects[i].at);
	objects[i].at = NULL;
	objects[i].size = 0;
}

TEST(objects_are_zeroed_and_do_not_overlap)
{
	CHECK_EQ(arena_init(MIB(64)), 0);
	for (int step = 0; step < 60000; step++) {
		size_t i = rnd(OBJECTS);
		if (objects[i].at)
			empty(i);
		else
			fill(i);
		CHECK(arena_used() <= MIB(64));
	}
	for (size_t i = 0; i < OBJECTS; i++)
		empty(i);
	CHECK_EQ(arena_objects(), 0);
	/* One chunk per class may stay; the rest is one piece again. */
	CHECK(arena_used() < MIB(2));
	void *all = kmalloc(MIB(60));
	CHECK(all);
	kfree(all);
}

TEST(failures_hit_what_they_are_meant_to_hit)
{
	CHECK_EQ(arena_init(MIB(64)), 0);
	arena_fail(2, 2);
	CHECK(kmalloc(1));
	CHECK(!kmalloc(1));
	CHECK(!kmalloc(100000));
	CHECK(kmalloc(1));
	arena_fail_after(1);
	CHECK(!kmalloc(1));
	CHECK(!kmalloc(1));
	arena_fail(0, 0);
	CHECK(kmalloc(1));
}

/* Two eight-byte words whose differences cancel in a multiply-xorshift hash with any key. */
TEST(prepared_names_do_not_collide)
{
	char name[240] = "";
	uint32_t seen = 0, different = 0, first;

	CHECK_EQ(arena_init(MIB(64)), 0);
	CHECK_EQ(hash_init(), 0);
	first = hash_bytes(name, sizeof(name), 1);
	for (int pair = 0; pair < 15; pair++) {
		memset(name, 0, sizeof(name));
		name[pair * 16 + 7] = (char)0x80;
		name[pair * 16 + 15] = (char)0x80;
		name[pair * 16 + 12] = 0x04;
		seen++;
		different += hash_bytes(name, sizeof(name), 1) != first;
	}
	CHECK_EQ(seen, different);
	CHECK(hash_bytes("a", 1, 1) != hash_bytes("a", 1, 2));
	CHECK(hash_bytes("a", 1, 1) != hash_bytes("a\0", 2, 1));
	CHECK_EQ(hash_bytes("name", 4, 7), hash_bytes("name", 4, 7));
}

CHECK_MAIN()
