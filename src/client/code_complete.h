/*
 * Whether what was typed so far is a whole piece of code, or a session should ask for another line.
 *
 * Not a parser: it knows strings, comments and brackets, and per language what opens a block. Code
 * that is wrong may count as complete, and the interpreter says what is wrong with it; complete
 * code that counts as incomplete is sent by an empty line.
 */
#pragma once

#include <stdbool.h>

/*
 * language: its name in the table of src/interpreter/language.h; of others every line is complete.
 * whole: the lines came together (pasted, or from the history), so that a block does not wait for
 * the empty line that ends it when it is typed.
 */
bool code_needs_more(const char *language, const char *text, bool whole);
