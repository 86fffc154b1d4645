/* Bodies of the control channel, as either end decodes them. What is accepted can be encoded again and
 * is accepted again. */
#include "fuzz.h"

#include <string.h>

#include "wire/wire.h"

static uint8_t again[WIRE_BODY_MAX];

static void touch(const char *s, const struct wire_in *in)
{
	size_t length = strlen(s);
	const uint8_t *at = (const uint8_t *)s;
	/* Inside of the message with its NUL, or the codec's own empty text. */
	FUZZ_CHECK(!length || (at >= in->data && at + length < in->data + in->length));
}

static void config(struct wire_in *in)
{
	static struct wire_config c, second;
	struct wire_out o = { again, 0, sizeof(again), false };
	if (!wire_get_config(in, &c))
		return;
	FUZZ_CHECK(c.mount_count <= sizeof(c.mounts) / sizeof(c.mounts[0]));
	touch(c.hostname, in);
	touch(c.user, in);
	for (uint32_t i = 0; i < c.mount_count; i++) {
		touch(c.mounts[i].guest, in);
		touch(c.mounts[i].target, in);
	}
	wire_put_config(&o, &c);
	struct wire_in back = { again, o.length, 0, false };
	FUZZ_CHECK(!o.failed && wire_get_config(&back, &second));
	FUZZ_CHECK(second.mount_count == c.mount_count && second.user_uid == c.user_uid);
}

static void spawn(struct wire_in *in)
{
	struct wire_spawn s, second;
	struct wire_out o = { again, 0, sizeof(again), false };
	if (!wire_get_spawn(in, &s))
		return;
	touch(s.user, in);
	touch(s.cwd, in);
	touch(s.path, in);
	const char *arg = s.args, *end = s.args + s.args_size;
	for (uint64_t i = 0; i < (uint64_t)s.argc + s.envc; i++) {
		FUZZ_CHECK(arg < end);
		arg += strlen(arg) + 1;
	}
	FUZZ_CHECK(arg == end);
	wire_put_spawn(&o, &s);
	struct wire_in back = { again, o.length, 0, false };
	FUZZ_CHECK(!o.failed && wire_get_spawn(&back, &second));
	FUZZ_CHECK(second.argc == s.argc && second.args_size == s.args_size);
}

static void stats(struct wire_in *in)
{
	static struct wire_stats s;
	if (wire_get_stats(in, &s))
		FUZZ_CHECK(memchr(s.refused, 0, sizeof(s.refused)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const kinds[])(struct wire_in *) = { config, spawn, stats };
	if (!size)
		return 0;
	struct wire_in in = { data + 1, (uint32_t)size - 1, 0, false };
	kinds[*data % (sizeof(kinds) / sizeof(kinds[0]))](&in);
	return 0;
}
