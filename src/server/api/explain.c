#include "server/api/explain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "wire/wire.h"

static const char *reason(int error)
{
	static const struct {
		int error;
		const char *text;
	} reasons[] = {
		{ ENOENT, "does not exist" },	    { ENOTDIR, "is not a directory" },
		{ EISDIR, "is a directory" },	    { EEXIST, "already exists" },
		{ ELOOP, "is a loop of links" },    { EACCES, "may not be accessed" },
		{ EROFS, "is read-only" },	    { ENOSPC, "does not fit: the disk is full" },
		{ ENAMETOOLONG, "is too long" },    { EINVAL, "is not valid" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (reasons[i].error == error)
			return reasons[i].text;
	}
	return NULL;
}

void explain(char ret[EXPLAIN_SIZE], int error, uint32_t about, const char *subject)
{
	static const char *const what[] = { [WIRE_ABOUT_PROGRAM] = "program",
					    [WIRE_ABOUT_CWD] = "cwd",
					    [WIRE_ABOUT_PATH] = "path" };
	const char *why = reason(error);

	if (about == WIRE_ABOUT_USER)
		snprintf(ret, EXPLAIN_SIZE, "invalid username: '%.400s'", subject);
	else if (about >= ARRAY_SIZE(what) || !what[about] || error == ESHUTDOWN)
		snprintf(ret, EXPLAIN_SIZE, "%.400s", *subject ? subject : strerrordesc_np(error));
	else if (why)
		snprintf(ret, EXPLAIN_SIZE, "%s '%.400s' %s", what[about], subject, why);
	else
		snprintf(ret, EXPLAIN_SIZE, "%s '%.400s': %s", what[about], subject,
			 strerrordesc_np(error));
}
