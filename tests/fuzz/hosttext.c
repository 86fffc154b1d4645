/* Texts of the host which a guest or a user has a say in: mount tables, control groups, mappings. */
#include "fuzz.h"

#include <string.h>

#include "kernel/mm/maps.h"
#include "launch/cgroup_internal.h"

static void maps(char *text)
{
	struct mm_map map;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (mm_maps_parse(line, &map))
			FUZZ_CHECK(memchr(map.perms, 0, sizeof(map.perms)) && map.name);
	}
}

static void groups(const char *text)
{
	static struct cgroup_mount m;
	char path[256];
	const char *cursor = text;
	while (cgroup_next_mount(&cursor, "cgroup", &m)) {
		FUZZ_CHECK(memchr(m.point, 0, sizeof(m.point)) && memchr(m.super, 0, sizeof(m.super)));
		(void)cgroup_has_word(m.super, "memory", ",");
		(void)cgroup_relative(m.point, m.root);
	}
	static const char *const controllers[] = { "memory", "", "cpu" };
	for (int i = 0; i < 3; i++)
		if (cgroup_own_path(text, controllers[i], path, sizeof(path)))
			FUZZ_CHECK(memchr(path, 0, sizeof(path)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char text[20000];
	struct fuzz_input in = { data, size };
	fuzz_text(in, text, sizeof(text));
	groups(text);
	maps(text);
	return 0;
}
