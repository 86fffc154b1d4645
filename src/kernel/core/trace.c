#include "kernel/core/trace.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/user.h"
#include "kernel/host/trace_output.h"
#include "kernel/task/task.h"

#define LINE_MAX_BYTES 768

static bool enabled;

struct line {
	char *text;
	size_t length;
};

void trace_start(int host_fd)
{
	host_trace_open(host_fd);
	enabled = true;
}

bool trace_enabled(void)
{
	return enabled;
}

__attribute__((format(printf, 2, 3))) static void add(struct line *l, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	int n = vsnprintf(l->text + l->length, LINE_MAX_BYTES - l->length, format, ap);
	va_end(ap);
	if (n > 0)
		l->length += (size_t)n;
	if (l->length > LINE_MAX_BYTES - 1)
		l->length = LINE_MAX_BYTES - 1;
}

/* Guest bytes are hostile to terminals: everything unprintable is escaped. */
static void add_quoted(struct line *l, const char *s, size_t size)
{
	add(l, "\"");
	for (size_t i = 0; i < size; i++) {
		unsigned char b = (unsigned char)s[i];
		if (b == '\n')
			add(l, "\\n");
		else if (b == '"' || b == '\\')
			add(l, "\\%c", b);
		else if (b < 32 || b > 126)
			add(l, "\\x%02x", b);
		else
			add(l, "%c", b);
	}
	add(l, "\"");
}

static void add_path(struct line *l, struct call *c, uint64_t v)
{
	char path[160];
	ssize_t n = v ? user_string(c->task, path, sizeof(path), uaddr(v)) : -EFAULT;

	if (n == -ENAMETOOLONG) {
		add_quoted(l, path, sizeof(path));
		add(l, "...");
	} else if (n >= 0) {
		add_quoted(l, path, (size_t)n);
	} else {
		add(l, v ? "%#lx" : "NULL", (unsigned long)v);
	}
}

static void add_buffer(struct line *l, struct call *c, int index)
{
	char bytes[32];
	size_t size = index < 5 ? (size_t)c->args[index + 1] : 0;
	size_t shown = size < sizeof(bytes) ? size : sizeof(bytes);
	ssize_t n = user_read_some(c->task, bytes, uaddr(c->args[index]), shown);

	if (n < 0) {
		add(l, "%#lx", (unsigned long)c->args[index]);
		return;
	}
	add_quoted(l, bytes, (size_t)n);
	if (shown < size)
		add(l, "...");
}

static void add_word(struct line *l, struct call *c, const char *word, size_t length, int index)
{
	uint64_t v = c->args[index];

	if (!strncmp(word, "path", length))
		add_path(l, c, v);
	else if (!strncmp(word, "buf:1", length) && length == 5)
		add_buffer(l, c, index);
	else if (!strncmp(word, "atfd", length) && (int)v == -100)
		add(l, "AT_FDCWD");
	else if (!strncmp(word, "mode", length) || !strncmp(word, "omode", length))
		add(l, "0%o", (unsigned)v);
	else if (!strncmp(word, "fd", length) || !strncmp(word, "atfd", length))
		add(l, "%d", (int)v);
	else if (!strncmp(word, "int", length) || !strncmp(word, "size", length))
		add(l, "%ld", (long)v);
	else
		add(l, v ? "%#lx" : "0", (unsigned long)v);
}

void trace_enter(struct call *c)
{
	const struct syscall_row *row =
		(unsigned)c->nr < SYSCALL_TABLE_SIZE ? &syscall_table[c->nr] : NULL;
	const char *word = row && row->trace ? row->trace : "";
	struct line l = { kmalloc(LINE_MAX_BYTES), 0 };

	kfree(c->trace_text);
	c->trace_text = l.text;
	if (!l.text)
		return;
	if (row && row->name)
		add(&l, "[%d] %s(", c->task->tid, row->name);
	else
		add(&l, "[%d] syscall_%d(", c->task->tid, c->nr);
	for (int i = 0; i < 6 && *word; i++) {
		size_t length = strcspn(word, " ");
		add(&l, i ? ", " : "");
		add_word(&l, c, word, length, i);
		word += length;
		word += *word == ' ';
	}
	add(&l, ")");
}

void trace_leave(struct call *c, long result)
{
	struct line l = { c->trace_text, 0 };

	if (!l.text)
		return;
	l.length = strlen(l.text);
	if (result == CALL_CONTINUE)
		add(&l, " = (native)\n");
	else if (result < 0 && result > -4096)
		add(&l, " = -1 %s (%s)\n", errno_name((int)-result), strerror((int)-result));
	else
		add(&l, result > 0xffff ? " = %#lx\n" : " = %ld\n", result);
	host_trace_write(l.text, l.length);
	kfree(c->trace_text);
	c->trace_text = NULL;
}
