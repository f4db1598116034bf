// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/events/name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/events/catalogue.h"
#include "daemon/events/generic.h"
#include "daemon/events/library.h"
#include "decoder/base/nearest.h"

#define MODIFIERS "ukhHGIepPD"

/* ---- Modifiers ----------------------------------------------------------------------------- */

static unsigned int count_letter(const char *text, char letter)
{
	unsigned int count = 0;

	for (; *text; text++)
		count += *text == letter;
	return count;
}

static struct pesa_error *put_modifiers(const char *modifiers, struct pesa_event_name *event)
{
	struct perf_event_attr *attr = &event->attr;
	unsigned int precise = count_letter(modifiers, 'p');
	bool host = strchr(modifiers, 'H'), guest = strchr(modifiers, 'G');

	if (modifiers[strspn(modifiers, MODIFIERS)])
		return pesa_error_create(
			PESA_ERROR_ARGUMENT,
			"event '%.64s': '%.16s' are no modifiers; there are u "
			"(user), k (kernel), h (hypervisor), p (precise), P, H, G, I, e, D",
			event->name, modifiers);
	if (precise > PESA_PRECISE_MAX)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "event '%.64s': more precise than ppp there is nothing",
					 event->name);
	if (strpbrk(modifiers, "ukh")) {
		event->has_modes = true;
		attr->exclude_user = !strchr(modifiers, 'u');
		attr->exclude_kernel = !strchr(modifiers, 'k');
		attr->exclude_hv = !strchr(modifiers, 'h');
	}
	event->has_guest = host || guest;
	attr->exclude_guest = !guest;
	attr->exclude_host = guest && !host;
	attr->exclude_idle = !!strchr(modifiers, 'I');
	attr->pinned |= !!strchr(modifiers, 'D');
	attr->exclusive |= !!strchr(modifiers, 'e');
	if (precise) {
		event->has_precision = true;
		attr->precise_ip = precise;
	} else if (strchr(modifiers, 'P')) {
		event->max_precise = PESA_PRECISE_MAX;
	}
	return NULL;
}

/* ---- Events of PMUs ------------------------------------------------------------------------ */

static struct pesa_error *find_terms(const struct pesa_pmu *pmu, const char *terms,
				     struct pesa_event_name *event)
{
	struct pesa_pmu_event found;
	struct pesa_error *error = pesa_pmu_terms(pmu, terms, &found);

	if (error)
		return error;
	event->attr.type = found.attr.type;
	event->attr.config = found.attr.config;
	event->attr.config1 = found.attr.config1;
	event->attr.config2 = found.attr.config2;
	event->scale = found.scale;
	event->period = found.period;
	memcpy(event->unit, found.unit, sizeof(event->unit));
	event->pmu = *pmu;
	event->is_pmu = true;
	event->max_precise = pmu->max_precise;
	return NULL;
}

/* "pesa/cycles/", "pesa/event=1,fixed/u" */
static struct pesa_error *parse_of_pmu(const struct pesa_event_source *source,
				       struct pesa_event_name *event)
{
	const char *name = event->name, *slash = strchr(name, '/'), *last = strrchr(name, '/');
	char text[sizeof(event->name)];
	struct pesa_pmu pmu;
	struct pesa_error *error;

	if (slash == last)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "event '%.64s' should be PMU/EVENT/, as in pesa/cycles/",
					 name);
	snprintf(text, sizeof(text), "%.*s", (int)(slash - name), name);
	error = pesa_pmu_open(source->devices, text, &pmu);
	if (error)
		return error;
	snprintf(text, sizeof(text), "%.*s", (int)(last - slash - 1), slash + 1);
	error = find_terms(&pmu, text, event);
	return error ? error : put_modifiers(last + 1 + (last[1] == ':'), event);
}

/* A name in events/ of some PMU. */
struct alias {
	const char *name;
	struct pesa_pmu *pmu; /* the first PMU that has it */
	bool found;
};

