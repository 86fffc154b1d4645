/* Objects in the arena by the place that made them. */
#pragma once

#include <stdint.h>

#include "../escape/faults.h"

/* Fills at most `capacity` rows, one per place; how many. */
uint32_t ledger_sites(struct faults_site *sites, uint32_t capacity);
