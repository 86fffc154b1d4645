/* What a sandbox says about itself: statistics, processes, errors. */
#include <string.h>

#include "wire/wire.h"

void wire_put_stats(struct wire_out *o, const struct wire_stats *s)
{
	wire_put_bytes(o, s, sizeof(*s));
}

bool wire_get_stats(struct wire_in *in, struct wire_stats *ret)
{
	const void *p = wire_get_bytes(in, sizeof(*ret));
	if (!p)
		return false;
	memcpy(ret, p, sizeof(*ret));
	ret->refused[sizeof(ret->refused) - 1] = '\0';
	return true;
}

void wire_put_process(struct wire_out *o, const struct wire_process *p)
{
	wire_put_u32(o, p->pid);
	wire_put_u32(o, p->parent);
	wire_put_u32(o, p->uid);
	wire_put_u32(o, p->threads);
	wire_put_u64(o, p->cpu_ns);
	wire_put_u64(o, p->memory_bytes);
	wire_put_u64(o, p->started_ms);
	wire_put_str(o, p->state);
	wire_put_str(o, p->command);
}

bool wire_get_process(struct wire_in *in, struct wire_process *ret)
{
	ret->pid = wire_get_u32(in);
	ret->parent = wire_get_u32(in);
	ret->uid = wire_get_u32(in);
	ret->threads = wire_get_u32(in);
	ret->cpu_ns = wire_get_u64(in);
	ret->memory_bytes = wire_get_u64(in);
	ret->started_ms = wire_get_u64(in);
	ret->state = wire_get_str(in);
	ret->command = wire_get_str(in);
	return !in->failed;
}

void wire_put_error(struct wire_out *o, int error, uint32_t about, const char *message)
{
	wire_put_u32(o, (uint32_t)error);
	wire_put_u32(o, about);
	wire_put_str(o, message);
}

bool wire_get_error(struct wire_in *in, int *ret_error, uint32_t *ret_about,
		    const char **ret_message)
{
	*ret_error = (int)wire_get_u32(in);
	*ret_about = wire_get_u32(in);
	*ret_message = wire_get_str(in);
	return !in->failed;
}
