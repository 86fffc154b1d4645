/* Why a driver does not work, or no longer: errors as programs know them, and sentences for people. */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/names.h"
#include "server/api/explain.h"
#include "server/interpreter/driver_internal.h"

#define ANEW "The context starts anew with the next execution."

void driver_describe(struct driver *d, const char *name, const char *format, ...)
{
	va_list ap;

	d->end_name = name;
	va_start(ap, format);
	vsnprintf(d->end_text, sizeof(d->end_text), format, ap);
	va_end(ap);
}

static void describe_status(int status, char *ret, size_t size)
{
	const char *name = WIFSIGNALED(status) ? signal_short_name(WTERMSIG(status)) : NULL;

	if (WIFEXITED(status))
		snprintf(ret, size, "exited with status %d", WEXITSTATUS(status));
	else if (name)
		snprintf(ret, size, "was ended by SIG%s%s", name,
			 WTERMSIG(status) == SIGKILL
				 ? " (somebody killed it, or the sandbox ran out of memory)"
			 : WTERMSIG(status) == SIGSEGV ? " (a segmentation fault)"
						       : "");
	else
		snprintf(ret, size, "was ended by signal %d", WTERMSIG(status));
}

/* Before it was ready nobody knows better than what it printed. */
static const char *complaint_of(struct driver *d)
{
	for (size_t i = 0; i < d->complaint_size; i++) {
		unsigned char c = (unsigned char)d->complaint[i];
		if (c == '\n')
			d->complaint[i] = ' ';
		else if (c < ' ' || c > '~')
			d->complaint[i] = '?';
	}
	while (d->complaint_size && d->complaint[d->complaint_size - 1] == ' ')
		d->complaint_size--;
	d->complaint[d->complaint_size] = '\0';
	return d->complaint;
}

void driver_describe_exit(struct driver *d, uint32_t status)
{
	char how[160];

	describe_status((int)status, how, sizeof(how));
	if (d->was_ready)
		driver_describe(d, "UnexpectedEndOfExecution", "The %s process %s. " ANEW,
				d->language, how);
	else
		driver_describe(d, "ContextNotStarted", "The %s process %s before it was ready%s%s",
				d->language, how, d->complaint_size ? ": " : "", complaint_of(d));
}

void driver_describe_fault(struct driver *d, const char *what)
{
	if (d->was_ready)
		driver_describe(d, "UnexpectedEndOfExecution",
				"The %s process %s and was ended. " ANEW, d->language, what);
	else
		driver_describe(d, "ContextNotStarted",
				"The %s process %s before it was ready, and was ended%s%s",
				d->language, what, d->complaint_size ? ": " : "", complaint_of(d));
}

void driver_describe_failure(struct driver *d, int error, uint32_t about, const char *message)
{
	char text[EXPLAIN_SIZE];

	if (about == WIRE_ABOUT_PROGRAM && error == ENOENT) {
		driver_describe(d, "LanguageNotInstalled",
				"%s is not installed in this template: %s", d->language,
				d->install);
		return;
	}
	explain(text, error, about, about == WIRE_ABOUT_CWD ? d->cwd : message);
	driver_describe(d, d->was_ready ? "UnexpectedEndOfExecution" : "ContextNotStarted",
			"%s cannot be started: %s", d->language, text);
}

/* The end of it says what was wrong. */
void driver_add_complaint(struct driver *d, const uint8_t *data, size_t size)
{
	size_t max = sizeof(d->complaint) - 1;

	if (size >= max) {
		memcpy(d->complaint, data + size - max, max);
		d->complaint_size = max;
		return;
	}
	if (d->complaint_size + size > max) {
		size_t excess = d->complaint_size + size - max;
		memmove(d->complaint, d->complaint + excess, d->complaint_size - excess);
		d->complaint_size -= excess;
	}
	memcpy(d->complaint + d->complaint_size, data, size);
	d->complaint_size += size;
}
