#include "kernel/task/script.h"

#include <errno.h>
#include <string.h>

#include "kernel/core/user.h"
#include "kernel/fs/file.h"

int script_parse(struct file *f, char line[SCRIPT_LINE_MAX + 1], char **ret_interp, char **ret_arg)
{
	uint64_t pos = 0;
	struct uio u;
	char *end, *arg;

	uio_kernel(&u, line, SCRIPT_LINE_MAX);
	ssize_t n = file_ops(f)->read(f, &u, &pos);
	if (n < 0)
		return (int)n;
	line[n] = '\0';
	if (n < 2 || line[0] != '#' || line[1] != '!')
		return 0;
	end = memchr(line, '\n', (size_t)n);
	if (!end)
		end = line + n; /* cut off at 256 bytes, as Linux does */
	*end = '\0';
	while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	*ret_interp = line + 2 + strspn(line + 2, " \t");
	if (!**ret_interp)
		return -ENOEXEC;
	arg = *ret_interp + strcspn(*ret_interp, " \t");
	if (*arg) {
		*arg++ = '\0';
		arg += strspn(arg, " \t");
	}
	*ret_arg = *arg ? arg : NULL;
	return 1;
}
