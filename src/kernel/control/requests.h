/*
 * Who serves the messages of the control channel, for the table in control.c. Each takes a whole
 * message and uses its descriptors up, unless the body is malformed: then false.
 */
#pragma once

#include <stdbool.h>

struct message;
struct wire_in;

bool fs_message(const struct message *m, struct wire_in *in);	     /* fs.c: every FS_ request */
bool dial_message(const struct message *m, struct wire_in *in);	     /* dial.c */
bool listen_message(const struct message *m, struct wire_in *in);    /* listen.c */
bool accept_message(const struct message *m, struct wire_in *in);    /* listen.c */
bool processes_message(const struct message *m, struct wire_in *in); /* processes.c */
bool limits_message(const struct message *m, struct wire_in *in);    /* settings.c */
bool hostname_message(const struct message *m, struct wire_in *in);  /* settings.c */
bool freeze_message(const struct message *m, struct wire_in *in);    /* freeze.c */
bool thaw_message(const struct message *m, struct wire_in *in);	     /* freeze.c */
bool reboot_message(const struct message *m, struct wire_in *in);    /* reboot.c */
bool save_message(const struct message *m, struct wire_in *in);	     /* save.c */
bool load_message(const struct message *m, struct wire_in *in);	     /* load.c */
