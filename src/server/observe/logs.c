/*
 * Logs of sandboxes, on disk: <data_dir>/logs/<id>.log, and <id>.log.1 for the older half. Lines are
 * collected in memory and appended when there are many, twice a second, and before somebody reads. So a
 * crash of the daemon costs half a second of log at most, and what is kept is bounded: a file that has
 * reached half of log_bytes replaces the older one.
 *
 * A frame is a fixed head and three texts. A torn one (a crash, a full disk) costs itself alone.
 *
 * Entries are numbered from 1, over the whole life of the sandbox. Readers go on behind a number, so they
 * miss nothing, however many entries share a moment; a number that is not there is an entry that is not
 * kept any more.
 *
 * A sandbox that logs more than RATE bytes in a second loses lines, which get no numbers; how many is
 * logged.
 */
#include "server/observe/logs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/util.h"
#include "server/config/config.h"
#include "server/observe/log.h"
#include "server/observe/observe_internal.h"
#include "server/sandbox/sandbox.h"
#include "server/server.h"
#include "server/store/store.h"

#define FRAME_MAGIC 0x474f4c48u
#define MESSAGE_MAX (64u << 10)
#define FIELDS_MAX  (4u << 10)
#define FLUSH_SIZE  (32u << 10)
#define RATE	    (1u << 20)

struct frame {
	uint32_t magic;
	uint32_t size; /* of everything */
	int64_t at_us;
	uint64_t sequence;
	uint32_t level;
	uint32_t logger_size, message_size, fields_size; /* with their NULs */
};

struct log_ring {
	struct buffer unsent;
	uint64_t sequence;
	uint64_t second;
	uint32_t used, left_out; /* bytes and lines of this second */
};

const char *log_level_name(enum log_level l)
{
	static const char *const names[] = { "debug", "info", "warn", "error" };
	return (unsigned int)l < ARRAY_SIZE(names) ? names[l] : "info";
}

static void log_path(const struct server *server, const char *id, const char *suffix, char *ret,
		     size_t size)
{
	snprintf(ret, size, "%s/logs/%s.log%s", server->config->data_dir, id, suffix);
}

/* ---- files and frames ---- */

/* Appends a file; one that is not there is empty. */
static int read_file(const char *path, struct buffer *b)
{
	struct stat st;
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0 || buffer_reserve(b, (size_t)st.st_size) < 0)
		return -ENOMEM;
	for (;;) {
		uint8_t piece[4096];
		ssize_t n = read(fd, piece, sizeof(piece));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		if (buffer_append(b, piece, (size_t)n) < 0)
			return 0; /* it grew: enough is enough */
	}
}

/* The frame at an offset, with its texts; false = torn or at the end. */
static bool get_frame(const struct buffer *b, size_t at, struct frame *ret, struct log_entry *entry)
{
	if (at > b->size || b->size - at < sizeof(*ret))
		return false;
	memcpy(ret, b->data + at, sizeof(*ret));
	uint64_t texts = (uint64_t)ret->logger_size + ret->message_size + ret->fields_size;
	if (ret->magic != FRAME_MAGIC || ret->size > b->size - at || !ret->logger_size ||
	    !ret->message_size || !ret->fields_size || ret->size != sizeof(*ret) + texts)
		return false;
	const char *p = (const char *)b->data + at + sizeof(*ret);
	*entry = (struct log_entry){ .at_us = ret->at_us,
				     .sequence = ret->sequence,
				     .level = (enum log_level)ret->level,
				     .logger = p,
				     .message = p + ret->logger_size,
				     .fields = p + ret->logger_size + ret->message_size };
	return p[ret->logger_size - 1] == '\0' &&
	       p[ret->logger_size + ret->message_size - 1] == '\0' && p[texts - 1] == '\0';
}

static int load(struct server *server, const char *id, struct buffer *b)
{
	char path[512];
	log_path(server, id, ".1", path, sizeof(path));
	int r = read_file(path, b);
	log_path(server, id, "", path, sizeof(path));
	return r < 0 ? r : read_file(path, b);
}

