/*
 * The outside identity of a sandbox that root starts: an unprivileged uid and gid that nothing else
 * on the host uses, different for every launching process, so that two sandboxes cannot signal or
 * inspect each other even if both their kernels were broken.
 */
#pragma once

#include <stdint.h>

/* For a caller with uid 0; other callers cannot choose and get their own uid (and gid). */
void identity_choose(uint32_t *ret_uid, uint32_t *ret_gid);
/* The same for a process that starts many: different for every slot (below 4096) of it. */
void identity_choose_slot(uint32_t slot, uint32_t *ret_uid, uint32_t *ret_gid);
