// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/pmu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Files of one line --------------------------------------------------------------------- */

/* The first line of a file, without its end.  Returns an errno. */
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

static bool read_number(const char **at, int base, uint64_t *number)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*number = strtoull(*at, &end, base);
	if (errno)
		return false;
	*at = end;
	return true;
}

/* ---- CPUs ---------------------------------------------------------------------------------- */

bool pesa_cpu_set_parse(const char *text, struct pesa_cpu_set *set)
{
	struct pesa_cpu_set parsed = {0};

	for (;;) {
		uint64_t first, last;

		if (!read_number(&text, 10, &first))
			return false;
		last = first;
		if (*text == '-') {
			text++;
			if (!read_number(&text, 10, &last))
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

/* caps/ of other PMUs holds other things: what names a period counter's bits is one of ours. */
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
		return pesa_error_create(PESA_ERROR_NOT_FOUND, "this kernel has no PMU '%s'", name);
	if (failed)
		return pesa_error_system(failed, "cannot read %s/type", read.directory);
	at = line;
	if (!read_number(&at, 10, &type) || *at || type > UINT32_MAX)
		return pesa_error_create(PESA_ERROR_FORMAT, "%s/type: '%s' is no number",
					 read.directory, line);
	read.type = (uint32_t)type;
	error = read_cpus(&read);
	if (!error)
		error = read_capabilities(&read);
	if (!error)
		*pmu = read;
	return error;
}

/* ---- Terms --------------------------------------------------------------------------------- */

/* Where a format's text begins to say which bits, and of which field; NULL: of none. */
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

		if (!read_number(&at, 10, &low))
			goto bad;
		high = low;
		if (*at == '-') {
			at++;
			if (!read_number(&at, 10, &high))
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

/* "event=0x01,fixed": names of events as well, which stand for terms, where `names` allows. */
static struct pesa_error *put_terms(const struct pesa_pmu *pmu, const char *terms, bool names,
				    struct perf_event_attr *attr)
{
	struct pesa_error *error = NULL;

	while (!error) {
		size_t length = strcspn(terms, ",");
		char term[128], path[PATH_MAX + 8], line[1024];
		const char *text;
		uint64_t value = 1;
		char *equals;

		if (length >= sizeof(term))
			return pesa_error_create(PESA_ERROR_ARGUMENT,
						 "the term '%.64s...' of PMU %s is too long", terms,
						 pmu->name);
		memcpy(term, terms, length);
		term[length] = '\0';
		equals = strchr(term, '=');
		if (equals) {
			*equals = '\0';
			text = equals + 1;
			if (!read_number(&text, 0, &value) || *text)
				return pesa_error_create(
					PESA_ERROR_ARGUMENT,
					"'%.64s' is no value for the term %.64s of PMU %s",
					equals + 1, term, pmu->name);
		}
		snprintf(path, sizeof(path), "%s/events", pmu->directory);
		if (names && !equals && *term && *term != '.' && !strchr(term, '/') &&
		    !read_line(path, term, line, sizeof(line)))
			error = pesa_error_prefix(put_terms(pmu, line, false, attr),
						  "%s/%s: ", path, term);
		else
			error = put_term(pmu, term, value, attr);
		if (!terms[length])
			break;
		terms += length + 1;
	}
	return error;
}

/* ---- Names of events ----------------------------------------------------------------------- */

static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
} generic_events[] = {
	{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{"cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
	{"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
	{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
	{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
	{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
	{"bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
	{"stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
	{"stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
	{"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
	{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
	{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
	{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
	{"faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
	{"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
	{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
	{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
	{"alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
	{"emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
};

static struct pesa_error *put_modifiers(const char *name, const char *modifiers,
					struct pesa_event_name *event)
{
	if (!*modifiers)
		return NULL;
	if (modifiers[strspn(modifiers, "ukh")])
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "event '%.64s': '%.16s' are no modes; there are u (user), "
					 "k (kernel) and h (hypervisor)",
					 name, modifiers);
	event->has_modes = true;
	event->attr.exclude_user = !strchr(modifiers, 'u');
	event->attr.exclude_kernel = !strchr(modifiers, 'k');
	event->attr.exclude_hv = !strchr(modifiers, 'h');
	return NULL;
}

/* "cycles", "cpu-clock:u" */
static struct pesa_error *parse_generic(const char *name, struct pesa_event_name *event)
{
	size_t length = strcspn(name, ":");

	for (size_t i = 0; i < COUNT(generic_events); i++) {
		if (strlen(generic_events[i].name) != length ||
		    strncmp(generic_events[i].name, name, length))
			continue;
		event->attr.type = generic_events[i].type;
		event->attr.config = generic_events[i].config;
		return put_modifiers(name, name + length + (name[length] == ':'), event);
	}
	return pesa_error_create(PESA_ERROR_NOT_FOUND,
				 "there is no event '%.64s'; try 'pesa list' and 'perf list'",
				 name);
}

/* "pesa/cycles/", "pesa/event=1,fixed/u" */
static struct pesa_error *parse_of_pmu(const char *devices, const char *name,
				       struct pesa_event_name *event)
{
	const char *slash = strchr(name, '/'), *last = strrchr(name, '/');
	char pmu[sizeof(event->name)], terms[sizeof(event->name)];
	struct pesa_error *error;

	if (slash == last)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "event '%.64s' should be PMU/EVENT/, as in pesa/cycles/",
					 name);
	snprintf(pmu, sizeof(pmu), "%.*s", (int)(slash - name), name);
	snprintf(terms, sizeof(terms), "%.*s", (int)(last - slash - 1), slash + 1);
	error = pesa_pmu_open(devices, pmu, &event->pmu);
	if (error)
		return error;
	event->is_pmu = true;
	event->attr.type = event->pmu.type;
	error = put_terms(&event->pmu, terms, true, &event->attr);
	return error ? error : put_modifiers(name, last + 1 + (last[1] == ':'), event);
}

struct pesa_error *pesa_event_parse(const char *devices, const char *name,
				    struct pesa_event_name *event)
{
	struct pesa_event_name parsed = {0};
	struct pesa_error *error;

	if (!*name || strlen(name) >= sizeof(parsed.name))
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "'%.64s' is no event; try 'pesa list' and 'perf list'",
					 name);
	strcpy(parsed.name, name);
	error = strchr(name, '/') ? parse_of_pmu(devices, name, &parsed)
				  : parse_generic(name, &parsed);
	if (!error)
		*event = parsed;
	return error;
}
