/* Between the files of this folder. */
#pragma once

struct server;
struct sandbox;
struct buffer;

/* logs.c */
void logs_flush(struct sandbox *s);
void logs_end(struct sandbox *s);
void logs_remove(struct server *server, const char *id);

/* samples.c: asks for one; nothing happens to one that does not run. */
void samples_take(struct sandbox *s);
void samples_end(struct sandbox *s);
