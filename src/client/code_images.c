#include "client/code_images.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/util.h"
#include "codec/base64.h"

#define NUMBER_MAX 100000

static const struct image_kind kinds[] = {
	{ "png", "png", 0 },
	{ "jpeg", "jpg", 0 },
	{ "svg", "svg", 1 },
	{ "pdf", "pdf", 0 },
};

const struct image_kind *image_kind_at(size_t i)
{
	return i < ARRAY_SIZE(kinds) ? &kinds[i] : NULL;
}

/* Some encoders break lines. */
static size_t drop_spaces(char *data, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < size; i++) {
		if (data[i] != '\n' && data[i] != '\r' && data[i] != ' ')
			data[n++] = data[i];
	}
	return n;
}

static int create(struct images *m, const struct image_kind *kind, int next,
		  char ret_name[PATH_MAX], struct error *err)
{
	unsigned int number = m->number + (next ? 1 : 0);

	for (number = number ? number : 1; number < NUMBER_MAX; number++) {
		int n = snprintf(ret_name, PATH_MAX, "%s%sfigure-%u.%s",
				 m->directory ? m->directory : "", m->directory ? "/" : "", number,
				 kind->extension);
		if (n >= PATH_MAX)
			return error_set(err, ENAMETOOLONG, "%.300s", m->directory);
		int fd = open(ret_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (fd >= 0) {
			m->number = number;
			return fd;
		}
		if (errno != EEXIST)
			return error_set(err, errno, "save %.400s", ret_name);
	}
	return error_set(err, 0, "save an image: every name up to figure-%u.%s is taken",
			 NUMBER_MAX - 1, kind->extension);
}

int images_save(struct images *m, const struct image_kind *kind, int next, char *data, size_t size,
		char ret_name[PATH_MAX], struct error *err)
{
	ssize_t bytes = (ssize_t)size;

	if (!kind->text)
		bytes = base64_decode(data, drop_spaces(data, size), data);
	if (bytes <= 0)
		return error_set(err, 0, "left out: what should be a %s image is none",
				 kind->field);
	if (m->count == IMAGES_MAX || m->size + (uint64_t)bytes > IMAGES_SIZE_MAX)
		return error_set(err, 0, "left out: more images than %u, or %llu MB of them",
				 IMAGES_MAX, (unsigned long long)(IMAGES_SIZE_MAX >> 20));
	AUTO_CLOSE int fd = create(m, kind, next, ret_name, err);
	if (fd < 0)
		return fd;
	int r = io_write_all(fd, data, (size_t)bytes);
	if (r < 0) {
		(void)unlink(ret_name);
		return error_set(err, -r, "save %.400s", ret_name);
	}
	m->count++;
	m->size += (uint64_t)bytes;
	return 0;
}
