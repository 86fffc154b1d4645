/* What the files of this folder share. */
#pragma once

#include "server/snapshot/transfer.h"

struct snapshots {
	struct transfers *transfers;
	uint64_t count;	    /* files */
	unsigned int begun; /* that are being made */
	char directory[512];
};
