// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/report/filter.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "pesa/perfdata.h"

#define NANOSECONDS 1000000000u
#define HUNDRED	    100.0

struct cgroup {
	uint64_t id;
	uint32_t wanted; /* after the key */
};

bool filter_is_wanted(const struct filter_wanted *wanted)
{
	return wanted->time || wanted->cpus || wanted->cgroup || wanted->unit;
}

/* ---- Numbers ------------------------------------------------------------------------------- */

/* Read seconds with up to nine digits after the point, as ns.  Nothing: `otherwise`.  false: invalid. */
static bool read_seconds(const char **text, uint64_t otherwise, uint64_t *ns)
{
	uint64_t seconds = 0, part = 0, scale = NANOSECONDS;
	const char *at = *text;

	if (!isdigit((unsigned char)*at) && *at != '.') {
		*ns = otherwise;
		return true;
	}
	for (; isdigit((unsigned char)*at); at++)
		if (__builtin_mul_overflow(seconds, 10, &seconds) ||
		    __builtin_add_overflow(seconds, (uint64_t)(*at - '0'), &seconds))
			return false;
	if (*at == '.')
		for (at++; isdigit((unsigned char)*at); at++)
			if (scale > 1) {
				scale /= 10;
				part += (uint64_t)(*at - '0') * scale;
			}
	*text = at;
	return !__builtin_mul_overflow(seconds, NANOSECONDS, ns) &&
	       !__builtin_add_overflow(*ns, part, ns);
}

/* Read "12.5%"; false: invalid. */
static bool read_percent(const char **text, double *percent)
{
	char *end;

	if (!isdigit((unsigned char)**text) && **text != '.')
		return false;
	*percent = strtod(*text, &end);
	if (*end != '%' || !(*percent >= 0 && *percent <= HUNDRED))
		return false;
	*text = end + 1;
	return true;
}

static struct pesa_error *invalid(const char *option, const char *text, const char *allowed)
{
	return pesa_error_create(PESA_ERROR_ARGUMENT, "'%s' is no value for %s; allowed: %s", text,
				 option, allowed);
}

/* ---- Times --------------------------------------------------------------------------------- */

/* The times of the first and the last sample of a recording. */
static struct pesa_error *find_times(const char *path, struct filter_range *range)
{
	struct pesa_perfdata *reader;
	struct pesa_event event;
	struct pesa_error *error;

	if (!strcmp(path, "-"))
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "--time with percentages reads the recording twice: give "
					 "times in seconds, or a file with -i");
	error = pesa_perfdata_open(path, &reader);
	if (error)
		return error;
	*range = (struct filter_range){.first = UINT64_MAX};
	while (pesa_perfdata_next(reader, &event) > 0) {
		if (event.type != PERF_RECORD_SAMPLE || !event.sample.time)
			continue;
		if (event.sample.time < range->first)
			range->first = event.sample.time;
		if (event.sample.time > range->last)
			range->last = event.sample.time;
	}
	pesa_perfdata_close(reader);
	return NULL;
}

/* "10%-20%", or "10%/2", the second tenth. */
static bool read_part(const char **text, double *begin, double *end)
{
	double width;
	char *rest;
	long number;

	if (!read_percent(text, begin))
		return false;
	if (**text == '-') {
		++*text;
		return read_percent(text, end) && *begin < *end;
	}
	if (**text != '/')
		return false;
	number = strtol(*text + 1, &rest, 10);
	width = *begin;
	if (rest == *text + 1 || number < 1 || width <= 0 || (double)number > HUNDRED / width + 1)
		return false;
	*text = rest;
	*begin = width * (double)(number - 1);
	*end = width * (double)number < HUNDRED ? width * (double)number : HUNDRED;
	return *begin < *end;
}

static struct pesa_error *read_parts(struct sample_filter *filter, const char *text,
				     const char *path, const char *allowed)
{
	struct filter_range whole;
	struct pesa_error *error = find_times(path, &whole);
	const char *at = text;
	double begin, end;

	if (error)
		return error;
	for (;; at++) {
		double length = whole.first < whole.last ? (double)(whole.last - whole.first) : 0;
		struct filter_range *range = &filter->time[filter->times];

		if (filter->times == FILTER_RANGES_MAX || !read_part(&at, &begin, &end))
			return invalid("--time", text, allowed);
		/* A part ends before the next one begins; the last one has the last sample. */
		range->first = whole.first + (uint64_t)(length * begin / HUNDRED);
		range->last = end >= HUNDRED ? whole.last
					     : whole.first + (uint64_t)(length * end / HUNDRED) - 1;
		filter->times++;
		if (*at != ',')
			return *at ? invalid("--time", text, allowed) : NULL;
	}
}

static struct pesa_error *read_time(struct sample_filter *filter, const char *path)
{
	static const char allowed[] =
		"START,STOP in seconds, either of which may be missing, or parts such as 10%-20% and 10%/2";
	const char *text = filter->wanted->time, *at = text;
	struct filter_range *range = &filter->time[0];

	if (!text)
		return NULL;
	if (strchr(text, '%'))
		return read_parts(filter, text, path, allowed);
	if (!read_seconds(&at, 0, &range->first) || *at++ != ',' ||
	    !read_seconds(&at, UINT64_MAX, &range->last) || *at || range->first > range->last)
		return invalid("--time", text, allowed);
	filter->times = 1;
	return NULL;
}

/* ---- CPUs ---------------------------------------------------------------------------------- */

static bool read_cpu(const char **text, uint64_t *cpu)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	errno = 0;
	*cpu = strtoul(*text, &end, 10);
	*text = end;
	return !errno && *cpu < UINT32_MAX;
}

