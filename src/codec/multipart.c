/*
 *   PREAMBLE --delimiter--> BEHIND --CRLF--> HEAD --empty line--> CONTENT --delimiter--> BEHIND
 *                             +--"--"--> DONE (what follows is ignored)
 *
 * A delimiter is CR LF "--" boundary, and a boundary holds no CR: after a mismatch nothing that was
 * matched can begin another one, so what is held is only a count.
 */
#include "codec/multipart.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "codec/url.h"

enum { PREAMBLE, BEHIND, BEHIND_DASH, BEHIND_CR, HEAD, CONTENT, DONE };

/* ---- parameters of a field: name=value; name="value" ---- */

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, " \t");
}

/* Takes the next parameter; NULL at the end. *ret_value is inside the field, raw. */
static const char *next_parameter(const char *at, const char **ret_name, size_t *ret_name_size,
				  const char **ret_value, size_t *ret_value_size)
{
	at = skip_blanks(at);
	if (*at != ';')
		return NULL;
	at = skip_blanks(at + 1);
	*ret_name = at;
	*ret_name_size = strcspn(at, "=;\" \t");
	at += *ret_name_size;
	if (*at != '=')
		return NULL;
	at++;
	bool quoted = *at == '"';
	if (quoted)
		at++;
	*ret_value = at;
	*ret_value_size = quoted ? strcspn(at, "\"") : strcspn(at, "; \t");
	at += *ret_value_size;
	if (quoted && *at++ != '"')
		return NULL;
	return at;
}

/* Quotes and line ends are all that senders encode in names. */
static void decode_name(const char *s, size_t size, char *out)
{
	for (size_t i = 0; i < size; i++) {
		if (i + 2 < size && strncasecmp(s + i, "%22", 3) == 0)
			*out++ = '"';
		else if (i + 2 < size && strncasecmp(s + i, "%0d", 3) == 0)
			*out++ = '\r';
		else if (i + 2 < size && strncasecmp(s + i, "%0a", 3) == 0)
			*out++ = '\n';
		else {
			*out++ = s[i];
			continue;
		}
		i += 2;
	}
	*out = '\0';
}

struct disposition {
	char name[256];
	char filename[MULTIPART_HEAD_MAX];
	bool has_filename;
};

/* filename*=UTF-8''...: percent-encoded (RFC 8187). */
static int read_extended(struct disposition *d, const char *value, size_t size)
{
	if (size < 7 || strncasecmp(value, "utf-8''", 7) != 0)
		return 0;
	ssize_t n = url_decode(value + 7, size - 7, false, d->filename);
	if (n < 0)
		return -EBADMSG;
	d->filename[n] = '\0';
	d->has_filename = true;
	return 0;
}

static int read_disposition(struct disposition *d, const char *field)
{
	const char *name, *value;
	size_t name_size, value_size;
	int r = 0;

	field = skip_blanks(field);
	if (strncasecmp(field, "form-data", 9) != 0)
		return 0;
	field += 9;
	while (r == 0 &&
	       (field = next_parameter(field, &name, &name_size, &value, &value_size))) {
		if (name_size == 4 && strncasecmp(name, "name", 4) == 0 &&
		    value_size < sizeof(d->name)) {
			decode_name(value, value_size, d->name);
		} else if (name_size == 8 && strncasecmp(name, "filename", 8) == 0 &&
			   !d->has_filename) {
			decode_name(value, value_size, d->filename);
			d->has_filename = true;
		} else if (name_size == 9 && strncasecmp(name, "filename*", 9) == 0) {
			r = read_extended(d, value, value_size);
		}
	}
	return r;
}

/* ---- the head of a part ---- */

static int begin_part(struct multipart *m)
{
	static const char field[] = "content-disposition:";
	static struct disposition d; /* large, and this is one thread */
	char *save = NULL;
	int r = 0;

	m->head[m->head_size] = '\0';
	d = (struct disposition){ .has_filename = false };
	if (strlen(m->head) != m->head_size)
		return -EBADMSG;
	for (char *line = strtok_r(m->head, "\r\n", &save); line && r == 0;
	     line = strtok_r(NULL, "\r\n", &save)) {
		if (strncasecmp(line, field, sizeof(field) - 1) == 0)
			r = read_disposition(&d, line + sizeof(field) - 1);
	}
	if (r < 0)
		return r;
	if (++m->parts > MULTIPART_PARTS_MAX)
		return -E2BIG;
	m->in_part = true;
	m->state = CONTENT;
	m->matched = 0;
	return m->events->begin(m->ctx, d.name, d.has_filename ? d.filename : NULL);
}

