#include "codec/httpdate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "codec/token.h"

/* Not strftime(): the names must not depend on a locale. */
static const char days[] = "SunMonTueWedThuFriSat";
static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

void http_date_format(int64_t time, char out[static HTTP_DATE_SIZE])
{
	struct tm tm;
	time_t t = time < 0 ? 0 : time > 253402300799 ? 253402300799 : (time_t)time;
	gmtime_r(&t, &tm);
	(void)snprintf(out, HTTP_DATE_SIZE, "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT",
		       days + tm.tm_wday * 3, (unsigned)tm.tm_mday % 100, months + tm.tm_mon * 3,
		       (unsigned)(tm.tm_year + 1900) % 10000, (unsigned)tm.tm_hour % 100,
		       (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100);
}

static int digits(const char *s, size_t count, int *ret)
{
	uint64_t v;
	int r = text_number(s, count, 9999, &v);
	if (r == 0)
		*ret = (int)v;
	return r;
}

int http_date_parse(const char *s, int64_t *ret)
{
	struct tm tm = { 0 };
	char again[HTTP_DATE_SIZE];
	if (strlen(s) != HTTP_DATE_SIZE - 1)
		return -EINVAL;
	char month[4] = { s[8], s[9], s[10], '\0' };
	const char *found = strstr(months, month);
	if (!found || (found - months) % 3 != 0)
		return -EINVAL;
	tm.tm_mon = (int)(found - months) / 3;
	if (digits(s + 5, 2, &tm.tm_mday) < 0 || digits(s + 12, 4, &tm.tm_year) < 0 ||
	    digits(s + 17, 2, &tm.tm_hour) < 0 || digits(s + 20, 2, &tm.tm_min) < 0 ||
	    digits(s + 23, 2, &tm.tm_sec) < 0)
		return -EINVAL;
	tm.tm_year -= 1900;
	int64_t t = timegm(&tm);
	/* Separators, the week day and ranges are right if it is written in the same way. */
	http_date_format(t, again);
	if (t < 0 || strcmp(again, s) != 0)
		return -EINVAL;
	*ret = t;
	return 0;
}
