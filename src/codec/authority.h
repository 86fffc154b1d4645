/* Host names as requests carry them: "name", "name:port", "[::1]:port". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0 = a well-formed host with or without port; -EINVAL. User names are refused. */
int authority_check(const char *s, size_t size);
/* The name without the port. */
size_t authority_name_size(const char *s, size_t size);

#define SANDBOX_ID_MAX 64

/* The first label of "49983-i1a2b3.sandbox.example": a port of a sandbox. */
struct port_host {
	uint16_t port;
	char id[SANDBOX_ID_MAX + 1]; /* [a-z0-9]+ */
	const char *domain; /* behind the first dot; "" if none, the port included if any */
};

/* `host` is lower-case, as http_host() gives it. False: it is not of that form. */
bool port_host_parse(const char *host, struct port_host *ret);
