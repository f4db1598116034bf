// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events other than cycles that the period counter can count, on harts with shpmsevent.  Properties
 * of the device list them; an event that some hart does not accept in shpmsevent is dropped.
 */
#include <linux/bitmap.h>
#include <linux/property.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "driver.h"

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

int pesa_describe_events(struct pesa_pmu *pesa)
{
	const char *names[PESA_EVENTS_MAX];
	int count, error = 0;
	u32 numbers[PESA_EVENTS_MAX];

	count = max(device_property_string_array_count(pesa->dev, "event-names"), 0);
	if (count != max(device_property_count_u32(pesa->dev, "events"), 0))
		return dev_err_probe(pesa->dev, -EINVAL,
				     "events and event-names differ in length\n");
	if (count > PESA_EVENTS_MAX)
		return dev_err_probe(pesa->dev, -EINVAL, "more than %u events\n", PESA_EVENTS_MAX);
	if (!count)
		return 0;
	error = device_property_read_string_array(pesa->dev, "event-names", names, count);
	if (error < 0)
		return error;
	error = device_property_read_u32_array(pesa->dev, "events", numbers, count);
	for (int i = 0; !error && i < count; i++)
		error = pesa_add_event(pesa, names[i], numbers[i]);
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
