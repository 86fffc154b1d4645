/* Between loading and checking. */
#pragma once

#include "server/config/config.h"

/* Fills in what depends on the caller, and checks what one key alone does not show. */
int config_complete(struct config *c, struct error *err);
