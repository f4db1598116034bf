// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/list/events.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *key, *title;
	bool many;
} kinds[PESA_EVENT_KINDS] = {
	[PESA_EVENT_HARDWARE] = {"hardware", "Hardware events", false},
	[PESA_EVENT_SOFTWARE] = {"software", "Software events of the kernel", false},
	[PESA_EVENT_CACHE] = {"cache", "Cache events", false},
	[PESA_EVENT_PMU] = {"pmu", "Events of the kernel's PMUs", false},
	[PESA_EVENT_FILE] = {"file", "Events of this processor's event files", false},
	[PESA_EVENT_STANDARD] = {"standard", "Standard RISC-V events", false},
	[PESA_EVENT_PROCESSOR] = {"processor", "Events of this processor that libpfm4 knows", true},
	[PESA_EVENT_TRACEPOINT] = {"tracepoint", "Tracepoints", true},
};

struct listing {
	enum pesa_event_kind kind;
	bool all, any;
	struct ui_json *json;
};

static void print_entry(const struct pesa_event_entry *entry)
{
	const char *behind = entry->terms ? entry->terms : "";

	if (entry->kind == PESA_EVENT_STANDARD)
		printf("  %-34s as %s\n", entry->name, behind);
	else if (entry->kind == PESA_EVENT_PMU || entry->kind == PESA_EVENT_FILE)
		printf("  %-34s %s%s%s\n", entry->name, behind, entry->description ? "  " : "",
		       entry->description ? entry->description : "");
	else if (entry->description)
		printf("  %-34s %s\n", entry->name, entry->description);
	else
		printf("  %s\n", entry->name);
}

static void add_entry(struct ui_json *json, const struct pesa_event_entry *entry)
{
	json_object *one = json_object_new_object();

	json_object_object_add(one, "name", ui_json_string(entry->name));
	json_object_object_add(one, "kind", ui_json_string(kinds[entry->kind].key));
	json_object_object_add(one, "terms", ui_json_string(entry->terms));
	json_object_object_add(one, "description", ui_json_string(entry->description));
	ui_json_element(json, one);
}

static void tell(void *context, const struct pesa_event_entry *entry)
{
	struct listing *listing = context;

	if (listing->json) {
		if (listing->all || !kinds[entry->kind].many)
			add_entry(listing->json, entry);
		return;
	}
	if (entry->kind != listing->kind)
		return;
	if (!listing->any)
		printf("\n%s:\n", kinds[entry->kind].title);
	listing->any = true;
	print_entry(entry);
}

void list_events(const struct pesa_event_source *source, bool all, struct ui_json *json)
{
	struct listing listing = {.all = all, .json = json};

	if (json) {
		pesa_event_each(source, all, tell, &listing);
		return;
	}
	for (listing.kind = 0; listing.kind < PESA_EVENT_KINDS; listing.kind++) {
		listing.any = false;
		if (all || !kinds[listing.kind].many)
			pesa_event_each(source, listing.kind == PESA_EVENT_TRACEPOINT, tell,
					&listing);
	}
	printf("\n  rNNN                               a raw event of the processor, in "
	       "hexadecimal digits\n"
	       "  PMU/TERM=VALUE,.../                any event of a PMU, by the terms of its format/\n");
	if (!all)
		printf("\n'pesa list --all' shows tracepoints, and events of this processor that "
		       "libpfm4 knows, as well.\n");
}

/* ---- Meanings ------------------------------------------------------------------------------ */

typedef void (*member_function)(void *context, const char *name, uint64_t value, bool hexadecimal);

/* The perf_event_attr members that a name can set, in the kernel's order. */
static void each_member(const struct perf_event_attr *attr, member_function function, void *context)
{
	function(context, "type", attr->type, false);
	function(context, "config", attr->config, true);
	function(context, "config1", attr->config1, true);
	function(context, "config2", attr->config2, true);
	function(context, "pinned", attr->pinned, false);
	function(context, "exclusive", attr->exclusive, false);
	function(context, "exclude_user", attr->exclude_user, false);
	function(context, "exclude_kernel", attr->exclude_kernel, false);
	function(context, "exclude_hv", attr->exclude_hv, false);
	function(context, "exclude_idle", attr->exclude_idle, false);
	function(context, "precise_ip", attr->precise_ip, false);
	function(context, "exclude_host", attr->exclude_host, false);
	function(context, "exclude_guest", attr->exclude_guest, false);
}

static void print_member(void *context, const char *name, uint64_t value, bool hexadecimal)
{
	(void)context;
	if (!value && strcmp(name, "type") && strcmp(name, "config"))
		return;
	if (hexadecimal)
		printf("  %-16s 0x%" PRIx64 "\n", name, value);
	else
		printf("  %-16s %" PRIu64 "\n", name, value);
}

static void add_member(void *context, const char *name, uint64_t value, bool hexadecimal)
{
	(void)hexadecimal;
	json_object_object_add(context, name, json_object_new_uint64(value));
}

static void print_meaning(const struct pesa_event_name *event)
{
	printf("%s\n", event->name);
	if (*event->pmu.name)
		printf("  %-16s %s\n", "PMU", event->pmu.name);
	each_member(&event->attr, print_member, NULL);
	if (*event->unit)
		printf("  %-16s x %g %s\n", "count", event->scale, event->unit);
	if (event->period)
		printf("  %-16s %" PRIu64 "\n", "period", event->period);
}

static json_object *meaning_json(const struct pesa_event_name *event)
{
	json_object *one = json_object_new_object();

	json_object_object_add(one, "name", ui_json_string(event->name));
	json_object_object_add(one, "pmu",
			       *event->pmu.name ? ui_json_string(event->pmu.name) : NULL);
	each_member(&event->attr, add_member, one);
	json_object_object_add(one, "scale", ui_json_number(event->scale));
	json_object_object_add(one, "unit", *event->unit ? ui_json_string(event->unit) : NULL);
	json_object_object_add(one, "period", ui_json_count(event->period));
	return one;
}

struct pesa_error *list_event_meanings(const struct pesa_event_source *source, const char *events,
				       struct ui_json *json)
{
	struct pesa_event_list list = {0};
	struct pesa_error *error = pesa_event_list_add(&list, events);

	for (size_t i = 0; i < list.count && !error; i++) {
		struct pesa_event_name event;

		error = pesa_event_resolve(source, list.items[i].name, &event);
		if (error)
			break;
		if (json)
			ui_json_element(json, meaning_json(&event));
		else
			print_meaning(&event);
	}
	pesa_event_list_free(&list);
	return error;
}
