// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/events/library.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if !__has_include(<perfmon/pfmlib_perf_event.h>)
#error "libpfm4 is missing: tools/dependencies installs it (Debian: libpfm4-dev)"
#endif
#include <perfmon/pfmlib_perf_event.h>

#define LIBRARY "libpfm.so.4"

/* The functions of libpfm4 that are called. */
#define FUNCTIONS(FUNCTION)                 \
	FUNCTION(pfm_initialize)            \
	FUNCTION(pfm_get_os_event_encoding) \
	FUNCTION(pfm_get_pmu_info)          \
	FUNCTION(pfm_get_event_next)        \
	FUNCTION(pfm_get_event_info)        \
	FUNCTION(pfm_strerror)

struct library {
#define FUNCTION(name) __typeof__(name) *name;
	FUNCTIONS(FUNCTION)
#undef FUNCTION
};

/* The library stays loaded: it has state and is used again. */
static struct pesa_error *load(struct library *library)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	bool complete = handle;
	int failed;

	if (!handle)
		return pesa_error_create(PESA_ERROR_SYSTEM,
					 "cannot load libpfm4, which knows the names of events "
					 "(%s): install it (Debian: libpfm4)",
					 dlerror());
#define FUNCTION(name) complete &= !!(library->name = (__typeof__(name) *)dlsym(handle, #name));
	FUNCTIONS(FUNCTION)
#undef FUNCTION
	dlclose(handle);
	if (!complete)
		return pesa_error_create(PESA_ERROR_SYSTEM, "%s lacks functions of libpfm4",
					 LIBRARY);
	failed = library->pfm_initialize();
	/* Without support for the processor the kernel's events still work. */
	if (failed && failed != PFM_ERR_NOTSUPP)
		return pesa_error_create(PESA_ERROR_SYSTEM, "libpfm4 does not start: %s",
					 library->pfm_strerror(failed));
	return NULL;
}

/* Copy the event itself, not the options that the library sets. */
static void take(const struct perf_event_attr *found, struct pesa_event_name *event)
{
	struct perf_event_attr *attr = &event->attr;

	attr->type = found->type;
	attr->config = found->config;
	attr->config1 = found->config1;
	attr->config2 = found->config2;
	attr->precise_ip = found->precise_ip;
	attr->pinned = found->pinned;
	attr->exclusive = found->exclusive;
	event->has_precision = found->precise_ip;
	/* By default no mode is selected, so any mode here was in the name. */
	event->has_modes = !found->exclude_user || !found->exclude_kernel;
	if (!event->has_modes)
		return;
	attr->exclude_user = found->exclude_user;
	attr->exclude_kernel = found->exclude_kernel;
	attr->exclude_hv = 1;
}

struct pesa_error *pesa_event_library_find(const char *name, struct pesa_event_name *event)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	pfm_perf_encode_arg_t argument = {.attr = &attr, .size = sizeof(argument)};
	struct library library;
	struct pesa_error *error = load(&library);
	int failed;

	if (error)
		return error;
	failed = library.pfm_get_os_event_encoding(name, 0, PFM_OS_PERF_EVENT_EXT, &argument);
	if (failed == PFM_ERR_NOTFOUND || failed == PFM_ERR_NOTSUPP)
		return pesa_error_create(PESA_ERROR_NOT_FOUND, "there is no event '%.64s'", name);
	if (failed)
		return pesa_error_create(PESA_ERROR_ARGUMENT, "event '%.64s': %s", name,
					 library.pfm_strerror(failed));
	take(&attr, event);
	return NULL;
}

/* ---- All that there are -------------------------------------------------------------------- */

static enum pesa_event_kind kind_of(const char *name, const char *equivalent)
{
	const char *original = equivalent ? equivalent : name;

	if (!strncmp(original, "PERF_COUNT_SW_", 14))
		return PESA_EVENT_SOFTWARE;
	return strncmp(original, "PERF_COUNT_HW_CACHE_", 20) || strchr(original, ':') == NULL
		       ? PESA_EVENT_HARDWARE
		       : PESA_EVENT_CACHE;
}

/* "L1-DCACHE-LOADS" -> "L1-dcache-loads": the case that perf uses. */
static void lower(const char *name, char *text, size_t size)
{
	static const char *const kept[] = {"L1-", "LLC-"};
	size_t at = 0;

	snprintf(text, size, "%s", name);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (!strncmp(text, kept[i], strlen(kept[i])))
			at = strlen(kept[i]);
	for (; text[at]; at++)
		text[at] = (char)tolower((unsigned char)text[at]);
	/* dTLB-loads, iTLB-loads */
	if (!strncmp(text + 1, "tlb-", 4))
		memcpy(text + 1, "TLB", 3);
}

static void tell_generic(const pfm_event_info_t *information, pesa_event_function function,
			 void *context)
{
	struct pesa_event_entry entry = {.kind = kind_of(information->name, information->equiv),
					 .terms = information->equiv};
	char name[64];

	/* Skip those with the kernel's own names: their synonyms are listed. */
	if (!information->equiv)
		return;
	lower(information->name, name, sizeof(name));
	entry.name = name;
	function(context, &entry);
}

static void tell_of_processor(const pfm_pmu_info_t *pmu, const pfm_event_info_t *information,
			      pesa_event_function function, void *context)
{
	char name[192];
	const struct pesa_event_entry entry = {
		.kind = PESA_EVENT_PROCESSOR, .name = name, .description = information->desc};

	snprintf(name, sizeof(name), "%s::%s", pmu->name, information->name);
	function(context, &entry);
}

void pesa_event_library_each(pesa_event_function function, void *context)
{
	struct library library;
	struct pesa_error *error = load(&library);

	if (error) {
		pesa_error_free(error);
		return;
	}
	for (unsigned int i = PFM_PMU_NONE; i < PFM_PMU_MAX; i++) {
		pfm_pmu_info_t pmu = {.size = sizeof(pmu)};

		if (library.pfm_get_pmu_info((pfm_pmu_t)i, &pmu) || !pmu.is_present ||
		    i == PFM_PMU_PERF_EVENT_RAW)
			continue;
		for (int at = pmu.first_event; at != -1; at = library.pfm_get_event_next(at)) {
			pfm_event_info_t information = {.size = sizeof(information)};

			if (library.pfm_get_event_info(at, PFM_OS_PERF_EVENT_EXT, &information))
				continue;
			if (i == PFM_PMU_PERF_EVENT)
				tell_generic(&information, function, context);
			else
				tell_of_processor(&pmu, &information, function, context);
		}
	}
}
