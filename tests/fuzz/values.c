/* Values of command line options. */
#include "fuzz.h"

#include <string.h>

#include "base/parse.h"

static void mount(const char *text)
{
	static struct mount_text m;
	if (parse_mount(text, &m) < 0)
		return;
	FUZZ_CHECK(m.host[0] && m.guest[0] == '/');
	FUZZ_CHECK(!strstr(m.guest, "//") && !strstr(m.guest, "/../") && !strstr(m.guest, "/./"));
	size_t n = strlen(m.guest);
	FUZZ_CHECK(n < 3 || strcmp(m.guest + n - 3, "/..") != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char text[9000];
	uint64_t v = 4711;
	struct fuzz_input in = { data, size };
	fuzz_text(in, text, sizeof(text));
	FUZZ_CHECK(parse_size(text, &v) == 0 || v == 4711);
	v = 4711;
	FUZZ_CHECK(parse_duration(text, &v) == 0 || v == 4711);
	v = 4711;
	FUZZ_CHECK(parse_count(text, &v) == 0 || v == 4711);
	v = 4711;
	FUZZ_CHECK(parse_cpus(text, &v) == 0 || v == 4711);
	mount(text);
	return 0;
}
