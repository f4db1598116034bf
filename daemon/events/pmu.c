// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/events/pmu.h"
#include "decoder/base/number.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Files of one line --------------------------------------------------------------------- */

/* Read the first line of a file, without its newline.  Returns an errno. */
static int read_line(const char *directory, const char *name, char *line, size_t size)
{
	char path[PATH_MAX];
	ssize_t got;
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, name) >= sizeof(path))
		return ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	got = read(fd, line, size - 1);
	if (got < 0) {
		int failed = errno;

		close(fd);
		return failed;
	}
	close(fd);
	line[got] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

/* ---- CPUs ---------------------------------------------------------------------------------- */

bool pesa_cpu_set_parse(const char *text, struct pesa_cpu_set *set)
{
	struct pesa_cpu_set parsed = {0};

	for (;;) {
		uint64_t first, last;

		if (!number_take(&text, 10, &first))
			return false;
		last = first;
		if (*text == '-') {
			text++;
			if (!number_take(&text, 10, &last))
				return false;
		}
		if (last < first || last >= PESA_CPU_MAX)
			return false;
		for (uint64_t cpu = first; cpu <= last; cpu++)
			parsed.bits[cpu / 64] |= UINT64_C(1) << cpu % 64;
		if (!*text)
			break;
		if (*text++ != ',')
			return false;
	}
	*set = parsed;
	return true;
}

/* ---- The PMU ------------------------------------------------------------------------------- */

static struct pesa_error *read_cpus(struct pesa_pmu *pmu)
{
	static const char *const names[] = {"cpumask", "cpus"};
	char line[4096];

	for (size_t i = 0; i < COUNT(names); i++) {
		if (read_line(pmu->directory, names[i], line, sizeof(line)))
			continue;
		if (!pesa_cpu_set_parse(line, &pmu->cpus))
			return pesa_error_create(PESA_ERROR_FORMAT,
						 "%s/%s: '%.64s' is no list of CPUs",
						 pmu->directory, names[i], line);
		pmu->has_cpus = true;
		return NULL;
	}
	return NULL;
}

/* Other PMUs have other files in caps/: counter_bits identifies a period counter of pesa. */
static struct pesa_error *read_capabilities(struct pesa_pmu *pmu)
{
	char path[PATH_MAX + 8], line[4096];
	struct pesa_error *error = NULL;
	struct dirent *entry;
	DIR *directory;

	snprintf(path, sizeof(path), "%s/caps", pmu->directory);
	if (read_line(path, "counter_bits", line, sizeof(line)))
		return NULL;
	directory = opendir(path);
	if (!directory)
		return NULL;
	pesa_capabilities_default(&pmu->capabilities);
	while (!error && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.' || read_line(path, entry->d_name, line, sizeof(line)) ||
		    !*line)
			continue;
		error = pesa_error_prefix(
			pesa_capabilities_set(&pmu->capabilities, entry->d_name, line),
			"%s: ", path);
	}
	closedir(directory);
	pmu->has_capabilities = !error;
	return error;
}

/* caps/max_precise: the highest precision of the PMU; 0: none. */
static unsigned int read_max_precise(const struct pesa_pmu *pmu)
{
	char path[PATH_MAX + 8], line[32];
	const char *at = line;
	uint64_t value;

	snprintf(path, sizeof(path), "%s/caps", pmu->directory);
	if (read_line(path, "max_precise", line, sizeof(line)) || !number_take(&at, 10, &value))
		return 0;
	return value < PESA_PRECISE_MAX ? (unsigned int)value : PESA_PRECISE_MAX;
}

struct pesa_error *pesa_pmu_open(const char *devices, const char *name, struct pesa_pmu *pmu)
{
	struct pesa_pmu read = {0};
	struct pesa_error *error;
	const char *at;
	uint64_t type;
	char line[32];
	int failed;

	if (!*name || *name == '.' || strchr(name, '/') || strlen(name) >= sizeof(read.name) ||
	    (size_t)snprintf(read.directory, sizeof(read.directory), "%s/%s", devices, name) >=
		    sizeof(read.directory))
		return pesa_error_create(PESA_ERROR_NOT_FOUND, "'%.64s' is no name of a PMU", name);
	strcpy(read.name, name);
	failed = read_line(read.directory, "type", line, sizeof(line));
	if (failed == ENOENT || failed == ENOTDIR)
		return pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "this kernel has no PMU '%s': is its driver loaded? 'pesa "
					 "list' names those there are",
					 name);
	if (failed)
		return pesa_error_system(failed, "cannot read %s/type", read.directory);
	at = line;
	if (!number_take(&at, 10, &type) || *at || type > UINT32_MAX)
		return pesa_error_create(PESA_ERROR_FORMAT, "%s/type: '%s' is no number",
					 read.directory, line);
	read.type = (uint32_t)type;
	read.max_precise = read_max_precise(&read);
	error = read_cpus(&read);
	if (!error)
		error = read_capabilities(&read);
	if (!error)
		*pmu = read;
	return error;
}

