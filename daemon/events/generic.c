// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/events/generic.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/base/read_file.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Software events ----------------------------------------------------------------------- */

static const struct {
	const char *name;
	uint64_t config;
} software_events[] = {
	{"alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS},
	{"emulation-faults", PERF_COUNT_SW_EMULATION_FAULTS},
	{"dummy", PERF_COUNT_SW_DUMMY},
	{"bpf-output", PERF_COUNT_SW_BPF_OUTPUT},
};

bool pesa_event_software_find(const char *name, struct pesa_event_name *event)
{
	for (size_t i = 0; i < COUNT(software_events); i++) {
		if (strcasecmp(name, software_events[i].name))
			continue;
		event->attr.type = PERF_TYPE_SOFTWARE;
		event->attr.config = software_events[i].config;
		return true;
	}
	return false;
}

void pesa_event_software_each(pesa_event_function function, void *context)
{
	for (size_t i = 0; i < COUNT(software_events); i++)
		function(context, &(struct pesa_event_entry){.kind = PESA_EVENT_SOFTWARE,
							     .name = software_events[i].name});
}

/* ---- Caches -------------------------------------------------------------------------------- */

#define READ	 (1u << PERF_COUNT_HW_CACHE_OP_READ)
#define WRITE	 (1u << PERF_COUNT_HW_CACHE_OP_WRITE)
#define PREFETCH (1u << PERF_COUNT_HW_CACHE_OP_PREFETCH)

/* Synonyms; the first is perf's own name. */
struct cache_names {
	const char *names[5];
	uint8_t value;
	uint8_t operations; /* the operations that exist for a cache */
};

static const struct cache_names caches[] = {
	{{"L1-dcache", "l1-d", "l1d", "L1-data"}, PERF_COUNT_HW_CACHE_L1D, READ | WRITE | PREFETCH},
	{{"L1-icache", "l1-i", "l1i", "L1-instruction"}, PERF_COUNT_HW_CACHE_L1I, READ | PREFETCH},
	{{"LLC", "L2"}, PERF_COUNT_HW_CACHE_LL, READ | WRITE | PREFETCH},
	{{"dTLB", "d-tlb", "Data-TLB"}, PERF_COUNT_HW_CACHE_DTLB, READ | WRITE | PREFETCH},
	{{"iTLB", "i-tlb", "Instruction-TLB"}, PERF_COUNT_HW_CACHE_ITLB, READ},
	{{"branch", "branches", "bpu", "btb", "bpc"}, PERF_COUNT_HW_CACHE_BPU, READ},
	{{"node"}, PERF_COUNT_HW_CACHE_NODE, READ | WRITE | PREFETCH},
};

static const struct cache_names operations[] = {
	{{"loads", "load", "read"}, PERF_COUNT_HW_CACHE_OP_READ, 0},
	{{"stores", "store", "write"}, PERF_COUNT_HW_CACHE_OP_WRITE, 0},
	{{"prefetches", "prefetch", "speculative-read", "speculative-load"},
	 PERF_COUNT_HW_CACHE_OP_PREFETCH,
	 0},
};

static const struct cache_names results[] = {
	{{"refs", "Reference", "ops", "access"}, PERF_COUNT_HW_CACHE_RESULT_ACCESS, 0},
	{{"misses", "miss"}, PERF_COUNT_HW_CACHE_RESULT_MISS, 0},
};

/* Remove the longest matching name from the front of *text; it ends at a '-' or the end. */
static const struct cache_names *take_name(const struct cache_names *table, size_t count,
					   const char **text)
{
	const struct cache_names *found = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < COUNT(table[i].names) && table[i].names[j]; j++) {
			size_t length = strlen(table[i].names[j]);
			char end;

			if (length <= longest || strncasecmp(*text, table[i].names[j], length))
				continue;
			end = (*text)[length];
			if (end && end != '-')
				continue;
			longest = length;
			found = &table[i];
		}
	}
	*text += longest;
	*text += found && **text == '-';
	return found;
}

bool pesa_event_cache_find(const char *name, struct pesa_event_name *event)
{
	const struct cache_names *cache = take_name(caches, COUNT(caches), &name);
	const struct cache_names *operation = NULL, *result = NULL;
	bool any;

	if (!cache)
		return false;
	do {
		any = false;
		if (!operation)
			any |= !!(operation = take_name(operations, COUNT(operations), &name));
		if (!result)
			any |= !!(result = take_name(results, COUNT(results), &name));
	} while (any);
	if (*name || name[-1] == '-')
		return false;
	if (!operation)
		operation = &operations[0];
	if (!(cache->operations >> operation->value & 1))
		return false;
	event->attr.type = PERF_TYPE_HW_CACHE;
	event->attr.config = cache->value | (uint64_t)operation->value << 8 |
			     (uint64_t)(result ? result->value : 0) << 16;
	return true;
}

/* ---- Standard RISC-V events ---------------------------------------------------------------- */

