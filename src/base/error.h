/*
 * Errors that a person will read: a code and a sentence, no heap. Functions that can fail this way
 * take a last `struct error *err`, fill it and return the negative code:
 *
 *     return error_set(err, errno, "open rootfs %s", path);
 *
 * The text of errno is appended by error_set() and not by error_say(), context is put in front by error_wrap() while
 * unwinding. `err` is not touched on success.
 */
#pragma once

struct error {
	int code; /* positive errno */
	char message[512];
};

/* code = positive errno, 0 for "no errno text". Returns -code (or -EINVAL for 0). */
__attribute__((format(printf, 3, 4))) int error_set(struct error *err, int code, const char *format,
						     ...);
/* The same where the sentence says it all: no errno text. Returns -code. */
__attribute__((format(printf, 3, 4))) int error_say(struct error *err, int code, const char *format,
						     ...);
/* "context: message"; returns -err->code. */
__attribute__((format(printf, 2, 3))) int error_wrap(struct error *err, const char *format, ...);
