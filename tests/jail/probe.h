/* What the parts of the probe share; see probe.c. */
#pragma once

#include <stdbool.h>

/* One attempt: `failed` is what it must have done; else `what` is told to the test. */
void note(bool failed, const char *what);
/* Through a guest process, with every notification answered by "go on": guest.c. */
void try_guest(void);
