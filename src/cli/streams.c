#include "cli/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"

#define TTYAUX_MAJOR 5
#define PTMX_MINOR   2

/* Opening the master side again would make a new terminal. */
static bool reopens_as_another(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && major(st->st_rdev) == TTYAUX_MAJOR &&
	       minor(st->st_rdev) == PTMX_MINOR;
}

static bool passes_as_is(const struct stat *st)
{
	return S_ISREG(st->st_mode) || S_ISSOCK(st->st_mode) || S_ISBLK(st->st_mode);
}

/* A second open file for what `fd` refers to, non-blocking; -errno when that is not possible. */
static int reopen(int fd, const struct stat *st)
{
	char path[64];
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || reopens_as_another(st))
		return -ENXIO;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int again =
		open(path, (flags & (O_ACCMODE | O_APPEND)) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (again < 0)
		return -errno;
	struct stat now;
	if (fstat(again, &now) < 0 || now.st_ino != st->st_ino || now.st_rdev != st->st_rdev) {
		close(again);
		return -ENXIO;
	}
	return again;
}

/* Which way a descriptor is used: the standard ones by their number, whatever they allow. */
static int find_direction(int index, int cause, bool *ret_to_guest, struct error *err)
{
	*ret_to_guest = index == STDIN_FILENO;
	if (index <= STDERR_FILENO)
		return 0;
	int access = fcntl(index, F_GETFL) & O_ACCMODE;
	if (access == O_RDWR)
		return error_set(err, cause,
				 "--preserve-fds: descriptor %d cannot be opened a second time", index);
	*ret_to_guest = access == O_RDONLY;
	return 0;
}

static int open_relay(struct streams *s, int index, int cause, struct error *err)
{
	int ends[2];
	struct relay *r = &s->relays[index];
	bool mine = index > STDERR_FILENO;
	int result = find_direction(index, cause, &r->to_guest, err);
	if (result < 0)
		return result;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return error_set(err, errno, "make a pipe");
	r->close_from = mine || !r->to_guest;
	r->close_to = mine || r->to_guest;
	r->from = r->to_guest ? index : ends[0];
	r->to = r->to_guest ? ends[1] : index;
	s->pass[index] = r->to_guest ? ends[0] : ends[1];
	return 0;
}

/* Nothing can be read from a directory or written to it: as good as nothing where the caller did
 * not choose what to pass. */
static int open_directory(struct streams *s, int index, struct error *err)
{
	if (index > STDERR_FILENO)
		return error_set(err, 0,
				 "--preserve-fds: descriptor %d is a directory; --ro, --rw and --cow "
				 "show directories", index);
	s->pass[index] = open("/dev/null", O_RDWR | O_CLOEXEC);
	return s->pass[index] < 0 ? error_set(err, errno, "open /dev/null") : 0;
}

static int open_one(struct streams *s, int index, struct error *err)
{
	struct stat st;
	if (fstat(index, &st) < 0)
		return error_set(err, errno, "descriptor %d", index);
	if (S_ISDIR(st.st_mode))
		return open_directory(s, index, err);
	int fd = passes_as_is(&st) ? fcntl(index, F_DUPFD_CLOEXEC, 3) : reopen(index, &st);
	if (fd < 0)
		return open_relay(s, index, -fd, err);
	s->pass[index] = fd;
	return 0;
}

int streams_fill_closed(void)
{
	int fd;
	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

int streams_check_preserved(uint64_t count, struct error *err)
{
	for (int fd = STDERR_FILENO + 1; fd <= STDERR_FILENO + (int)count; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			return error_set(err, 0, "--preserve-fds %d: descriptor %d is not open",
					 (int)count, fd);
	}
	return 0;
}

void streams_init(struct streams *s)
{
	s->first = s->end = 0;
	for (int i = 0; i < WIRE_SPAWN_FDS_MAX; i++)
		s->pass[i] = s->relays[i].from = s->relays[i].to = -EBADF;
}

int streams_open(struct streams *s, int first, int end, struct error *err)
{
	streams_init(s);
	s->first = first;
	s->end = end;
	for (int i = first; i < end; i++) {
		int r = open_one(s, i, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static void drop(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -EBADF;
}

static void end_relay(struct relay *r)
{
	if (r->close_from)
		drop(&r->from);
	if (r->close_to)
		drop(&r->to);
	r->from = r->to = -EBADF;
	r->start = r->end = 0;
}

void streams_close(struct streams *s)
{
	for (int i = s->first; i < s->end; i++) {
		drop(&s->pass[i]);
		end_relay(&s->relays[i]);
	}
}

void streams_passed(struct streams *s, bool keep_stdout)
{
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = s->first; i < s->end; i++) {
		bool used = s->relays[i].from == i || s->relays[i].to == i;
		bool ours = i == STDERR_FILENO || (i == STDOUT_FILENO && keep_stdout);
		drop(&s->pass[i]);
		if (used || ours)
			continue;
		if (i > STDERR_FILENO)
			close(i);
		else if (null >= 0)
			(void)dup2(null, i);
	}
}

unsigned int streams_poll_add(const struct streams *s, struct pollfd *fds)
{
	unsigned int n = 0;
	for (int i = s->first; i < s->end; i++) {
		const struct relay *r = &s->relays[i];
		if (r->to >= 0 && r->end > r->start)
			fds[n++] = (struct pollfd){ .fd = r->to, .events = POLLOUT };
		else if (r->from >= 0)
			fds[n++] = (struct pollfd){ .fd = r->from, .events = POLLIN };
	}
	return n;
}

static bool ready(int fd, short events, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = events };
	return poll(&p, 1, timeout_ms) == 1;
}

/* One step; true when something moved. The caller's descriptors may block: poll() first. */
static bool pump_one(struct relay *r, int timeout_ms)
{
	if (r->from < 0)
		return false;
	if (r->end == r->start) {
		if (!ready(r->from, POLLIN, 0))
			return false;
		ssize_t n = read(r->from, r->buffer, sizeof(r->buffer));
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			return false;
		if (n <= 0) {
			end_relay(r);
			return false;
		}
		r->start = 0;
		r->end = (uint32_t)n;
	}
	if (!ready(r->to, POLLOUT, timeout_ms))
		return false;
	ssize_t n = write(r->to, r->buffer + r->start, r->end - r->start);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return false;
	if (n < 0) {
		end_relay(r);
		return false;
	}
	r->start += (uint32_t)n;
	return true;
}

void streams_pump(struct streams *s)
{
	for (int i = s->first; i < s->end; i++) {
		for (int turns = 0; turns < 16 && pump_one(&s->relays[i], 0); turns++)
			;
	}
}

void streams_drain(struct streams *s)
{
	for (int i = s->first; i < s->end; i++) {
		while (!s->relays[i].to_guest && pump_one(&s->relays[i], -1))
			;
	}
}