static void look_for_alias(void *context, const struct pesa_pmu *pmu, const char *name,
			   const char *terms)
{
	struct alias *alias = context;

	(void)terms;
	if (alias->found || strcasecmp(name, alias->name))
		return;
	*alias->pmu = *pmu;
	alias->found = true;
}

static void look_in_pmu(void *context, const struct pesa_pmu *pmu)
{
	pesa_pmu_each_event(pmu, look_for_alias, context);
}

/* ---- Looking up ---------------------------------------------------------------------------- */

/* The `cpu` PMU's precision also applies to generic events. */
static void find_max_precise(const char *devices, struct pesa_event_name *event)
{
	struct pesa_error *error;
	struct pesa_pmu pmu;

	if (event->attr.type != PERF_TYPE_HARDWARE && event->attr.type != PERF_TYPE_HW_CACHE &&
	    event->attr.type != PERF_TYPE_RAW)
		return;
	error = pesa_pmu_open(devices, "cpu", &pmu);
	if (!error)
		event->max_precise = pmu.max_precise;
	pesa_error_free(error);
}

/* The kernel's clock events count ns. */
static void set_clock(struct pesa_event_name *event)
{
	if (event->attr.type != PERF_TYPE_SOFTWARE ||
	    (event->attr.config != PERF_COUNT_SW_CPU_CLOCK &&
	     event->attr.config != PERF_COUNT_SW_TASK_CLOCK))
		return;
	event->scale = 1e-6;
	strcpy(event->unit, "msec");
}

/*
 * perf's names come before those of a processor ("l1d" is an event of some), and after the kernel's
 * own ("branches" is also a cache).
 */
static struct pesa_error *find_generic(const char *name, struct pesa_event_name *event)
{
	struct pesa_event_name found = *event, own = *event;
	struct pesa_error *error = pesa_event_library_find(name, &found);

	if (!error &&
	    (found.attr.type == PERF_TYPE_HARDWARE || found.attr.type == PERF_TYPE_SOFTWARE ||
	     found.attr.type == PERF_TYPE_HW_CACHE)) {
		*event = found;
		return NULL;
	}
	/* These work without the library; then its absence need not be reported. */
	if (pesa_event_software_find(name, &own) || pesa_event_cache_find(name, &own) ||
	    pesa_event_standard_find(name, &own)) {
		pesa_error_free(error);
		*event = own;
		return NULL;
	}
	if (!error)
		*event = found;
	return error;
}

/* Find an event by its name without modifiers. */
static struct pesa_error *find_event(const struct pesa_event_source *source, const char *name,
				     struct pesa_event_name *event)
{
	struct pesa_pmu pmu;
	struct alias alias = {.name = name, .pmu = &pmu};
	const struct pesa_event_definition *definition =
		source->catalogue ? pesa_event_catalogue_find(source->catalogue, name) : NULL;
	struct pesa_error *error;

	if (definition)
		return pesa_event_catalogue_resolve(definition, source->devices, event);
	if (pesa_event_tracepoint_find(source->tracepoints, name, event))
		return NULL;
	error = find_generic(name, event);
	if (!error) {
		find_max_precise(source->devices, event);
		set_clock(event);
		return NULL;
	}
	if (error->code == PESA_ERROR_SYSTEM)
		return error;
	pesa_pmu_each(source->devices, look_in_pmu, &alias);
	if (!alias.found)
		return error;
	pesa_error_free(error);
	return find_terms(&pmu, name, event);
}

/* ---- The nearest name ---------------------------------------------------------------------- */

struct suggestion {
	struct nearest nearest;
	char best[NEAREST_NAME];
};

static void compare_name(struct suggestion *suggestion, const char *name)
{
	if (name && nearest_try(&suggestion->nearest, name, strlen(name)))
		strcpy(suggestion->best, name);
}

static void compare_entry(void *context, const struct pesa_event_entry *entry)
{
	compare_name(context, entry->name);
	compare_name(context, entry->alias);
}

static struct pesa_error *suggest(const struct pesa_event_source *source, const char *name,
				  struct pesa_error *error)
{
	struct suggestion nearest = {0};
	struct pesa_error *suggestion;

