#include "server/api/envd/files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/util.h"
#include "server/api/explain.h"
#include "server/api/reply.h"
#include "wire/wire.h"

void files_fail(struct http_exchange *x, int error, uint32_t about, const char *message)
{
	static const struct {
		int error, status;
	} statuses[] = {
		{ ENOENT, 404 },  { EISDIR, 400 }, { ENOTDIR, 400 },	  { EINVAL, 400 },
		{ ELOOP, 400 },	  { ENAMETOOLONG, 400 }, { EEXIST, 400 }, { EACCES, 403 },
		{ EPERM, 403 },	  { EROFS, 403 },  { ENOSPC, 507 },	  { EDQUOT, 507 },
		{ E2BIG, 400 },	  { ENOMEM, 503 }, { ESHUTDOWN, 502 },
	};
	char text[EXPLAIN_SIZE];
	int status = 500;

	explain(text, error, about, message);
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		if (statuses[i].error == error)
			status = statuses[i].status;
	}
	if (about == WIRE_ABOUT_USER)
		status = 401;
	reply_cors(x);
	http_error(x, status, "%s", text);
}

/* "gzip;q=0.5": the name and whether it is allowed. */
static bool read_coding(char *item, const char **ret_name)
{
	char *parameters = strchr(item, ';');
	double quality = 1;

	item += strspn(item, " \t");
	if (parameters) {
		*parameters++ = '\0';
		char *q = strstr(parameters, "q=");
		if (q)
			quality = strtod(q + 2, NULL);
	}
	item[strcspn(item, " \t")] = '\0';
	*ret_name = item;
	return quality > 0;
}

enum files_coding files_accepted(const char *accept_encoding)
{
	char text[256], *save = NULL;
	int identity = -1, gzip = -1, any = -1;

	if (!accept_encoding || strlen(accept_encoding) >= sizeof(text))
		return FILES_IDENTITY;
	memcpy(text, accept_encoding, strlen(accept_encoding) + 1);
	for (char *item = strtok_r(text, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		const char *name;
		bool allowed = read_coding(item, &name);
		if (strcasecmp(name, "identity") == 0)
			identity = allowed;
		else if (strcasecmp(name, "gzip") == 0 || strcasecmp(name, "x-gzip") == 0)
			gzip = allowed;
		else if (strcmp(name, "*") == 0)
			any = allowed;
	}
	if (identity == 1 || (identity < 0 && any != 0))
		return FILES_IDENTITY;
	return gzip == 1 || (gzip < 0 && any == 1) ? FILES_GZIP : FILES_NONE;
}
