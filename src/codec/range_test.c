#include "codec/range.h"

#include "check.h"

static const struct {
	const char *header;
	uint64_t size;
	enum range_result result;
	uint64_t first, length;
} cases[] = {
	{ "bytes=0-0", 10, RANGE_ONE, 0, 1 },
	{ "bytes=2-5", 10, RANGE_ONE, 2, 4 },
	{ "bytes=5-", 10, RANGE_ONE, 5, 5 },
	{ "bytes=5-99999999999999999999999", 10, RANGE_ONE, 5, 5 },
	{ "bytes=-3", 10, RANGE_ONE, 7, 3 },
	{ "bytes=-30", 10, RANGE_ONE, 0, 10 },
	{ "bytes=9-9", 10, RANGE_ONE, 9, 1 },
	{ "bytes=10-", 10, RANGE_UNSATISFIABLE, 0, 0 },
	{ "bytes=0-", 0, RANGE_UNSATISFIABLE, 0, 0 },
	{ "bytes=-0", 10, RANGE_UNSATISFIABLE, 0, 0 },
	{ "bytes=99999999999999999999999-", 10, RANGE_UNSATISFIABLE, 0, 0 },
	{ "bytes=5-2", 10, RANGE_NONE, 0, 0 },
	{ "bytes=0-1,3-4", 10, RANGE_NONE, 0, 0 },
	{ "bytes=-", 10, RANGE_NONE, 0, 0 },
	{ "bytes=", 10, RANGE_NONE, 0, 0 },
	{ "bytes=1-2 ", 10, RANGE_NONE, 0, 0 },
	{ "lines=1-2", 10, RANGE_NONE, 0, 0 },
	{ NULL, 10, RANGE_NONE, 0, 0 },
};

TEST(ranges_as_rfc_9110_has_them)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t first = 0, length = 0;
		CHECK(range_parse(cases[i].header, cases[i].size, &first, &length) ==
		      cases[i].result);
		CHECK(first == cases[i].first && length == cases[i].length);
	}
}

CHECK_MAIN()