	if (error->code != PESA_ERROR_NOT_FOUND)
		return error;
	nearest_begin(&nearest.nearest, name);
	if (nearest.nearest.distance)
		pesa_event_each(source, strchr(name, ':') != NULL, compare_entry, &nearest);
	suggestion = pesa_error_create(PESA_ERROR_NOT_FOUND, "%s; %s%s%s'pesa list' shows them",
				       error->message, *nearest.best ? "do you mean '" : "",
				       nearest.best, *nearest.best ? "'? " : "");
	pesa_error_free(error);
	return suggestion;
}

/* ---- Names --------------------------------------------------------------------------------- */

/*
 * "cycles:u": the text after the last colon is modifiers if all of its letters are.  Otherwise the
 * library has to parse it.
 */
static struct pesa_error *parse_name(const struct pesa_event_source *source,
				     struct pesa_event_name *event)
{
	char name[sizeof(event->name)], *colon;
	struct pesa_error *error;

	strcpy(name, event->name);
	colon = strrchr(name, ':');
	if (colon && colon[1] && !colon[1 + strspn(colon + 1, MODIFIERS)])
		*colon = '\0';
	else
		colon = NULL;
	error = find_event(source, name, event);
	if (!error)
		return put_modifiers(colon ? colon + 1 : "", event);
	/* "cycles:x": the part before the colon is an event. */
	colon = colon ? NULL : strchr(name, ':');
	if (colon && colon[1] != ':' && error->code != PESA_ERROR_SYSTEM) {
		struct pesa_error *bare;

		*colon = '\0';
		bare = find_event(source, name, event);
		if (!bare) {
			pesa_error_free(error);
			return put_modifiers(colon + 1, event);
		}
		pesa_error_free(bare);
		*colon = ':';
	}
	return suggest(source, name, error);
}

struct pesa_error *pesa_event_resolve(const struct pesa_event_source *source, const char *name,
				      struct pesa_event_name *event)
{
	struct pesa_event_name parsed = {.scale = 1};
	struct pesa_error *error;

	if (!*name || strlen(name) >= sizeof(parsed.name))
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "'%.64s' is no event; 'pesa list' shows them", name);
	strcpy(parsed.name, name);
	error = strchr(name, '/') ? parse_of_pmu(source, &parsed) : parse_name(source, &parsed);
	if (!error)
		*event = parsed;
	return error;
}

struct pesa_error *pesa_event_parse(const char *devices, const char *name,
				    struct pesa_event_name *event)
{
	const struct pesa_event_source source = {.devices = devices,
						 .tracepoints = PESA_TRACEPOINT_DIRECTORY};

	return pesa_event_resolve(&source, name, event);
}

/* ---- All that there are -------------------------------------------------------------------- */

struct each {
	pesa_event_function function;
	void *context;
};

static void tell_event(void *context, const struct pesa_pmu *pmu, const char *name,
		       const char *terms)
{
	const struct each *each = context;
	char whole[sizeof(pmu->name) + NAME_MAX + 4];

	snprintf(whole, sizeof(whole), "%s/%s/", pmu->name, name);
	each->function(each->context, &(struct pesa_event_entry){.kind = PESA_EVENT_PMU,
								 .name = whole,
								 .alias = name,
								 .terms = terms});
}

static void tell_pmu(void *context, const struct pesa_pmu *pmu)
{
	pesa_pmu_each_event(pmu, tell_event, context);
}

void pesa_event_each(const struct pesa_event_source *source, bool tracepoints,
		     pesa_event_function function, void *context)
{
	struct each each = {.function = function, .context = context};

	pesa_event_library_each(function, context);
	pesa_event_software_each(function, context);
	pesa_pmu_each(source->devices, tell_pmu, &each);
	if (source->catalogue)
		pesa_event_catalogue_each(source->catalogue, function, context);
	pesa_event_standard_each(function, context);
	if (tracepoints)
		pesa_event_tracepoint_each(source->tracepoints, function, context);
}
