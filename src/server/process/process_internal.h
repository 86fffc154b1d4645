#pragma once

#include <uv.h>

#include "server/process/process.h"
#include "server/runtime/runtime.h"

#define LINE_MAX_BYTES 4096

/* Bytes of an unfinished line on their way to the sandbox's log. */
struct log_line {
	size_t length;
	char bytes[LINE_MAX_BYTES];
};

enum process_state { PROCESS_STARTING, PROCESS_RUNNING, PROCESS_ENDED };

struct process {
	struct list link;
	struct sandbox *sandbox;
	struct runtime_process *remote; /* NULL once it ended */
	enum process_state state;
	uint32_t pid;
	bool tty;
	char *cmd, *cwd, *tag;
	json_t *args, *envs;
	struct pipe_reader *readers[2]; /* PROCESS_STDOUT, PROCESS_STDERR */
	struct pipe_writer *input;
	struct list followers;
	bool paused;
	bool launching; /* within process_start() */
	int failure;	/* why it could not be launched */
	size_t untaken; /* bytes of the terminal not yet acknowledged: its window is the bound */
	struct process_end end;
	uv_timer_t *timer; /* its time limit; once it ended, how long its end is kept */
	struct log_line *lines[2];
};

struct process_table {
	struct list processes;
};

/* spawn.c: the message; *ret_size bytes of args to free with *ret_args. */
int process_build_message(const struct sandbox *s, const struct process_spec *spec,
		    struct wire_spawn *ret);

/* output.c */
void process_output(struct process *p, enum process_stream stream, const uint8_t *data,
		    size_t size);
void process_output_finish(struct process *p); /* the last, unfinished lines */
void process_read_on(struct process *p);       /* pauses or resumes the readers */
