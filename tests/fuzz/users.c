/* /etc/passwd and /etc/group, which the guest may write: first byte the user that is looked for, then
 * one file up to a NUL byte, then the other. */
#include "fuzz.h"

#include <string.h>

#include "kernel/control/users.h"
#include "world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const specs[] = { "", "root", "user", "1000", "1000:1000", "nobody", ":", "a:b", "-1", "4294967295", "1:", "0" };
	struct fuzz_input in = { data, size };
	struct user u;
	if (size > 60000)
		return 0;
	const char *spec = specs[fuzz_byte(&in) % (sizeof(specs) / sizeof(specs[0]))];
	const uint8_t *cut = memchr(in.data, 0, in.size);
	size_t first = cut ? (size_t)(cut - in.data) : in.size;
	world_put("/etc/passwd", in.data, first);
	world_put("/etc/group", cut ? cut + 1 : in.data, cut ? in.size - first - 1 : 0);
	if (user_resolve(world_task(), spec, "user", &u) < 0)
		return 0;
	FUZZ_CHECK(memchr(u.name, 0, sizeof(u.name)) && memchr(u.home, 0, sizeof(u.home)));
	FUZZ_CHECK(u.uid != UINT32_MAX && u.gid != UINT32_MAX);
	struct cred *c = user_cred(world_task(), &u);
	FUZZ_CHECK(c && c->group_count <= CRED_GROUPS_MAX);
	cred_put(c);
	return 0;
}
