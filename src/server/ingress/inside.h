/*
 * Programs inside a sandbox reach the services that are answered for it here (ingress_services) at the
 * same ports of their own loopback.
 */
#pragma once

#include <stdint.h>

#include "server/sandbox/cell.h"

/* For server.inside. */
extern const struct cell_service inside_service;

/* Bounds the connections of all sandboxes by what the process may open. Before the loop runs. */
void inside_start(void);
