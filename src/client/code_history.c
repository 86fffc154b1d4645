#include "client/code_history.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/util.h"

#define FILE_MAX (8u << 20)

struct history_file {
	int fd;
};

/* ---- where ---- */

static bool make_directories(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		int r = mkdir(path, 0700);
		*p = '/';
		if (r < 0 && errno != EEXIST)
			return false;
	}
	return true;
}

static bool find_path(const char *language, char ret[PATH_MAX])
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int n = -1;

	/* The specification: a relative path is to be ignored. */
	if (state && *state == '/')
		n = snprintf(ret, PATH_MAX, "%s/hotcell/history-%s", state, language);
	else if (home && *home == '/')
		n = snprintf(ret, PATH_MAX, "%s/.local/state/hotcell/history-%s", home, language);
	return n > 0 && n < PATH_MAX && make_directories(ret);
}

/* ---- entries ---- */

/* In place; NULs, which only others can have written, end it. */
static void unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1]) {
			s++;
			*out++ = *s == 'n' ? '\n' : *s;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
}

static int escape(struct buffer *b, const char *entry)
{
	int r = 0;

	for (; *entry && r == 0; entry++) {
		if (*entry == '\n' || *entry == '\\')
			r = buffer_append(b, *entry == '\n' ? "\\n" : "\\\\", 2);
		else
			r = buffer_append(b, entry, 1);
	}
	return r < 0 ? r : buffer_append(b, "\n", 1);
}

/* ---- the file ---- */

static bool read_file(int fd, struct buffer *b)
{
	static char piece[65536];
	ssize_t n;

	while ((n = read(fd, piece, sizeof(piece))) > 0) {
		if (buffer_append(b, piece, (size_t)n) < 0)
			return false;
	}
	return n == 0;
}

/* Where the newest entries begin, when there are too many. */
static size_t old_size(const struct buffer *b)
{
	size_t entries = 0;

	for (size_t i = b->size; i > 0; i--) {
		if (b->data[i - 1] == '\n' && entries++ == HISTORY_ENTRIES_MAX)
			return i;
	}
	return 0;
}

/* In place, while nobody appends. What cannot be cut stays as it is. */
static void cut(int fd, const struct buffer *b, size_t old)
{
	size_t rest = b->size - old;

	if (old && pwrite(fd, b->data + old, rest, 0) == (ssize_t)rest &&
	    ftruncate(fd, (off_t)rest) < 0)
		return;
}

static void load(int fd, void (*each)(void *ctx, const char *entry), void *ctx)
{
	struct buffer b;

	buffer_init(&b, FILE_MAX);
	(void)flock(fd, LOCK_EX);
	if (!read_file(fd, &b))
		buffer_clear(&b); /* nobody's history is that long */
	size_t old = old_size(&b);
	cut(fd, &b, old);
	(void)flock(fd, LOCK_UN);
	for (size_t at = old; at < b.size;) {
		char *entry = (char *)b.data + at;
		size_t size = strcspn(entry, "\n");
		at += size + 1;
		entry[size] = '\0';
		unescape(entry);
		if (*entry)
			each(ctx, entry);
	}
	buffer_fini(&b);
}

struct history_file *history_file_open(const char *language,
				       void (*each)(void *ctx, const char *entry), void *ctx)
{
	char path[PATH_MAX];
	struct stat st;

	if (!find_path(language, path))
		return NULL;
	AUTO_CLOSE int fd =
		open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || fchmod(fd, 0600) < 0)
		return NULL;
	struct history_file *h = malloc(sizeof(*h));
	if (!h)
		return NULL;
	load(fd, each, ctx);
	h->fd = take_fd(&fd);
	return h;
}

void history_file_add(struct history_file *h, const char *entry)
{
	struct buffer b;

	if (!h)
		return;
	buffer_init(&b, HISTORY_ENTRY_SIZE);
	if (escape(&b, entry) == 0) {
		(void)flock(h->fd, LOCK_EX);
		(void)lseek(h->fd, 0, SEEK_END);
		(void)io_write_all(h->fd, b.data, b.size);
		(void)flock(h->fd, LOCK_UN);
	}
	buffer_fini(&b);
}

void history_file_close(struct history_file *h)
{
	if (!h)
		return;
	close(h->fd);
	free(h);
}
