/* Configuration files by a table of options: one of each kind. */
#include "fuzz.h"

#include <string.h>

#include "base/options.h"

static struct values {
	int flag;
	const char *text, *optional;
	uint64_t size, duration, count, cpus;
	struct option_list list;
} values;

static const struct option_spec specs[] = {
	{ .name = "flag", .letter = 'f', .kind = OPTION_FLAG, .offset = offsetof(struct values, flag), .value = 1 },
	{ .name = "text", .letter = 't', .kind = OPTION_TEXT, .offset = offsetof(struct values, text) },
	{ .name = "optional", .kind = OPTION_OPTIONAL, .offset = offsetof(struct values, optional) },
	{ .name = "size", .kind = OPTION_SIZE, .offset = offsetof(struct values, size), .initial = "1G", .min = 4096 },
	{ .name = "duration", .kind = OPTION_DURATION, .offset = offsetof(struct values, duration), .initial = "1s" },
	{ .name = "count", .kind = OPTION_COUNT, .offset = offsetof(struct values, count), .initial = "5", .max = 100 },
	{ .name = "cpus", .kind = OPTION_CPUS, .offset = offsetof(struct values, cpus), .initial = "1" },
	{ .name = "list", .kind = OPTION_LIST, .offset = offsetof(struct values, list) },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char text[20000];
	struct fuzz_input in = { data, size };
	const size_t count = sizeof(specs) / sizeof(specs[0]);
	struct error err;
	fuzz_text(in, text, sizeof(text));
	memset(&values, 0, sizeof(values));
	options_init(specs, count, &values);
	int r = options_parse_file(specs, count, &values, "file", text, &err);
	FUZZ_CHECK(r == 0 || memchr(err.message, 0, sizeof(err.message)));
	FUZZ_CHECK(values.count <= 100 && values.size >= 4096);
	FUZZ_CHECK(values.list.count <= OPTION_ITEMS_MAX);
	for (unsigned int i = 0; i < values.list.count; i++)
		FUZZ_CHECK(values.list.items[i].text >= text && values.list.items[i].text < text + sizeof(text));
	return 0;
}
