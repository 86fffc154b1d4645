/* The machine's name in /etc, changed while the sandbox runs. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/rw.h"
#include "kernel/fs/setup_internal.h"

__attribute__((format(printf, 2, 3))) static int replace(const char *path, const char *format, ...)
{
	char text[512];
	struct file *f;
	struct uio u;
	uint64_t pos = 0;
	va_list args;

	va_start(args, format);
	int length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	int r = file_open_kernel(path, O_WRONLY | O_CREAT | O_TRUNC, 0644, &f);

	if (r < 0)
		return r;
	uio_kernel(&u, text, (size_t)length);
	ssize_t n = file_ops(f)->write ? file_ops(f)->write(f, &u, &pos) : -EINVAL;
	if (n > 0)
		file_modified(NULL, f);
	file_put(f);
	return n == length ? 0 : n < 0 ? (int)n : -ENOSPC;
}

int fs_set_hostname(const char *name)
{
	int r = replace("/etc/hostname", "%s\n", name);

	return r < 0 ? r : replace("/etc/hosts", HOSTS_FORMAT, name);
}