static bool head_complete(const struct multipart *m)
{
	size_t n = m->head_size;

	return (n == 2 && memcmp(m->head, "\r\n", 2) == 0) ||
	       (n >= 4 && memcmp(m->head + n - 4, "\r\n\r\n", 4) == 0);
}

static int feed_head(struct multipart *m, uint8_t c)
{
	if (m->head_size == sizeof(m->head) - 1)
		return -E2BIG;
	m->head[m->head_size++] = (char)c;
	return c == '\n' && head_complete(m) ? begin_part(m) : 0;
}

/* ---- content and delimiters ---- */

static int emit(struct multipart *m, const void *data, size_t size)
{
	return m->state == CONTENT && size ? m->events->data(m->ctx, data, size) : 0;
}

static int delimiter_found(struct multipart *m)
{
	m->state = BEHIND;
	m->matched = 0;
	if (!m->in_part)
		return 0;
	m->in_part = false;
	return m->events->end(m->ctx);
}

/* Content or preamble; *used bytes of data, at least one. */
static int feed_content(struct multipart *m, const uint8_t *data, size_t size, size_t *used)
{
	if (m->matched == 0) {
		const uint8_t *cr = memchr(data, '\r', size);
		size_t n = cr ? (size_t)(cr - data) : size;
		*used = n + (cr ? 1 : 0);
		m->matched = cr ? 1 : 0;
		return emit(m, data, n);
	}
	if (*data == (uint8_t)m->delimiter[m->matched]) {
		*used = 1;
		return ++m->matched == m->delimiter_size ? delimiter_found(m) : 0;
	}
	size_t held = m->matched;
	m->matched = 0;
	*used = 0; /* this byte is looked at again, with nothing matched */
	return emit(m, m->delimiter, held);
}

/* Behind a delimiter: "--", or blanks and CR LF. */
static int feed_behind(struct multipart *m, uint8_t c)
{
	switch (m->state) {
	case BEHIND:
		if (c == '-')
			m->state = BEHIND_DASH;
		else if (c == '\r')
			m->state = BEHIND_CR;
		else if (c != ' ' && c != '\t')
			return -EBADMSG;
		return 0;
	case BEHIND_DASH:
		m->state = DONE;
		return c == '-' ? 0 : -EBADMSG;
	default:
		m->state = HEAD;
		m->head_size = 0;
		return c == '\n' ? 0 : -EBADMSG;
	}
}

int multipart_feed(struct multipart *m, const uint8_t *data, size_t size, size_t *ret_used)
{
	const size_t all = size;
	int r = 0;

	*ret_used = all;
	while (size > 0 && r == 0 && m->state != DONE) {
		size_t used = 1;
		if (m->state == PREAMBLE || m->state == CONTENT)
			r = feed_content(m, data, size, &used);
		else if (m->state == HEAD)
			r = feed_head(m, *data);
		else
			r = feed_behind(m, *data);
		data += used;
		size -= used;
	}
	if (r < 0)
		*ret_used = all - size;
	return r;
}

bool multipart_complete(const struct multipart *m)
{
	return m->state == DONE;
}

int multipart_init(struct multipart *m, const char *content_type,
		   const struct multipart_events *events, void *ctx)
{
	static const char type[] = "multipart/form-data";
	const char *name, *value, *at;
	size_t name_size, value_size;

	memset(m, 0, offsetof(struct multipart, head));
	m->events = events;
	m->ctx = ctx;
	m->matched = 2; /* the first delimiter may stand at the very beginning */
	if (!content_type || strncasecmp(content_type, type, sizeof(type) - 1) != 0)
		return -EINVAL;
	at = content_type + sizeof(type) - 1;
	while ((at = next_parameter(at, &name, &name_size, &value, &value_size))) {
		if (name_size != 8 || strncasecmp(name, "boundary", 8) != 0)
			continue;
		if (value_size == 0 || value_size > MULTIPART_BOUNDARY_MAX ||
		    memchr(value, '\r', value_size) || memchr(value, '\n', value_size))
			return -EINVAL;
		memcpy(m->delimiter, "\r\n--", 4);
		memcpy(m->delimiter + 4, value, value_size);
		m->delimiter_size = 4 + value_size;
		return 0;
	}
	return -EINVAL;
}
