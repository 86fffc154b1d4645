/* SPAWN: a program to start. */
#include <string.h>

#include "wire/wire.h"

void wire_put_spawn(struct wire_out *o, const struct wire_spawn *s)
{
	wire_put_u32(o, s->flags);
	wire_put_u32(o, s->rows);
	wire_put_u32(o, s->cols);
	wire_put_str(o, s->user);
	wire_put_str(o, s->cwd);
	wire_put_str(o, s->path);
	wire_put_u32(o, s->argc);
	wire_put_u32(o, s->envc);
	wire_put_u32(o, s->args_size);
	wire_put_bytes(o, s->args, s->args_size);
}

/* The strings must be exactly argc + envc, each terminated. */
static bool args_valid(const struct wire_spawn *s)
{
	uint32_t strings = 0;
	for (uint32_t i = 0; i < s->args_size; i++)
		strings += s->args[i] == '\0';
	return s->argc >= 1 && strings == s->argc + s->envc && s->args_size > 0 &&
	       s->args[s->args_size - 1] == '\0';
}

bool wire_get_spawn(struct wire_in *in, struct wire_spawn *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->flags = wire_get_u32(in);
	ret->rows = wire_get_u32(in);
	ret->cols = wire_get_u32(in);
	ret->user = wire_get_str(in);
	ret->cwd = wire_get_str(in);
	ret->path = wire_get_str(in);
	ret->argc = wire_get_u32(in);
	ret->envc = wire_get_u32(in);
	ret->args_size = wire_get_u32(in);
	ret->args = wire_get_bytes(in, ret->args_size);
	if (in->failed || in->offset != in->length)
		return false;
	if (ret->argc > WIRE_ARGS_MAX || ret->envc > WIRE_ARGS_MAX)
		return false;
	return args_valid(ret);
}
