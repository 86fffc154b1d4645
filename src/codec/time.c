#include "codec/time.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define US_PER_SEC 1000000

int64_t time_now_us(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * US_PER_SEC + ts.tv_nsec / 1000;
}

void time_format(int64_t us, char ret[TIME_TEXT_SIZE])
{
	int64_t seconds = us / US_PER_SEC, rest = us % US_PER_SEC;
	struct tm tm;

	if (rest < 0) {
		rest += US_PER_SEC;
		seconds--;
	}
	time_t t = (time_t)seconds;
	gmtime_r(&t, &tm);
	char date[24];
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(ret, TIME_TEXT_SIZE, "%s.%06dZ", date, (int)rest);
}

/* ".123456789" as microseconds; *at moves behind it. */
static int64_t parse_fraction(const char **at)
{
	int64_t us = 0;
	int digits = 0;

	if (**at != '.' && **at != ',')
		return 0;
	for ((*at)++; isdigit((unsigned char)**at); (*at)++, digits++) {
		if (digits < 6)
			us = us * 10 + (**at - '0');
	}
	if (digits == 0 || digits > 9)
		return -1;
	for (; digits < 6; digits++)
		us *= 10;
	return us;
}

/* "Z" or "+01:00"; seconds east of UTC. */
static int parse_offset(const char *s, int *ret)
{
	int hours, minutes, length = 0;

	if ((s[0] == 'Z' || s[0] == 'z') && s[1] == '\0') {
		*ret = 0;
		return 0;
	}
	if ((s[0] != '+' && s[0] != '-') ||
	    sscanf(s + 1, "%2d:%2d%n", &hours, &minutes, &length) != 2 || length != 5 || s[6])
		return -EINVAL;
	if (hours > 23 || minutes > 59 || hours < 0 || minutes < 0)
		return -EINVAL;
	*ret = (hours * 3600 + minutes * 60) * (s[0] == '-' ? -1 : 1);
	return 0;
}

int time_parse(const char *text, int64_t *ret_us)
{
	struct tm tm = { 0 };
	int offset;
	const char *at = strptime(text, "%Y-%m-%d", &tm);

	if (!at || (*at != 'T' && *at != 't' && *at != ' '))
		return -EINVAL;
	at = strptime(at + 1, "%H:%M:%S", &tm);
	if (!at)
		return -EINVAL;
	int64_t us = parse_fraction(&at);
	if (us < 0 || parse_offset(at, &offset) < 0)
		return -EINVAL;
	*ret_us = ((int64_t)timegm(&tm) - offset) * US_PER_SEC + us;
	return 0;
}
