// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events other than cycles that the period counter can count, on harts with shpmsevent.  The device
 * tree or the module parameter `events` lists them; an event that some hart does not accept in
 * shpmsevent is dropped.
 */
#include <linux/bitmap.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "driver.h"

static char *events[PESA_EVENTS_MAX];
static unsigned int events_given;
module_param_array(events, charp, &events_given, 0444);
MODULE_PARM_DESC(events, "events that the counter counts beside cycles, each NAME:NUMBER in shpmsevent");

/* The name becomes a file name in sysfs and a term in perf's event syntax, pesa/NAME/. */
static bool pesa_is_event_name(const char *name)
{
	return *name && strlen(name) < NAME_MAX && !strpbrk(name, "/,= ") && *name != '.' &&
	       strcmp(name, PESA_CYCLES_NAME);
}

static int pesa_add_event(struct pesa_pmu *pesa, const char *name, u32 number)
{
	struct pesa_event_type *type = &pesa->event_types[pesa->event_type_count];

	if (!pesa_is_event_name(name) || number <= PESA_EVENT_CYCLES || number > PESA_SELECT_MOST)
		return dev_err_probe(pesa->dev, -EINVAL,
				     "event '%s' with the number %u cannot be\n", name, number);
	if (pesa->event_type_count == PESA_EVENTS_MAX)
		return dev_err_probe(pesa->dev, -EINVAL, "more than %u events\n", PESA_EVENTS_MAX);
	for (unsigned int i = 0; i < pesa->event_type_count; i++)
		if (pesa->event_types[i].number == number ||
		    !strcmp(pesa->event_types[i].name, name))
			return dev_err_probe(pesa->dev, -EINVAL,
					     "event '%s' with the number %u is there twice\n", name,
					     number);
	type->name = name;
	type->number = number;
	pesa->event_type_count++;
	return 0;
}

static int pesa_add_given(struct pesa_pmu *pesa, const char *given)
{
	const char *colon = strrchr(given, ':');
	bool hexadecimal = colon && !strncasecmp(colon + 1, "0x", 2);
	char *name;
	u32 number;

	/* No octal numbers: "010" is ten. */
	if (!colon || kstrtou32(colon + 1, hexadecimal ? 16 : 10, &number))
		return dev_err_probe(pesa->dev, -EINVAL, "events: '%s' is no NAME:NUMBER\n", given);
	name = devm_kstrdup(pesa->dev, given, GFP_KERNEL);
	if (!name)
		return -ENOMEM;
	name[colon - given] = 0;
	return pesa_add_event(pesa, name, number);
}

int pesa_describe_events(struct pesa_pmu *pesa)
{
	struct device_node *node = pesa->dev->of_node;
	int count, error = 0;

	if (!node) {
		for (unsigned int i = 0; !error && i < events_given; i++)
			error = pesa_add_given(pesa, events[i]);
		return error;
	}
	count = of_property_count_strings(node, "event-names");
	if (max(count, 0) != max(of_property_count_u32_elems(node, "events"), 0))
		return dev_err_probe(pesa->dev, -EINVAL,
				     "%pOF: events and event-names differ in length\n", node);
	for (int i = 0; !error && i < count; i++) {
		const char *name;
		u32 number;

		error = of_property_read_string_index(node, "event-names", i, &name);
		if (!error)
			error = of_property_read_u32_index(node, "events", i, &number);
		if (!error)
			error = pesa_add_event(pesa, name, number);
	}
	return error;
}

void pesa_probe_events(const struct pesa_pmu *pesa, unsigned long *refused)
{
	for (unsigned int i = 0; i < pesa->event_type_count; i++) {
		csr_write(PESA_CSR_SHPMSEVENT, pesa->event_types[i].number);
		if (csr_read(PESA_CSR_SHPMSEVENT) != pesa->event_types[i].number)
			set_bit(i, refused);
	}
	if (pesa->event_type_count)
		csr_write(PESA_CSR_SHPMSEVENT, PESA_SELECT_CYCLES);
}

void pesa_remove_events(struct pesa_pmu *pesa, const unsigned long *refused)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < pesa->event_type_count; i++) {
		if (test_bit(i, refused))
			dev_warn(pesa->dev, "not every hart counts the event %s: it is not offered\n",
				 pesa->event_types[i].name);
		else
			pesa->event_types[kept++] = pesa->event_types[i];
	}
	pesa->event_type_count = kept;
}

bool pesa_has_event(const struct pesa_pmu *pesa, u32 number)
{
	if (number == PESA_EVENT_CYCLES)
		return true;
	for (unsigned int i = 0; i < pesa->event_type_count; i++)
		if (pesa->event_types[i].number == number)
			return true;
	return false;
}

PMU_EVENT_ATTR_STRING(cycles, pesa_event_cycles, "event=0x01");

int pesa_prepare_event_files(struct pesa_pmu *pesa)
{
	pesa->event_files[0] = &pesa_event_cycles.attr.attr;
	for (unsigned int i = 0; i < pesa->event_type_count; i++) {
		struct perf_pmu_events_attr *file = &pesa->event_types[i].file;

		sysfs_attr_init(&file->attr.attr);
		file->attr.attr.name = pesa->event_types[i].name;
		file->attr.attr.mode = 0444;
		file->attr.show = perf_event_sysfs_show;
		file->event_str = devm_kasprintf(pesa->dev, GFP_KERNEL, "event=0x%02x",
						 pesa->event_types[i].number);
		if (!file->event_str)
			return -ENOMEM;
		pesa->event_files[i + 1] = &file->attr.attr;
	}
	pesa->event_group.name = "events";
	pesa->event_group.attrs = pesa->event_files;
	return 0;
}
