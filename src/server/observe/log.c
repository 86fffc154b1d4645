#include "server/observe/log.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text.h"

#define BURST	  200 /* lines of a call site in a second */
#define LINE_MAX_ 4096
#define VALUE_MAX 1024

static enum daemon_level least_level = DAEMON_INFO;

void daemon_log_level(enum daemon_level least)
{
	least_level = least;
}

/* Printable ASCII as it is, everything else as an escape: no byte of a stranger's reaches a terminal. */
static void put_string(struct text *t, const char *s)
{
	size_t n = strnlen(s, VALUE_MAX);
	text_put(t, "\"", 1);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c == '"' || c == '\\')
			text_printf(t, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			text_printf(t, "\\u%04x", c);
		else
			text_put(t, s + i, 1);
	}
	text_put(t, "\"", 1);
}

static void put_time(struct text *t, const struct timespec *ts)
{
	struct tm tm;
	char buffer[32];
	gmtime_r(&ts->tv_sec, &tm);
	strftime(buffer, sizeof(buffer), "%Y-%m-%dT%H:%M:%S", &tm);
	text_printf(t, "{\"ts\":\"%s.%06ldZ\"", buffer, ts->tv_nsec / 1000);
}

/* False: this line is too much. */
static bool admit(struct daemon_site *site, int64_t second, unsigned int *ret_left_out)
{
	*ret_left_out = 0;
	if (site->second != second) {
		*ret_left_out = site->left_out;
		*site = (struct daemon_site){ .second = second };
	}
	if (site->count < BURST) {
		site->count++;
		return true;
	}
	site->left_out++;
	return false;
}

void daemon_log_fields(struct daemon_site *site, enum daemon_level level, const char *event,
		       const struct daemon_field *fields, unsigned int count)
{
	static const char *const names[] = { "debug", "info", "warn", "error" };
	char buffer[LINE_MAX_];
	struct text t = TEXT_INIT(buffer);
	struct timespec ts;
	unsigned int left_out;
	clock_gettime(CLOCK_REALTIME, &ts);
	if (level < least_level || !admit(site, ts.tv_sec, &left_out))
		return;
	put_time(&t, &ts);
	text_printf(&t, ",\"level\":\"%s\",\"event\":\"%s\"", names[level], event);
	for (unsigned int i = 0; i < count; i++) {
		size_t before = t.length;
		text_printf(&t, ",\"%s\":", fields[i].name);
		if (fields[i].text)
			put_string(&t, fields[i].text);
		else
			text_printf(&t, "%lld", (long long)fields[i].number);
		/* Whole fields or none: the line stays JSON. */
		if (t.truncated || t.capacity - t.length < 64) {
			t.length = before;
			break;
		}
	}
	if (left_out)
		text_printf(&t, ",\"left_out\":%u", left_out);
	text_put(&t, "}\n", 2);
	(void)io_write_all(STDERR_FILENO, buffer, t.length);
}
