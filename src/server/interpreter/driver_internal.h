#pragma once

#include <uv.h>

#include "interpreter/stream.h"
#include "server/interpreter/driver.h"
#include "server/process/pipe.h"
#include "server/runtime/runtime.h"

#define DRIVER_TEXT_SIZE      1024u
#define DRIVER_COMPLAINT_SIZE 600u

struct driver {
	uv_loop_t *loop;
	struct runtime *runtime; /* valid as long as `remote` */
	const struct driver_events *events;
	void *ctx;
	char language[LANGUAGE_NAME_MAX + 1], program[64], install[128], cwd[256];

	struct runtime_process *remote; /* NULL before and after */
	struct pipe_reader *frames, *pipes[2];
	struct pipe_writer *requests;
	struct stream *stream;
	struct stream_budget own_budget; /* when the owner gave none */
	uv_timer_t *timer;		 /* to get ready; to obey an interrupt; to exit */
	uint64_t last_id;

	bool launching, spawned, was_ready;
	bool paused;
	bool closing;		  /* it exits, or has */
	bool exited;		  /* by itself */
	bool heard;		  /* it said something about the execution under way */
	bool dead;		  /* driver_free() was called */
	unsigned int signalling;  /* interrupts that may not have arrived */
	bool asking;		  /* the owner finds out why it was killed */
	unsigned int busy;	  /* calls that use it are under way */
	unsigned int interrupts;  /* sent for this execution */
	bool say_ready, say_done; /* events that are due */
	bool ended;		  /* and this one; how: */
	const char *end_name;	  /* constant */
	char end_text[DRIVER_TEXT_SIZE];

	int launch_error;
	size_t complaint_size; /* the last of what it wrote to 1 and 2 before it was ready */
	char complaint[DRIVER_COMPLAINT_SIZE];
};

/* driver.c */
void driver_settle(struct driver *d);
void driver_free_if_over(struct driver *d);
void driver_kill(struct driver *d);
void driver_written(void *ctx, int error); /* a pipe_written_fn of requests */

/* driver_input.c */
extern const struct stream_events driver_stream_events;
extern const struct pipe_reader_events driver_readers[3]; /* events, and output 1 and 2 */
extern const struct runtime_process_events driver_process_events;
void driver_set_timer(struct driver *d, uint64_t ms);
void driver_send_interrupt(struct driver *d);

/* driver_launch.c: the process and our ends of its pipes. */
int driver_launch(struct driver *d, struct runtime *rt, const struct driver_spec *spec);
/* A frame of variables each, "KEY=VALUE", to the requests. */
int driver_put_variables(struct driver *d, const char *frame, const json_t *variables);
int driver_put_frame(struct driver *d, const char *name, const char *argument, const char *content,
		     size_t size);

/* driver_end.c: what people are told. */
void driver_describe_exit(struct driver *d, uint32_t status);
void driver_describe_failure(struct driver *d, int error, uint32_t about, const char *message);
/* "did what it must not" */
void driver_describe_fault(struct driver *d, const char *what);
void driver_add_complaint(struct driver *d, const uint8_t *data, size_t size);
__attribute__((format(printf, 3, 4))) void driver_describe(struct driver *d, const char *name,
							   const char *format, ...);
