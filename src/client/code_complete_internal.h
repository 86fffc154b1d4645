/* The shell is unlike the others: its words open blocks. */
#pragma once

#include <stdbool.h>

bool shell_needs_more(const char *text);
