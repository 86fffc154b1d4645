#include "base/parse.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/util.h"

/*
 * Decimal number with an optional fraction, as value * 10^6: exact where it matters (0.1s) and free
 * of the surprises of strtod() (hex, nan, locale). *ret_end points behind the number.
 */
static int parse_decimal(const char *text, const char **ret_end, uint64_t *ret_micro)
{
	const char *p = text;
	uint64_t whole = 0, fraction = 0, scale = 1000000;
	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, (uint64_t)(*p - '0'), &whole))
			return -ERANGE;
	}
	if (*p == '.') {
		p++;
		if (*p < '0' || *p > '9')
			return -EINVAL;
		for (; *p >= '0' && *p <= '9'; p++) {
			scale /= 10;
			fraction += (uint64_t)(*p - '0') * scale;
		}
	}
	if (__builtin_mul_overflow(whole, 1000000, &whole) ||
	    __builtin_add_overflow(whole, fraction, &whole))
		return -ERANGE;
	*ret_end = p;
	*ret_micro = whole;
	return 0;
}

struct unit {
	const char *suffix;
	uint64_t factor;
};

static int parse_with_units(const char *text, const struct unit *units, size_t count, uint64_t *ret)
{
	const char *end;
	uint64_t micro;
	int r = parse_decimal(text, &end, &micro);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(end, units[i].suffix) != 0)
			continue;
		unsigned __int128 v = (unsigned __int128)micro * units[i].factor / 1000000;
		if (v > UINT64_MAX / 2)
			return -ERANGE;
		*ret = (uint64_t)v;
		return 0;
	}
	return -EINVAL;
}

int parse_size(const char *text, uint64_t *ret_bytes)
{
	static const struct unit units[] = {
		{ "", 1 },	     { "B", 1 },	   { "k", KIB(1) },    { "K", KIB(1) },
		{ "KB", KIB(1) },    { "KiB", KIB(1) },	   { "m", MIB(1) },    { "M", MIB(1) },
		{ "MB", MIB(1) },    { "MiB", MIB(1) },	   { "g", GIB(1) },    { "G", GIB(1) },
		{ "GB", GIB(1) },    { "GiB", GIB(1) },	   { "t", GIB(1024) }, { "T", GIB(1024) },
		{ "TB", GIB(1024) }, { "TiB", GIB(1024) },
	};
	return parse_with_units(text, units, ARRAY_SIZE(units), ret_bytes);
}

int parse_duration(const char *text, uint64_t *ret_ns)
{
	static const struct unit units[] = {
		{ "", NSEC_PER_SEC },	      { "s", NSEC_PER_SEC },
		{ "ms", NSEC_PER_MSEC },      { "us", NSEC_PER_USEC },
		{ "m", 60 * NSEC_PER_SEC },   { "min", 60 * NSEC_PER_SEC },
		{ "h", 3600 * NSEC_PER_SEC }, { "d", 86400 * NSEC_PER_SEC },
	};
	return parse_with_units(text, units, ARRAY_SIZE(units), ret_ns);
}

int parse_count(const char *text, uint64_t *ret)
{
	const char *end;
	uint64_t micro;
	int r = parse_decimal(text, &end, &micro);
	if (r < 0)
		return r;
	if (*end || micro % 1000000)
		return -EINVAL;
	*ret = micro / 1000000;
	return 0;
}

int parse_cpus(const char *text, uint64_t *ret_milli)
{
	const char *end;
	uint64_t micro;
	int r = parse_decimal(text, &end, &micro);
	if (r < 0)
		return r;
	if (*end)
		return -EINVAL;
	if (micro / 1000 < 10)
		return -ERANGE;
	*ret_milli = micro / 1000;
	return 0;
}

/* Guest paths are cleaned here so that two spellings of one path are one mount. */
static int clean_guest_path(const char *text, char *ret, size_t size)
{
	if (text[0] != '/')
		return -EINVAL;
	size_t length = 0;
	const char *p = text;
	while (*p) {
		while (*p == '/')
			p++;
		size_t n = strcspn(p, "/");
		if (n == 0 || (n == 1 && p[0] == '.')) {
			p += n;
			continue;
		}
		if (n == 2 && p[0] == '.' && p[1] == '.')
			return -EINVAL;
		if (n > 255 || length + n + 2 > size)
			return -ERANGE;
		ret[length++] = '/';
		memcpy(ret + length, p, n);
		length += n;
		p += n;
	}
	if (length == 0)
		ret[length++] = '/';
	ret[length] = '\0';
	return 0;
}

int parse_mount(const char *text, struct mount_text *ret)
{
	/* The last colon: host paths may contain one, guest paths of sane mounts do not. */
	const char *colon = strrchr(text, ':');
	const char *guest = colon ? colon + 1 : text;
	size_t host_length = colon ? (size_t)(colon - text) : strlen(text);
	if (host_length == 0 || *guest == '\0')
		return -EINVAL;
	if (host_length >= sizeof(ret->host))
		return -ERANGE;
	memcpy(ret->host, text, host_length);
	ret->host[host_length] = '\0';
	return clean_guest_path(guest, ret->guest, sizeof(ret->guest));
}