/* ---- Terms --------------------------------------------------------------------------------- */

/* Advance *format to its bit ranges and return the attr field that it names; NULL: invalid. */
static __u64 *format_field(const char **format, struct perf_event_attr *attr)
{
	static const struct {
		const char *name;
		size_t offset;
	} fields[] = {
		{"config:", offsetof(struct perf_event_attr, config)},
		{"config1:", offsetof(struct perf_event_attr, config1)},
		{"config2:", offsetof(struct perf_event_attr, config2)},
	};

	for (size_t i = 0; i < COUNT(fields); i++) {
		size_t length = strlen(fields[i].name);

		if (!strncmp(*format, fields[i].name, length)) {
			*format += length;
			return (__u64 *)((char *)attr + fields[i].offset);
		}
	}
	return NULL;
}

struct pesa_error *pesa_pmu_format_put(const char *format, uint64_t value,
				       struct perf_event_attr *attr)
{
	struct perf_event_attr changed = *attr;
	const char *at = format;
	__u64 *field = format_field(&at, &changed);
	uint64_t rest = value;

	if (!field)
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "the format '%.64s' names no field of an event", format);
	for (;;) {
		uint64_t low, high, width;

		if (!number_take(&at, 10, &low))
			goto bad;
		high = low;
		if (*at == '-') {
			at++;
			if (!number_take(&at, 10, &high))
				goto bad;
		}
		if (high > 63 || high < low)
			goto bad;
		width = high - low + 1;
		if (width == 64) {
			*field = rest;
			rest = 0;
		} else {
			uint64_t mask = (UINT64_C(1) << width) - 1;

			*field = (*field & ~(mask << low)) | (rest & mask) << low;
			rest >>= width;
		}
		if (!*at)
			break;
		if (*at++ != ',')
			goto bad;
	}
	if (rest)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "the value 0x%llx does not fit into %.64s",
					 (unsigned long long)value, format);
	*attr = changed;
	return NULL;
bad:
	return pesa_error_create(PESA_ERROR_FORMAT, "the format '%.64s' names no bits", format);
}

static struct pesa_error *put_term(const struct pesa_pmu *pmu, const char *term, uint64_t value,
				   struct perf_event_attr *attr)
{
	static const struct {
		const char *name, *format;
	} direct[] = {
		{"config", "config:0-63"},
		{"config1", "config1:0-63"},
		{"config2", "config2:0-63"},
	};
	char path[PATH_MAX + 8], format[256];

	for (size_t i = 0; i < COUNT(direct); i++)
		if (!strcmp(term, direct[i].name))
			return pesa_pmu_format_put(direct[i].format, value, attr);
	snprintf(path, sizeof(path), "%s/format", pmu->directory);
	if (!*term || *term == '.' || strchr(term, '/') ||
	    read_line(path, term, format, sizeof(format)))
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "PMU %s has no event and no term '%.64s'; %s/events and "
					 "%s/format show what there is",
					 pmu->name, term, pmu->directory, pmu->directory);
	return pesa_error_prefix(pesa_pmu_format_put(format, value, attr), "%s/%s: ", path, term);
}

/* Files that describe the event whose name is before the dot. */
static bool is_about_event(const char *name)
{
	static const char *const suffixes[] = {".scale", ".unit", ".per-pkg", ".snapshot"};
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < COUNT(suffixes); i++)
		if (!strcmp(dot, suffixes[i]))
			return true;
	return false;
}

/* Read the first line of events/NAME, or of events/NAME.SUFFIX; false: no such file. */
static bool read_event(const struct pesa_pmu *pmu, const char *name, const char *suffix, char *line,
		       size_t size)
{
	char path[PATH_MAX + 8], file[160];

	if (!*name || *name == '.' || is_about_event(name) || strchr(name, '/'))
		return false;
	snprintf(path, sizeof(path), "%s/events", pmu->directory);
	snprintf(file, sizeof(file), "%s%s", name, suffix);
	return !read_line(path, file, line, size);
}

static struct pesa_error *put_terms(const struct pesa_pmu *pmu, const char *terms, bool names,
				    struct pesa_pmu_event *event);

