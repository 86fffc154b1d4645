/* From the pipes of a process to its followers and to the sandbox's log. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/observe/logs.h"
#include "server/process/process_internal.h"

static const char *const names[] = { "stdout", "stderr" };

static void log_now(struct process *p, enum process_stream stream)
{
	struct log_line *l = p->lines[stream];
	char fields[64];

	/* Texts end at a zero byte; what comes behind one is shown, too. */
	for (size_t i = 0; i < l->length; i++)
		l->bytes[i] = l->bytes[i] ? l->bytes[i] : ' ';
	l->bytes[l->length] = '\0';
	snprintf(fields, sizeof(fields), "{\"pid\":%u,\"stream\":\"%s\"}", p->pid, names[stream]);
	log_add(p->sandbox, stream == PROCESS_STDERR ? LOG_WARN : LOG_INFO, "process", l->bytes,
		fields);
	l->length = 0;
}

/* Terminals draw pictures, not lines: they are not logged. */
static void log_output(struct process *p, enum process_stream stream, const uint8_t *data,
		       size_t size)
{
	if (stream == PROCESS_PTY)
		return;
	struct log_line *l = p->lines[stream];
	if (!l)
		l = p->lines[stream] = calloc(1, sizeof(*l));
	if (!l)
		return;
	while (size > 0) {
		const uint8_t *newline = memchr(data, '\n', size);
		size_t room = sizeof(l->bytes) - 1 - l->length;
		size_t n = newline ? (size_t)(newline - data) : size;
		if (n > room)
			n = room;
		memcpy(l->bytes + l->length, data, n);
		l->length += n;
		data += n;
		size -= n;
		bool full = l->length == sizeof(l->bytes) - 1;
		bool at_end = size > 0 && *data == '\n';
		if (at_end) {
			data++;
			size--;
		}
		if (at_end || full)
			log_now(p, stream);
	}
}

void process_output(struct process *p, enum process_stream stream, const uint8_t *data, size_t size)
{
	struct follower *f, *next;

	log_output(p, stream, data, size);
	list_for_each_safe(f, next, &p->followers, link)
		f->data(f, stream, data, size);
	process_read_on(p);
}

void process_output_finish(struct process *p)
{
	for (int i = 0; i < 2; i++) {
		if (p->lines[i] && p->lines[i]->length > 0)
			log_now(p, (enum process_stream)i);
	}
}

void process_read_on(struct process *p)
{
	struct follower *f;
	bool full = false;

	list_for_each(f, &p->followers, link)
		full = full || (f->full && f->full(f));
	if (!full && p->untaken && p->remote) {
		runtime_output_taken(p->remote, p->untaken);
		p->untaken = 0;
	}
	if (full == p->paused || p->state == PROCESS_ENDED)
		return;
	p->paused = full;
	for (int i = 0; i < 2; i++)
		pipe_reader_pause(p->readers[i], full);
}
