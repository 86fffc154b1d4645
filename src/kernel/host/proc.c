/*
 * Reading the host's /proc through one directory descriptor that the jail hands over.
 *
 * Names are ours ("stat", "status", ...), never the guest's; still every open is confined with
 * openat2 so that no magic link can lead out of the proc mount.
 *
 * host-syscalls: openat2 openat fchmodat read write close getdents64 readlinkat
 */
#include "kernel/host/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int proc_root = -EBADF;

void host_proc_set_root(int fd)
{
	if (proc_root >= 0)
		close(proc_root);
	proc_root = fd >= 0 ? fd : -EBADF;
}

static char *put_number(char *p, int n)
{
	char digits[12];
	int count = 0;

	do {
		digits[count++] = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0);
	while (count > 0)
		*p++ = digits[--count];
	return p;
}

/* "self/fd/N": magic links that are meant to be followed, they lead to what we hold already. */
static int own_fd_path(char *dst, int fd)
{
	static const char prefix[] = "self/fd/";

	if (fd < 0)
		return -EBADF;
	if (proc_root < 0)
		return -ENOENT;
	memcpy(dst, prefix, sizeof(prefix));
	*put_number(dst + sizeof(prefix) - 1, fd) = 0;
	return 0;
}

int host_proc_reopen(int fd, int flags)
{
	char path[48];
	int err = own_fd_path(path, fd);

	if (err < 0)
		return err;
	int again = openat(proc_root, path, flags | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

int host_proc_chmod(int fd, unsigned mode)
{
	char path[48];
	int err = own_fd_path(path, fd);

	if (err < 0)
		return err;
	return fchmodat(proc_root, path, (mode_t)mode, 0) < 0 ? -errno : 0;
}

static int open_entry(int host_tid, const char *name, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	char path[96];
	char *p = path;
	size_t length = strlen(name);

	if (proc_root < 0 || host_tid < 0 || length > sizeof(path) - 16)
		return -ENOENT;
	if (host_tid > 0) {
		p = put_number(p, host_tid);
		*p++ = '/';
	}
	memcpy(p, name, length + 1);
	int fd = (int)syscall(SYS_openat2, proc_root, path, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

int host_proc_open_namespace(int host_pid, const char *name)
{
	char path[64] = "self/";
	size_t length = strlen(name);

	if (proc_root < 0 || length > sizeof(path) - 16)
		return -ENOENT;
	char *p = path + 5;
	if (host_pid > 0) {
		p = put_number(path, host_pid);
		*p++ = '/';
	}
	memcpy(p, name, length + 1);
	int fd = openat(proc_root, path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

ssize_t host_proc_read(int host_tid, const char *name, char *dst, size_t capacity)
{
	size_t total = 0;
	int fd = open_entry(host_tid, name, O_RDONLY);

	if (fd < 0)
		return fd;
	/* The host produces these files a page at a time, so short reads are not the end. */
	while (total < capacity) {
		ssize_t n = read(fd, dst + total, capacity - total);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && total == 0) {
			int error = errno;
			close(fd);
			return -error;
		}
		if (n <= 0)
			break;
		total += (size_t)n;
	}
	close(fd);
	return (ssize_t)total;
}

int host_proc_open(int host_tid, const char *name)
{
	return open_entry(host_tid, name, O_RDONLY);
}

ssize_t host_proc_next(int fd, char *dst, size_t capacity)
{
	ssize_t n;

	do
		n = read(fd, dst, capacity);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

void host_proc_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

int host_proc_write(int host_tid, const char *name, const char *src, size_t size)
{
	int fd = open_entry(host_tid, name, O_WRONLY);
	if (fd < 0)
		return fd;
	ssize_t n = write(fd, src, size);
	int result = n < 0 ? -errno : 0;
	close(fd);
	return result;
}

/* Parses the last decimal number on the line at `p`; lines of status are "Name:\tn\tn...\n". */
static int last_number(const char *p)
{
	int value = -1;

	while (*p && *p != '\n') {
		if (*p < '0' || *p > '9') {
			p++;
			continue;
		}
		value = 0;
		for (; *p >= '0' && *p <= '9'; p++)
			value = value * 10 + (*p - '0');
	}
	return value;
}

int host_proc_ids(int host_tid, int *ret_tgid, int *ret_ppid, int *ret_ns_tid, int *ret_ns_tgid)
{
	static const struct {
		char key[8];
		uint8_t length;
	} keys[] = { { "Tgid:", 5 }, { "PPid:", 5 }, { "NSpid:", 6 }, { "NStgid:", 7 } };
	int values[4] = { -1, -1, -1, -1 };
	char buffer[2048];
	int fd = open_entry(host_tid, "status", O_RDONLY);

	if (fd < 0)
		return fd;
	ssize_t n = read(fd, buffer, sizeof(buffer) - 1);
	int error = errno;
	close(fd);
	if (n <= 0)
		return n < 0 ? -error : -ESRCH;
	buffer[n] = 0;
	/* The name of a task cannot fake a line: the host escapes its newlines. */
	for (const char *line = buffer; line; ) {
		for (size_t i = 0; i < 4; i++)
			if (!strncmp(line, keys[i].key, keys[i].length))
				values[i] = last_number(line + keys[i].length);
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	for (size_t i = 0; i < 4; i++)
		if (values[i] < 0)
			return -ESRCH;
	*ret_tgid = values[0];
	*ret_ppid = values[1];
	*ret_ns_tid = values[2];
	*ret_ns_tgid = values[3];
	return 0;
}

/* The entries of a directory that are numbers. */
static int list_numbers(int host_tid, const char *name, int *tids, int max)
{
	char buffer[4096] __attribute__((aligned(8)));
	int count = 0;
	long n;
	int fd = open_entry(host_tid, name, O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		return fd;
	while (count < max && (n = syscall(SYS_getdents64, fd, buffer, sizeof(buffer))) > 0) {
		for (long at = 0; at < n && count < max; ) {
			/* struct linux_dirent64: inode, offset, record length, type, name */
			uint16_t length;
			memcpy(&length, buffer + at + 16, sizeof(length));
			const char *entry = buffer + at + 19;
			int tid = *entry >= '0' && *entry <= '9' ? last_number(entry) : 0;
			if (tid > 0)
				tids[count++] = tid;
			at += length;
		}
	}
	close(fd);
	return count;
}

int host_proc_threads(int host_pid, int *tids, int max)
{
	return list_numbers(host_pid, "task", tids, max);
}

/* num_threads, the 20th field of stat; the second is a name in parentheses. */
int host_proc_thread_count(int host_pid)
{
	char text[512];
	ssize_t n = host_proc_read(host_pid, "stat", text, sizeof(text) - 1);

	if (n <= 0)
		return n < 0 ? (int)n : -ESRCH;
	text[n] = 0;
	const char *p = strrchr(text, ')');
	for (int field = 2; p && field < 20; field++)
		p = strchr(p + 1, ' ');
	if (!p)
		return -ESRCH;
	int count = 0;
	for (p++; *p >= '0' && *p <= '9'; p++)
		count = count * 10 + (*p - '0');
	return count;
}

int host_proc_processes(int *pids, int max)
{
	return list_numbers(0, ".", pids, max);
}

int host_proc_exe_end(int host_pid)
{
	char name[24], target[64];

	if (proc_root < 0 || host_pid <= 0)
		return -ENOENT;
	memcpy(put_number(name, host_pid), "/exe", sizeof("/exe"));
	ssize_t n = readlinkat(proc_root, name, target, sizeof(target));
	return n < 0 ? -errno : n == 0 ? 0 : target[n - 1];
}

char host_proc_state(int host_tid)
{
	char text[256];
	ssize_t n = host_proc_read(host_tid, "stat", text, sizeof(text) - 1);

	if (n <= 0)
		return 0;
	text[n] = 0;
	const char *end = strrchr(text, ')'); /* the name may contain anything */
	return end && end[1] == ' ' ? end[2] : 0;
}

/* One list of numbers and spaces, in pieces of any size. */
int host_proc_children(int host_tgid, int host_tid, int *pids, int max)
{
	char name[48] = "task/";
	char buffer[4096];
	int count = 0, value = 0;
	ssize_t n;

	memcpy(put_number(name + 5, host_tid), "/children", sizeof("/children"));
	int fd = host_proc_open(host_tgid, name);
	if (fd < 0)
		return fd;
	while ((n = host_proc_next(fd, buffer, sizeof(buffer))) > 0) {
		for (const char *p = buffer; p < buffer + n; p++) {
			if (*p >= '0' && *p <= '9') {
				value = value * 10 + (*p - '0');
				continue;
			}
			if (value > 0 && count < max)
				pids[count++] = value;
			value = 0;
		}
	}
	close(fd);
	return n < 0 ? (int)n : count;
}