static struct pesa_error *read_cpus(struct sample_filter *filter)
{
	static const char allowed[] = "numbers and ranges, 0-3,8";
	const char *text = filter->wanted->cpus, *at = text;

	for (; text; at++) {
		struct filter_range *range = &filter->cpu[filter->cpus];

		if (filter->cpus == FILTER_RANGES_MAX || !read_cpu(&at, &range->first))
			return invalid("--cpu", text, allowed);
		range->last = range->first;
		if (*at == '-' && (at++, !read_cpu(&at, &range->last)))
			return invalid("--cpu", text, allowed);
		if (range->last < range->first || (*at && *at != ','))
			return invalid("--cpu", text, allowed);
		filter->cpus++;
		if (!*at)
			break;
	}
	return NULL;
}

/* ---- Control groups ------------------------------------------------------------------------ */

/* Whether a path is the wanted one, or below it. */
static bool is_below(const char *path, const char *wanted)
{
	size_t length;

	path += strspn(path, "/");
	wanted += strspn(wanted, "/");
	length = strlen(wanted);
	while (length && wanted[length - 1] == '/')
		length--;
	return !length ||
	       (!strncmp(path, wanted, length) && (!path[length] || path[length] == '/'));
}

/* Whether a part of a path is the name of a unit; a service may be named without its suffix. */
static bool is_of_unit(const char *path, const char *unit)
{
	static const char suffix[] = ".service";
	size_t length = strlen(unit);

	while (*path) {
		size_t part = strcspn(path, "/");

		if (part >= length && !strncmp(path, unit, length) &&
		    (part == length || (part == length + strlen(suffix) &&
					!strncmp(path + length, suffix, strlen(suffix)))))
			return true;
		path += part;
		path += strspn(path, "/");
	}
	return false;
}

static struct pesa_error *take_event(void *context, const struct pesa_event *event)
{
	struct sample_filter *filter = context;
	const struct filter_wanted *wanted = filter->wanted;
	const struct cgroup key = {.id = event->cgroup.id};
	struct cgroup *cgroup;
	uint32_t number;

	if (event->type != PERF_RECORD_CGROUP || !(wanted->cgroup || wanted->unit))
		return NULL;
	number = distinct_records_get(&filter->cgroups, &key);
	if (number == DISTINCT_NONE)
		return pesa_error_no_memory();
	cgroup = distinct_records_at(&filter->cgroups, number);
	cgroup->wanted = (!wanted->cgroup || is_below(event->cgroup.path, wanted->cgroup)) &&
			 (!wanted->unit || is_of_unit(event->cgroup.path, wanted->unit));
	return NULL;
}

static bool is_in_cgroup(struct sample_filter *filter, uint64_t id)
{
	const struct cgroup key = {.id = id};
	uint32_t number;

	filter->lacks_cgroup |= !id;
	number = id ? distinct_records_get(&filter->cgroups, &key) : DISTINCT_NONE;
	filter->failed |= id && number == DISTINCT_NONE;
	return number != DISTINCT_NONE &&
	       ((const struct cgroup *)distinct_records_at(&filter->cgroups, number))->wanted;
}

/* ---- The filter ---------------------------------------------------------------------------- */

static bool is_in(const struct filter_range *range, unsigned int count, uint64_t value)
{
	for (unsigned int i = 0; i < count; i++)
		if (value >= range[i].first && value <= range[i].last)
			return true;
	return false;
}

static bool wants(void *context, const struct pesa_sample *sample)
{
	struct sample_filter *filter = context;
	const struct filter_wanted *wanted = filter->wanted;

	if (filter->times) {
		filter->lacks_time |= !sample->time;
		if (!sample->time || !is_in(filter->time, filter->times, sample->time))
			return false;
	}
	if (filter->cpus) {
		filter->lacks_cpu |= sample->cpu == UINT32_MAX;
		if (!is_in(filter->cpu, filter->cpus, sample->cpu))
			return false;
	}
	return !(wanted->cgroup || wanted->unit) || is_in_cgroup(filter, sample->cgroup);
}

struct pesa_error *filter_make(const struct filter_wanted *wanted, const char *path,
			       struct sample_filter *filter)
{
	struct pesa_error *error;

	*filter = (struct sample_filter){
		.filter = {.event = take_event, .wants = wants, .context = filter},
		.wanted = wanted,
	};
	distinct_records_begin(&filter->cgroups, sizeof(struct cgroup),
			       offsetof(struct cgroup, wanted));
	error = read_cpus(filter);
	return error ? error : read_time(filter, path);
}

void filter_free(struct sample_filter *filter)
{
	distinct_records_free(&filter->cgroups);
}

struct pesa_error *filter_check(const struct sample_filter *filter, const char *path)
{
	if (filter->failed)
		return pesa_error_no_memory();
	if (filter->lacks_time)
		return pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "%s: --time: samples have no times: 'perf record -T' and "
					 "'pesa record' record them, an exact profile has none",
					 path);
	if (filter->lacks_cpu)
		return pesa_error_create(
			PESA_ERROR_NOT_FOUND,
			"%s: --cpu: samples do not say their CPU: 'perf record --sample-cpu' and "
			"'pesa record' record it",
			path);
	if (filter->lacks_cgroup)
		return pesa_error_create(
			PESA_ERROR_NOT_FOUND,
			"%s: samples do not say their control group: 'pesa record "
			"--all-cgroups', 'cgroups = yes' of pesad, and 'perf record --all-cgroups' "
			"record it",
			path);
	return NULL;
}
