/* The kinds of operations, for the table in op.c. Each is in the file of its name. */
#pragma once

#include "kernel/control/op.h"

#define OP_DECLARE(name)                                                                           \
	enum op_result name##_step(struct op *op);                                                 \
	void name##_release(struct op *op)

OP_DECLARE(list);
OP_DECLARE(remove);
OP_DECLARE(read);
OP_DECLARE(write);
OP_DECLARE(dial);
OP_DECLARE(watch);
OP_DECLARE(processes);
OP_DECLARE(listen);
OP_DECLARE(accept); /* listen.c */
OP_DECLARE(save);
OP_DECLARE(load);
#undef OP_DECLARE
