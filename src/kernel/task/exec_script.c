/*
 * Scripts: "#! interpreter [argument]" of execve(2), one after the other until there is an image. What
 * their lines say comes in front of the arguments; the stub, which builds the new stack, does that.
 */
#include "kernel/task/exec_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/script.h"

#define SCRIPT_DEPTH_MAX 5

static int append(struct exec *e, const char *s)
{
	size_t size = strlen(s) + 1;

	if (size > sizeof(e->strings) - e->strings_size)
		return -ENOEXEC;
	memcpy(e->strings + e->strings_size, s, size);
	e->strings_size += (uint32_t)size;
	return 0;
}

int exec_set_name(struct exec *e, const char *name)
{
	return append(e, name);
}

/* Puts the script's interpreter line in front: {interpreter, [argument,] script} + the rest. */
static int prepend_script(struct exec *e, const char *interp, const char *arg, const char *script)
{
	uint32_t keep_at = (uint32_t)strlen(e->strings) + 1; /* behind AT_EXECFN */
	uint32_t old_count = e->insert_count;
	static char rest[STUB_STRINGS_MAX];
	uint32_t rest_size;
	int r;

	if (old_count) /* the old argv[0], this script's own name, is replaced */
		keep_at += (uint32_t)strlen(e->strings + keep_at) + 1;
	rest_size = e->strings_size - keep_at;
	memcpy(rest, e->strings + keep_at, rest_size);
	e->strings_size = (uint32_t)strlen(e->strings) + 1;
	r = append(e, interp);
	if (r == 0 && arg)
		r = append(e, arg);
	if (r == 0)
		r = append(e, script);
	if (r < 0 || rest_size > sizeof(e->strings) - e->strings_size)
		return -ENOEXEC;
	memcpy(e->strings + e->strings_size, rest, rest_size);
	e->strings_size += rest_size;
	e->insert_count = 2 + (arg ? 1 : 0) + (old_count ? old_count - 1 : 0);
	return e->insert_count <= STUB_INSERT_MAX ? 0 : -ENOEXEC;
}

int exec_follow_scripts(struct call *c, struct exec *e, const char *name)
{
	char line[SCRIPT_LINE_MAX + 1];
	char script[PATH_MAX_BYTES + 32];

	snprintf(script, sizeof(script), "%s", name);
	for (int depth = 0;; depth++) {
		char *interp, *arg;
		int r = script_parse(e->program, line, &interp, &arg);
		if (r <= 0)
			return r;
		if (depth >= SCRIPT_DEPTH_MAX)
			return -ELOOP;
		r = prepend_script(e, interp, arg, script);
		if (r < 0)
			return r;
		file_put(e->program);
		e->program = NULL;
		r = exec_open(c, AT_FDCWD, interp, LOOKUP_FOLLOW, &e->program);
		if (r < 0)
			return r;
		snprintf(script, sizeof(script), "%s", interp);
	}
}
