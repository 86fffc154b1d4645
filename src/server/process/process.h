/*
 * The processes that were started in a sandbox from outside, their output, and who follows it.
 *
 * A process belongs to its sandbox, not to the client that started it: when the client leaves, the
 * process runs on and its output is thrown away while nobody follows. Its end is kept for 30 s so that
 * a late follower learns of it. Output is read only as fast as the slowest follower takes it.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "server/process/pipe.h"

struct sandbox;
struct process;

enum process_stream { PROCESS_STDOUT, PROCESS_STDERR, PROCESS_PTY };

struct process_end {
	bool exited;	 /* false: ended by a signal */
	int code;	 /* exit status, -1 after a signal */
	char status[64]; /* "exit status 3", "signal: killed" */
};

/* Somebody who wants to see a process. All functions but `full` are required. */
struct follower {
	struct list link;
	struct process *process; /* NULL before and after */
	void (*started)(struct follower *f, uint32_t pid);
	/* It could not be started: errno of the sandbox, enum wire_about, a sentence. Last call. */
	void (*failed)(struct follower *f, int error, uint32_t about, const char *message);
	void (*data)(struct follower *f, enum process_stream stream, const uint8_t *data,
		     size_t size);
	/* Everything that it printed has been given to `data`. Last call. */
	void (*ended)(struct follower *f, const struct process_end *end);
	/* True: do not read more now; call process_drained() when it changed. */
	bool (*full)(struct follower *f);
};

struct process_spec {
	const char *cmd;
	const json_t *args; /* array of strings, without cmd; may be NULL */
	const json_t *envs; /* object of strings; may be NULL */
	const char *cwd;    /* "" = the user's home */
	const char *user;   /* "" = the default user */
	const char *tag;    /* NULL = none */
	bool tty;
	uint32_t cols, rows;
	bool stdin_open; /* else standard input is empty */
	uint64_t limit_ms; /* it is killed after so long, whoever follows; 0 = never */
};

/* Calls started() or failed() later, never at once. 0 or -errno (E2BIG, EMFILE, ENOMEM). */
int process_start(struct sandbox *s, const struct process_spec *spec, struct follower *f);
/* By pid, or by tag when tag is not NULL; also within 30 s of its end. NULL. */
struct process *process_find(struct sandbox *s, uint32_t pid, const char *tag);
/* started() at once; ended() at once if it has ended. */
void process_follow(struct process *p, struct follower *f);
/* No call any more. The process goes on. */
void process_unfollow(struct follower *f);
void process_drained(struct process *p);

uint32_t process_pid(const struct process *p);
bool process_alive(const struct process *p);
bool process_is_tty(const struct process *p);
/* -EPIPE: standard input is closed; -ENOTTY, -EINVAL: the wrong kind; -ENOBUFS. */
int process_input(struct process *p, bool to_tty, const void *data, size_t size,
		  pipe_written_fn fn, void *ctx);
void process_forget_input(struct process *p, void *ctx);
int process_close_input(struct process *p);
int process_resize(struct process *p, uint32_t cols, uint32_t rows);
/* To the process and everything in its process group. */
void process_signal(struct process *p, int signal);

struct process_view {
	uint32_t pid;
	const char *tag; /* NULL = none */
	const char *cmd, *cwd;
	const json_t *args, *envs; /* may be NULL */
	bool tty;
};
/* Those that live, in the order of their start. */
void process_each(struct sandbox *s, void (*fn)(void *ctx, const struct process_view *v),
		  void *ctx);

/* When the sandbox has ended or was rebooted: all are gone. */
void process_table_free(struct sandbox *s);
