/*
 * The daemon's own log: one JSON object per line on standard error, {ts, level, event, ...}. Values
 * are escaped; secrets do not belong in them. A call site that logs more than a burst in a second is
 * silenced for the rest of it, and the number that was left out is said.
 *
 *     daemon_log(DAEMON_INFO, "sandbox.created", TEXT_FIELD("sandbox", id), NUMBER_FIELD("us", 3));
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum daemon_level { DAEMON_DEBUG, DAEMON_INFO, DAEMON_WARN, DAEMON_ERROR };

struct daemon_field {
	const char *name;
	const char *text; /* NULL = the number */
	int64_t number;
};

struct daemon_site {
	int64_t second;
	unsigned int count, left_out;
};

#define TEXT_FIELD(key, value)                                                                     \
	((struct daemon_field){ .name = (key), .text = (value) ? (value) : "" })
#define NUMBER_FIELD(key, value)                                                                   \
	((struct daemon_field){ .name = (key), .number = (int64_t)(value) })

void daemon_log_level(enum daemon_level least);
void daemon_log_fields(struct daemon_site *site, enum daemon_level level, const char *event,
		       const struct daemon_field *fields, unsigned int count);

#define daemon_log(level, event, ...)                                                              \
	do {                                                                                       \
		static struct daemon_site site_;                                                   \
		const struct daemon_field fields_[] = { __VA_ARGS__ };                             \
		daemon_log_fields(&site_, level, event, fields_,                                   \
				  (unsigned int)(sizeof(fields_) / sizeof(fields_[0])));           \
	} while (0)
