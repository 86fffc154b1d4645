/* Lines of a terminal, edited by libedit: keys, search, history, pasted text as one piece. */
#pragma once

struct editor;

enum edit {
	EDIT_LINE,
	EDIT_CLEARED, /* Ctrl-C */
	EDIT_END,     /* Ctrl-D on an empty line, or the terminal is gone */
	EDIT_SIGNAL,
};

/* signals: signals_open(). NULL = no memory, or the terminal cannot do it. */
struct editor *editor_new(int signals);
void editor_free(struct editor *e);
/* A line without its end, valid until the next call; it contains line ends when it was pasted or comes
 * from the history. *ret_signal with EDIT_SIGNAL. */
enum edit editor_read(struct editor *e, const char *prompt, const char **ret, int *ret_signal);
/* For the arrow keys and Ctrl-R. */
void editor_add(struct editor *e, const char *entry);
