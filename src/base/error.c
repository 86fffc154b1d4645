#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, int code, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	int n = vsnprintf(err->message, sizeof(err->message), format, ap);
	va_end(ap);
	if (code && n >= 0 && (size_t)n < sizeof(err->message) - 3)
		snprintf(err->message + n, sizeof(err->message) - (size_t)n, ": %s", strerror(code));
	err->code = code ? code : EINVAL;
	return -err->code;
}

int error_say(struct error *err, int code, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vsnprintf(err->message, sizeof(err->message), format, ap);
	va_end(ap);
	err->code = code;
	return -code;
}

int error_wrap(struct error *err, const char *format, ...)
{
	char context[sizeof(err->message)];
	char old[sizeof(err->message)];
	va_list ap;
	va_start(ap, format);
	vsnprintf(context, sizeof(context), format, ap);
	va_end(ap);
	memcpy(old, err->message, sizeof(old));
	/* Truncation is fine here: the front says where, the back says what. */
	int n = snprintf(err->message, sizeof(err->message), "%.250s: ", context);
	if (n > 0)
		snprintf(err->message + n, sizeof(err->message) - (size_t)n, "%.250s", old);
	return -err->code;
}