/* ---- writing ---- */

static void append_to_file(struct sandbox *s, struct log_ring *ring)
{
	char path[512], old[512];
	struct stat st;
	log_path(s->server, s->record.id, "", path, sizeof(path));
	if (stat(path, &st) == 0 && (uint64_t)st.st_size >= s->server->config->log_bytes / 2) {
		log_path(s->server, s->record.id, ".1", old, sizeof(old));
		(void)rename(path, old);
	}
	AUTO_CLOSE int fd =
		open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r = fd < 0 ? -errno : io_write_all(fd, ring->unsent.data, ring->unsent.size);
	if (r < 0)
		daemon_log(DAEMON_WARN, "logs.failed", TEXT_FIELD("sandbox", s->record.id),
			   TEXT_FIELD("error", strerror(-r)));
	buffer_fini(&ring->unsent);
}

static void put_frame(struct log_ring *ring, enum log_level level, const char *logger,
		      const char *message, const char *fields)
{
	struct frame f = { .magic = FRAME_MAGIC, .at_us = store_now_us(), .level = level };
	size_t message_size = strnlen(message, MESSAGE_MAX);
	/* A cut must not fall inside of a character. */
	while (message_size == MESSAGE_MAX && message_size > 0 &&
	       ((unsigned char)message[message_size] & 0xc0) == 0x80)
		message_size--;
	f.sequence = ++ring->sequence;
	f.logger_size = (uint32_t)strlen(logger) + 1;
	f.message_size = (uint32_t)message_size + 1;
	f.fields_size = (uint32_t)strlen(fields) + 1;
	f.size = (uint32_t)sizeof(f) + f.logger_size + f.message_size + f.fields_size;
	if (buffer_reserve(&ring->unsent, f.size) < 0)
		return;
	buffer_append(&ring->unsent, &f, sizeof(f));
	buffer_append(&ring->unsent, logger, f.logger_size);
	buffer_append(&ring->unsent, message, message_size);
	buffer_append(&ring->unsent, "", 1);
	buffer_append(&ring->unsent, fields, f.fields_size);
}

/* A sandbox may have logged before: its numbers go on. */
static uint64_t last_sequence(struct sandbox *s)
{
	struct buffer b;
	struct frame f;
	struct log_entry e;
	uint64_t last = 0;
	buffer_init(&b, 2 * s->server->config->log_bytes + 4 * FLUSH_SIZE);
	(void)load(s->server, s->record.id, &b);
	for (size_t at = 0; at < b.size;) {
		if (!get_frame(&b, at, &f, &e)) {
			at++;
			continue;
		}
		last = MAX(last, f.sequence);
		at += f.size;
	}
	buffer_fini(&b);
	return last;
}

static struct log_ring *get_ring(struct sandbox *s)
{
	if (!s->logs) {
		s->logs = calloc(1, sizeof(*s->logs));
		if (s->logs) {
			buffer_init(&s->logs->unsent, 4 * FLUSH_SIZE + MESSAGE_MAX + FIELDS_MAX);
			s->logs->sequence = last_sequence(s);
		}
	}
	return s->logs;
}

static void say_left_out(struct log_ring *ring)
{
	char text[96];
	if (!ring->left_out)
		return;
	snprintf(text, sizeof(text), "%u lines were left out: more than %u KiB/s", ring->left_out,
		 RATE >> 10);
	ring->left_out = 0;
	put_frame(ring, LOG_WARN, "sandbox", text, "{}");
}

static void begin_second(struct log_ring *ring)
{
	uint64_t second = clock_now_ns() / NSEC_PER_SEC;
	if (ring->second == second)
		return;
	ring->second = second;
	ring->used = 0;
	say_left_out(ring);
}

static bool admit(struct log_ring *ring, size_t size)
{
	begin_second(ring);
	if (ring->used + size > RATE) {
		ring->left_out++;
		return false;
	}
	ring->used += (uint32_t)size;
	return true;
}