#define HARDWARE(event) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##event
#define CACHE(cache, operation, result)                                         \
	PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_##cache |                       \
				    (PERF_COUNT_HW_CACHE_OP_##operation << 8) | \
				    (PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static const struct {
	const char *name, *generic;
	uint32_t type;
	uint64_t config;
} standard_events[] = {
	{"CYCLES.HART", "cycles", HARDWARE(CPU_CYCLES)},
	{"INST.RET", "instructions", HARDWARE(INSTRUCTIONS)},
	{"INST.BRJMP.RET", "branches", HARDWARE(BRANCH_INSTRUCTIONS)},
	{"INST.MISPRED.RET", "branch-misses", HARDWARE(BRANCH_MISSES)},
	{"CACHE.L1D.RD.DATA.ACCESS", "L1-dcache-loads", CACHE(L1D, READ, ACCESS)},
	{"CACHE.L1D.RD.DATA.MISS", "L1-dcache-load-misses", CACHE(L1D, READ, MISS)},
	{"CACHE.L1D.WR.ACCESS", "L1-dcache-stores", CACHE(L1D, WRITE, ACCESS)},
	{"CACHE.L1D.WR.MISS", "L1-dcache-store-misses", CACHE(L1D, WRITE, MISS)},
	{"CACHE.L1I.RD.CODE.ACCESS", "L1-icache-loads", CACHE(L1I, READ, ACCESS)},
	{"CACHE.L1I.RD.CODE.MISS", "L1-icache-load-misses", CACHE(L1I, READ, MISS)},
	{"CACHE.LL.ACCESS", "cache-references", HARDWARE(CACHE_REFERENCES)},
	{"CACHE.LL.MISS", "cache-misses", HARDWARE(CACHE_MISSES)},
	{"TLB.L1I.CODE.ACCESS", "iTLB-loads", CACHE(ITLB, READ, ACCESS)},
	{"TLB.L1I.CODE.MISS", "iTLB-load-misses", CACHE(ITLB, READ, MISS)},
};

bool pesa_event_standard_find(const char *name, struct pesa_event_name *event)
{
	for (size_t i = 0; i < COUNT(standard_events); i++) {
		if (strcasecmp(name, standard_events[i].name))
			continue;
		event->attr.type = standard_events[i].type;
		event->attr.config = standard_events[i].config;
		return true;
	}
	return false;
}

const char *pesa_event_standard_of(const struct perf_event_attr *attr)
{
	for (size_t i = 0; i < COUNT(standard_events); i++)
		if (attr->type == standard_events[i].type &&
		    attr->config == standard_events[i].config)
			return standard_events[i].name;
	return NULL;
}

void pesa_event_standard_each(pesa_event_function function, void *context)
{
	for (size_t i = 0; i < COUNT(standard_events); i++)
		function(context, &(struct pesa_event_entry){.kind = PESA_EVENT_STANDARD,
							     .name = standard_events[i].name,
							     .terms = standard_events[i].generic});
}

/* ---- Tracepoints --------------------------------------------------------------------------- */

/* The file with the id of a tracepoint. */
static bool id_path(const char *directory, const char *system, const char *name,
		    char path[PATH_MAX])
{
	return (size_t)snprintf(path, PATH_MAX, "%s/%s/%s/id", directory, system, name) < PATH_MAX;
}

/* Read the id from that file; false: no such file. */
static bool read_id(const char *directory, const char *system, const char *name, uint64_t *id)
{
	char path[PATH_MAX], *text, *end;
	struct pesa_error *error;
	bool valid;
	size_t size;

	if (!id_path(directory, system, name, path))
		return false;
	error = pesa_read_file(path, &text, &size);
	if (error) {
		pesa_error_free(error);
		return false;
	}
	*id = strtoull(text, &end, 10);
	valid = end != text;
	free(text);
	return valid;
}

bool pesa_event_tracepoint_find(const char *directory, const char *name,
				struct pesa_event_name *event)
{
	const char *colon = strchr(name, ':');
	char system[sizeof(event->name)];

	if (!colon || colon == name || *name == '.' || colon[1] == '.' || strchr(name, '/') ||
	    strchr(colon + 1, ':') || (size_t)(colon - name) >= sizeof(system))
		return false;
	snprintf(system, sizeof(system), "%.*s", (int)(colon - name), name);
	if (!read_id(directory, system, colon + 1, (uint64_t *)&event->attr.config))
		return false;
	event->attr.type = PERF_TYPE_TRACEPOINT;
	event->period = 1;
	return true;
}

static int is_name(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void each_of_system(const char *directory, const char *system, pesa_event_function function,
			   void *context)
{
	char path[PATH_MAX], name[2 * NAME_MAX + 2];
	struct dirent **entries = NULL;
	int count;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, system) >= sizeof(path))
		return;
	count = scandir(path, &entries, is_name, alphasort);
	/* There are thousands of tracepoints: do not open their files. */
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s:%s", system, entries[i]->d_name);
		if (entries[i]->d_type == DT_DIR &&
		    id_path(directory, system, entries[i]->d_name, path) && !access(path, F_OK))
			function(context, &(struct pesa_event_entry){.kind = PESA_EVENT_TRACEPOINT,
								     .name = name});
		free(entries[i]);
	}
	free(entries);
}

void pesa_event_tracepoint_each(const char *directory, pesa_event_function function, void *context)
{
	struct dirent **entries = NULL;
	int count = scandir(directory, &entries, is_name, alphasort);

	for (int i = 0; i < count; i++) {
		each_of_system(directory, entries[i]->d_name, function, context);
		free(entries[i]);
	}
	free(entries);
}
