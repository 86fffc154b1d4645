#pragma once

#include "server/api/envd/rpc.h"

struct rpc_code_name {
	const char *name;
	int status;
};
extern const struct rpc_code_name rpc_codes[];

#define RPC_BODY_MAX (64u << 20)

void rpc_read_user(struct http_exchange *x, char *user, size_t size);
