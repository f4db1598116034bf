// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "decoder/base/wall_time.h"

#define NS_PER_SECOND INT64_C(1000000000)
#define NS_PER_MS     INT64_C(1000000)
#define YEARS_MOST    290 /* before now; more would not fit */

/* "-10min": so much before now. */
static bool parse_before(const char *text, int64_t now, int64_t *time)
{
	static const struct {
		const char *name;
		int64_t seconds;
	} units[] = {{"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}, {"d", 86400}};
	char *end;
	double count = strtod(text, &end);

	if (end == text || !(count <= 0))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(end, units[i].name)) {
			double seconds = -count * (double)units[i].seconds;

			if (seconds > YEARS_MOST * 366.0 * 86400)
				return false;
			*time = now - (int64_t)(seconds * (double)NS_PER_SECOND);
			return true;
		}
	return false;
}

bool wall_time_read(const char *text, int64_t now, int64_t *time)
{
	static const char *const formats[] = {
		"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M",
		"%Y-%m-%d",	     "%H:%M:%S",	  "%H:%M"};
	time_t seconds = (time_t)(now / NS_PER_SECOND);

	if (*text == '-')
		return parse_before(text, now, time);
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		struct tm local, utc;
		const char *end;

		localtime_r(&seconds, &local);
		gmtime_r(&seconds, &utc);
		local.tm_hour = local.tm_min = local.tm_sec = 0;
		utc.tm_hour = utc.tm_min = utc.tm_sec = 0;
		end = strptime(text, formats[i], &local);
		if (!end || (*end && strcmp(end, "Z") != 0))
			continue;
		strptime(text, formats[i], &utc);
		local.tm_isdst = -1;
		seconds = *end ? timegm(&utc) : mktime(&local);
		return !__builtin_mul_overflow((int64_t)seconds, NS_PER_SECOND, time);
	}
	return false;
}

bool wall_time_overlaps(const struct wall_time_range *range, int64_t begin, int64_t end)
{
	return !(range->has_since && end < range->since) &&
	       !(range->has_until && begin >= range->until);
}

bool wall_time_of_interval(const char *name, int64_t *begin)
{
	struct tm utc = {0};
	unsigned int ms;
	const char *rest = strptime(name, "pesa-%Y%m%dT%H%M%S", &utc);

	if (!rest || sscanf(rest, ".%3u", &ms) != 1)
		return false;
	return !__builtin_mul_overflow((int64_t)timegm(&utc), NS_PER_SECOND, begin) &&
	       !__builtin_add_overflow(*begin, (int64_t)(ms * NS_PER_MS), begin);
}
