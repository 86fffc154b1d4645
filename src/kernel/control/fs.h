/* Files for the control channel: the FS_ requests. */
#pragma once

#include <stdbool.h>

struct message;
struct wire_in;

/* Serves any FS_ request. The descriptors are used up, unless the body is malformed: false. */
bool fs_message(const struct message *m, struct wire_in *in);