/* A name in events/ stands for terms, and can have a scale. */
static struct pesa_error *put_event(const struct pesa_pmu *pmu, const char *name, const char *terms,
				    struct pesa_pmu_event *event)
{
	struct pesa_error *error;
	char line[64], *end;

	error = pesa_error_prefix(put_terms(pmu, terms, false, event),
				  "%s/events/%s: ", pmu->directory, name);
	if (error)
		return error;
	if (read_event(pmu, name, ".unit", line, sizeof(line)))
		snprintf(event->unit, sizeof(event->unit), "%.*s", (int)sizeof(event->unit) - 1,
			 line);
	if (!read_event(pmu, name, ".scale", line, sizeof(line)))
		return NULL;
	event->scale = strtod(line, &end);
	if (end == line || *end || !(event->scale > 0))
		return pesa_error_create(PESA_ERROR_FORMAT, "%s/events/%s.scale: '%s' is no factor",
					 pmu->directory, name, line);
	return NULL;
}

/* "r1a2": config in hexadecimal. */
static bool put_raw(const char *term, struct perf_event_attr *attr)
{
	size_t digits = *term == 'r' ? strspn(term + 1, "0123456789abcdefABCDEF") : 0;

	if (!digits || digits > 16 || term[1 + digits])
		return false;
	attr->config = strtoull(term + 1, NULL, 16);
	return true;
}

/* A term as written: "event=0x01", "fixed", or a name in events/ if `names` allows. */
static struct pesa_error *put_text(const struct pesa_pmu *pmu, char *term, bool names,
				   struct pesa_pmu_event *event)
{
	char *equals = strchr(term, '='), line[1024];
	const char *text;
	uint64_t value = 1;
	struct pesa_error *error;

	if (equals) {
		*equals = '\0';
		text = equals + 1;
		if (!number_take(&text, 0, &value) || *text)
			return pesa_error_create(PESA_ERROR_ARGUMENT,
						 "'%.64s' is no value for the term %.64s of PMU %s",
						 equals + 1, term, pmu->name);
	} else if (names && read_event(pmu, term, "", line, sizeof(line))) {
		return put_event(pmu, term, line, event);
	}
	if (equals && !strcmp(term, "period")) {
		event->period = value;
		return NULL;
	}
	error = put_term(pmu, term, value, &event->attr);
	if (error && error->code == PESA_ERROR_ARGUMENT && !equals && put_raw(term, &event->attr)) {
		pesa_error_free(error);
		error = NULL;
	}
	return error;
}

static struct pesa_error *put_terms(const struct pesa_pmu *pmu, const char *terms, bool names,
				    struct pesa_pmu_event *event)
{
	struct pesa_error *error = NULL;

	while (!error) {
		size_t length = strcspn(terms, ",");
		char term[128];

		if (length >= sizeof(term))
			return pesa_error_create(PESA_ERROR_ARGUMENT,
						 "the term '%.64s...' of PMU %s is too long", terms,
						 pmu->name);
		memcpy(term, terms, length);
		term[length] = '\0';
		error = put_text(pmu, term, names, event);
		if (!terms[length])
			break;
		terms += length + 1;
	}
	return error;
}

struct pesa_error *pesa_pmu_terms(const struct pesa_pmu *pmu, const char *terms,
				  struct pesa_pmu_event *event)
{
	struct pesa_pmu_event put = {.attr = {.type = pmu->type}, .scale = 1};
	struct pesa_error *error = put_terms(pmu, terms, true, &put);

	if (!error)
		*event = put;
	return error;
}

/* ---- All PMUs, and their events ------------------------------------------------------------ */

static int is_plain(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

void pesa_pmu_each(const char *devices, pesa_pmu_function function, void *context)
{
	struct dirent **entries = NULL;
	int count = scandir(devices, &entries, is_plain, alphasort);

	for (int i = 0; i < count; i++) {
		struct pesa_pmu pmu;
		struct pesa_error *error = pesa_pmu_open(devices, entries[i]->d_name, &pmu);

		if (!error)
			function(context, &pmu);
		pesa_error_free(error);
		free(entries[i]);
	}
	free(entries);
}

void pesa_pmu_each_event(const struct pesa_pmu *pmu, pesa_pmu_event_function function,
			 void *context)
{
	char path[PATH_MAX + 8], line[1024];
	struct dirent **entries = NULL;
	int count;

	snprintf(path, sizeof(path), "%s/events", pmu->directory);
	count = scandir(path, &entries, is_plain, alphasort);
	for (int i = 0; i < count; i++) {
		if (read_event(pmu, entries[i]->d_name, "", line, sizeof(line)))
			function(context, pmu, entries[i]->d_name, line);
		free(entries[i]);
	}
	free(entries);
}