void log_add(struct sandbox *s, enum log_level level, const char *logger, const char *message,
	     const char *fields)
{
	struct log_ring *ring = get_ring(s);
	if (!ring || strlen(logger) > 63 || !admit(ring, strnlen(message, MESSAGE_MAX) + 64))
		return;
	put_frame(ring, level, logger, message,
		  fields && strlen(fields) < FIELDS_MAX ? fields : "{}");
	if (ring->unsent.size >= FLUSH_SIZE)
		append_to_file(s, ring);
}

void logs_flush(struct sandbox *s)
{
	if (!s->logs)
		return;
	begin_second(s->logs);
	if (s->logs->unsent.size)
		append_to_file(s, s->logs);
}

void logs_end(struct sandbox *s)
{
	if (s->logs)
		say_left_out(s->logs);
	logs_flush(s);
	if (s->logs)
		buffer_fini(&s->logs->unsent);
	free(s->logs);
	s->logs = NULL;
}

void logs_remove(struct server *server, const char *id)
{
	char path[512];
	log_path(server, id, "", path, sizeof(path));
	(void)unlink(path);
	log_path(server, id, ".1", path, sizeof(path));
	(void)unlink(path);
}

/* ---- reading ---- */

static bool matches(const struct log_entry *e, const struct log_query *q)
{
	if (e->at_us < q->from_us || e->at_us > q->to_us || e->level < q->level)
		return false;
	if (q->after_sequence && !q->backward && e->sequence <= q->after_sequence)
		return false;
	if (q->after_sequence && q->backward && e->sequence >= q->after_sequence)
		return false;
	return !q->search || strstr(e->message, q->search);
}

/* Offsets of the frames that match; forward at most as many as asked for. */
struct found {
	uint32_t *offsets;
	unsigned int count, capacity;
};

static bool remember(struct found *f, size_t at)
{
	if (f->count == f->capacity) {
		unsigned int more = f->capacity ? f->capacity * 2 : 256;
		uint32_t *offsets = reallocarray(f->offsets, more, sizeof(*offsets));
		if (!offsets)
			return false;
		f->offsets = offsets;
		f->capacity = more;
	}
	f->offsets[f->count++] = (uint32_t)at;
	return true;
}

static void find_frames(const struct buffer *b, const struct log_query *q, struct found *ret)
{
	struct frame f;
	struct log_entry e;
	for (size_t at = 0; at < b->size;) {
		if (!get_frame(b, at, &f, &e)) {
			at++; /* behind a torn frame another file begins */
			continue;
		}
		if (matches(&e, q) && (q->backward || ret->count < q->limit) && !remember(ret, at))
			return;
		at += f.size;
	}
}

static bool is_id(const char *id)
{
	size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789");
	return n > 0 && n < SANDBOX_ID_SIZE && id[n] == '\0';
}

int logs_each(struct server *server, const char *sandbox_id, const struct log_query *q,
	      void (*fn)(void *ctx, const struct log_entry *e), void *ctx)
{
	struct sandbox *s = sandbox_find(server, sandbox_id);
	struct found found = { NULL, 0, 0 };
	struct buffer b;
	struct frame f;
	struct log_entry e;
	if (!is_id(sandbox_id))
		return -ENOENT;
	if (s)
		logs_flush(s);
	buffer_init(&b, 2 * server->config->log_bytes + 4 * FLUSH_SIZE);
	int r = load(server, sandbox_id, &b);
	if (r == 0 && b.size == 0 && !s)
		r = -ENOENT;
	if (r == 0)
		find_frames(&b, q, &found);
	for (unsigned int i = 0; r == 0 && i < found.count && i < q->limit; i++) {
		uint32_t at = found.offsets[q->backward ? found.count - 1 - i : i];
		if (get_frame(&b, at, &f, &e))
			fn(ctx, &e);
	}
	free(found.offsets);
	buffer_fini(&b);
	return r;
}
