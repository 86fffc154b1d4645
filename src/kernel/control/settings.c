/*
 * What the owner of a sandbox may change while it runs: SET_LIMITS, SET_HOSTNAME.
 *
 * Limits that the host enforces as well, with what it was told at the start (the size of the store in
 * memory, the number of tasks), can be lowered and raised again up to that, but not beyond. So a
 * sandbox that is to get its limits later is started with the largest.
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "kernel/control/control.h"
#include "kernel/control/requests.h"
#include "kernel/core/arena.h"
#include "kernel/core/limits.h"
#include "kernel/fs/setup.h"
#include "kernel/host/host_ref.h"
#include "kernel/task/uts.h"
#include "wire/channel.h"

struct settings {
	bool ready;
	uint64_t first[LIMIT_MAX]; /* values at the start */
};

static struct settings *get(void)
{
	struct settings *s = arena_root(ROOT_SETTINGS, sizeof(*s));

	if (!s || s->ready)
		return s;
	for (unsigned i = 0; i < LIMIT_MAX; i++)
		s->first[i] = limit_value((enum limit)i);
	s->ready = true;
	return s;
}

static bool may_be(const struct settings *s, enum limit l, uint64_t value)
{
	if (l == LIMIT_ARENA_BYTES)
		return value == s->first[l]; /* the arena has its size for life */
	if (l == LIMIT_PIDS || (l == LIMIT_DISK_BYTES && !host_store_unbounded()))
		return value <= s->first[l];
	return true;
}

bool limits_message(const struct message *m, struct wire_in *in)
{
	struct settings *s = get();
	uint64_t values[LIMIT_MAX];
	int r = s ? 0 : -ENOMEM;

	for (unsigned i = 0; i < LIMIT_MAX; i++)
		values[i] = wire_get_u64(in);
	if (!wire_in_end(in))
		return false;
	for (unsigned i = 0; i < LIMIT_MAX && r == 0; i++) {
		if (values[i] && !may_be(s, (enum limit)i, values[i]))
			r = -ERANGE;
	}
	if (r < 0) {
		control_error(m->header.request, -r, WIRE_ABOUT_REQUEST,
			      "beyond what the sandbox was started with");
		return true;
	}
	for (unsigned i = 0; i < LIMIT_MAX; i++) {
		if (values[i])
			limit_set((enum limit)i, values[i]);
	}
	control_done(m->header.request);
	return true;
}

static bool is_hostname(const char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
	size_t length = strlen(name);

	return length > 0 && length < UTS_LENGTH && name[0] != '-' && name[0] != '.' &&
	       strspn(name, allowed) == length;
}

bool hostname_message(const struct message *m, struct wire_in *in)
{
	const char *name = wire_get_str(in);

	if (!wire_in_end(in))
		return false;
	int r = is_hostname(name) ? fs_set_hostname(name) : -EINVAL;
	if (r < 0) {
		control_error(m->header.request, -r, WIRE_ABOUT_REQUEST, "host name");
		return true;
	}
	memset(uts()->nodename, 0, UTS_LENGTH);
	memcpy(uts()->nodename, name, strlen(name));
	control_done(m->header.request);
	return true;
}
