/* Text of strangers made fit to be shown: it is read, not obeyed by the terminal. */
#pragma once

#include <stddef.h>

/* Controls, of ASCII and Unicode, become '?', in place. */
void clean_text(char *text);
/* The same for `size` bytes which may contain NULs; line ends and tabs stay. The new size; no
 * terminator is written. */
size_t clean_lines(char *text, size_t size);
