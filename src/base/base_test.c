/* Buffer, map and region. */
#include "check.h"

#include "base/buffer.h"
#include "base/map.h"
#include "base/region.h"

TEST(buffer_grows_up_to_its_limit)
{
	struct buffer b;
	buffer_init(&b, 1000);
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(buffer_append(&b, "x", 1), 0);
	CHECK_EQ(buffer_append(&b, "x", 1), -EMSGSIZE);
	CHECK_EQ(b.size, 1000);
	CHECK_EQ(b.data[1000], 0);
	CHECK_EQ(buffer_append(&b, "", SIZE_MAX), -EMSGSIZE);
	buffer_fini(&b);
	CHECK_EQ(buffer_text(&b, "again"), 0);
	CHECK_STR((char *)b.data, "again");
	buffer_fini(&b);
}

TEST(buffer_is_a_queue)
{
	struct buffer b;
	buffer_init(&b, 100);
	unsigned in = 0, out = 0;
	for (int round = 0; round < 2000; round++) {
		for (int i = 0; i < round % 13 && b.size < 100; i++) {
			uint8_t v = (uint8_t)in++;
			CHECK_EQ(buffer_append(&b, &v, 1), 0);
		}
		for (int i = 0; i < round % 11 && b.size > 0; i++) {
			CHECK_EQ(b.data[0], (uint8_t)out++);
			buffer_take(&b, 1);
		}
	}
	CHECK_EQ(in - out, b.size);
	buffer_clear(&b);
	CHECK_EQ(b.size, 0);
	CHECK_EQ(buffer_printf(&b, "%d-%s", 12, "ab"), 0);
	CHECK_STR((char *)b.data, "12-ab");
	size_t size;
	uint8_t *data = buffer_steal(&b, &size);
	CHECK_EQ(size, 5);
	CHECK_STR((char *)data, "12-ab");
	free(data);
	CHECK(!b.data);
}

TEST(siphash_as_published)
{
	uint8_t key[16], data[15];
	uint64_t secret[2];
	for (int i = 0; i < 16; i++)
		key[i] = (uint8_t)i;
	memcpy(secret, key, 16);
	for (int i = 0; i < 15; i++)
		data[i] = (uint8_t)i;
	CHECK(siphash(secret, data, 15) == 0xa129ca6149be45e5);
	CHECK(siphash(secret, data, 0) == 0x726fdb47dd0e0e31);
}

TEST(map_finds_what_is_there)
{
	enum { COUNT = 3000 };
	static char keys[COUNT][8];
	struct map m;
	map_init(&m, COUNT);
	CHECK(!map_find_text(&m, "x"));
	CHECK(!map_remove_text(&m, "x"));
	for (int i = 0; i < COUNT; i++) {
		snprintf(keys[i], sizeof(keys[i]), "k%d", i);
		CHECK_EQ(map_insert_text(&m, keys[i], keys[i]), 0);
	}
	CHECK_EQ(map_insert_text(&m, "more", keys), -ENOSPC);
	CHECK_EQ(map_insert_text(&m, "k17", keys), -EEXIST);
	for (int i = 0; i < COUNT; i += 3)
		CHECK(map_remove_text(&m, keys[i]) == keys[i]);
	for (int i = 0; i < COUNT; i++)
		CHECK(map_find_text(&m, keys[i]) == (i % 3 == 0 ? NULL : keys[i]));
	size_t at = 0, seen = 0;
	while (map_next(&m, &at))
		seen++;
	CHECK_EQ(seen, m.count);
	CHECK_EQ(seen, COUNT - COUNT / 3);
	map_fini(&m);
	CHECK(!map_find_text(&m, "k1"));
}

TEST(map_empties_itself_while_iterated_anew)
{
	static char keys[100][8];
	struct map m;
	map_init(&m, 100);
	for (int i = 0; i < 100; i++) {
		snprintf(keys[i], sizeof(keys[i]), "%d", i);
		CHECK_EQ(map_insert_text(&m, keys[i], keys[i]), 0);
	}
	for (size_t at = 0; m.count; at = 0) {
		char *key = map_next(&m, &at);
		CHECK(map_remove_text(&m, key) == key);
	}
	map_fini(&m);
}

TEST(region_is_zeroed_and_bounded)
{
	struct region r;
	region_init(&r, 10000);
	char *a = region_alloc(&r, 10);
	char *big = region_alloc(&r, 5000);
	CHECK(a && big && (uintptr_t)big % 16 == 0);
	CHECK(big[0] == 0 && big[4999] == 0);
	CHECK(!region_alloc(&r, 5000));
	CHECK(!region_alloc(&r, SIZE_MAX));
	CHECK_STR(region_text(&r, "abcdef", 3), "abc");
	region_fini(&r);
	CHECK(region_alloc(&r, 10000));
	region_fini(&r);
}

CHECK_MAIN()
