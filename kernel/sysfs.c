// SPDX-License-Identifier: GPL-2.0-or-later
/* The PMU's attributes in sysfs: caps/, format/, events/, cpumask, identifier, statistics/. */
#include <linux/sysfs.h>

#include "driver.h"

/* ---- Capabilities in sysfs: caps/ ----------------------------------------------------------- */

enum pesa_capability {
	PESA_CAP_XLEN,
	PESA_CAP_MAX_PRECISE,
	PESA_CAP_COUNTER_BITS,
	PESA_CAP_MINIMUM_PERIOD,
	PESA_CAP_RETIRE_WIDTH,
	PESA_CAP_CT_TARGETS,
	PESA_CAP_CTR_DEPTH,
	PESA_CAP_CALL_STACKS,
	PESA_CAP_AUTORUN,
	PESA_CAP_CAUSE_NAMES,
	PESA_CAP_CORE,
	PESA_CAP_MODEL,
	PESA_CAP_FREQUENCY,
};

static ssize_t pesa_emit_cause_names(const struct pesa_pmu *pesa, char *buffer)
{
	ssize_t length = 0;

	for (unsigned int i = 0; i < PESA_CAUSE_COUNT; i++) {
		if (!pesa->cause_names[i] || !*pesa->cause_names[i])
			continue;
		length += sysfs_emit_at(buffer, length, "%s%u:%s", length ? "," : "", i,
					pesa->cause_names[i]);
	}
	return length + sysfs_emit_at(buffer, length, "\n");
}

static ssize_t pesa_cap_show(struct device *dev, struct device_attribute *attr, char *buffer)
{
	struct pesa_pmu *pesa = to_pesa(dev_get_drvdata(dev));

	switch ((uintptr_t)container_of(attr, struct dev_ext_attribute, attr)->var) {
	case PESA_CAP_XLEN:
		return sysfs_emit(buffer, "%u\n", BITS_PER_LONG);
	case PESA_CAP_MAX_PRECISE:
		/* Of perf_event_attr.precise_ip: addresses are exact whatever is asked for. */
		return sysfs_emit(buffer, "3\n");
	case PESA_CAP_COUNTER_BITS:
		return sysfs_emit(buffer, "%u\n", pesa->counter_bits);
	case PESA_CAP_MINIMUM_PERIOD:
		return sysfs_emit(buffer, "%u\n", PESA_CC_MINIMUM_PERIOD);
	case PESA_CAP_RETIRE_WIDTH:
		return sysfs_emit(buffer, "%u\n", pesa->retire_width);
	case PESA_CAP_CT_TARGETS:
		return sysfs_emit(buffer, "%u\n", pesa->ct_targets);
	case PESA_CAP_CTR_DEPTH:
		return sysfs_emit(buffer, "%u\n", pesa->ctr_depth);
	case PESA_CAP_CALL_STACKS:
		return sysfs_emit(buffer, "%d\n", pesa->call_stacks);
	case PESA_CAP_AUTORUN:
		return sysfs_emit(buffer, "%d\n", pesa->autorun);
	case PESA_CAP_CAUSE_NAMES:
		return pesa_emit_cause_names(pesa, buffer);
	case PESA_CAP_CORE:
		return sysfs_emit(buffer, "%s\n", pesa->core);
	case PESA_CAP_MODEL:
		return sysfs_emit(buffer, "%s\n", pesa->model);
	case PESA_CAP_FREQUENCY:
		return sysfs_emit(buffer, "%llu\n", pesa->frequency);
	}
	return -EINVAL;
}

#define PESA_CAP(name, id)							\
	(&((struct dev_ext_attribute[]) {					\
		{ __ATTR(name, 0444, pesa_cap_show, NULL), (void *)(id) }	\
	})[0].attr.attr)

static struct attribute *pesa_cap_attributes[] = {
	PESA_CAP(xlen, PESA_CAP_XLEN),
	PESA_CAP(max_precise, PESA_CAP_MAX_PRECISE),
	PESA_CAP(counter_bits, PESA_CAP_COUNTER_BITS),
	PESA_CAP(minimum_period, PESA_CAP_MINIMUM_PERIOD),
	PESA_CAP(retire_width, PESA_CAP_RETIRE_WIDTH),
	PESA_CAP(ct_targets, PESA_CAP_CT_TARGETS),
	PESA_CAP(ctr_depth, PESA_CAP_CTR_DEPTH),
	PESA_CAP(call_stacks, PESA_CAP_CALL_STACKS),
	PESA_CAP(autorun, PESA_CAP_AUTORUN),
	PESA_CAP(cause_names, PESA_CAP_CAUSE_NAMES),
	PESA_CAP(core, PESA_CAP_CORE),
	PESA_CAP(model, PESA_CAP_MODEL),
	PESA_CAP(frequency, PESA_CAP_FREQUENCY),
	NULL,
};

static const struct attribute_group pesa_cap_group = {
	.name = "caps",
	.attrs = pesa_cap_attributes,
};

static ssize_t cpumask_show(struct device *dev, struct device_attribute *attr, char *buffer)
{
	struct pesa_pmu *pesa = to_pesa(dev_get_drvdata(dev));

	return cpumap_print_to_pagebuf(true, buffer, &pesa->supported);
}

static DEVICE_ATTR_RO(cpumask);

/* By this perf finds the files that describe the events of the core. */
static ssize_t identifier_show(struct device *dev, struct device_attribute *attr, char *buffer)
{
	struct pesa_pmu *pesa = to_pesa(dev_get_drvdata(dev));

	return sysfs_emit(buffer, "%s\n", pesa->core);
}

static DEVICE_ATTR_RO(identifier);

static struct attribute *pesa_device_attributes[] = {
	&dev_attr_cpumask.attr,
	&dev_attr_identifier.attr,
	NULL,
};

/*
 * perf treats a PMU with a cpumask as an uncore PMU.  So the file exists only if some harts are not
 * supported.
 */
static umode_t pesa_device_visible(struct kobject *kobj, struct attribute *attr, int unused)
{
	struct pesa_pmu *pesa = to_pesa(dev_get_drvdata(kobj_to_dev(kobj)));
	bool visible = *pesa->core;

	if (attr == &dev_attr_cpumask.attr)
		visible = !cpumask_subset(cpu_possible_mask, &pesa->supported);
	return visible ? attr->mode : 0;
}

static const struct attribute_group pesa_device_group = {
	.attrs = pesa_device_attributes,
	.is_visible = pesa_device_visible,
};

/* ---- Formats in sysfs ------------------------------------------------------------------------ */

PMU_FORMAT_ATTR(event, "config:0-7");
PMU_FORMAT_ATTR(fixed, "config:8");
PMU_FORMAT_ATTR(autorun, "config:9");

static struct attribute *pesa_format_attributes[] = {
	&format_attr_event.attr,
	&format_attr_fixed.attr,
	&format_attr_autorun.attr,
	NULL,
};

static const struct attribute_group pesa_format_group = {
	.name = "format",
	.attrs = pesa_format_attributes,
};

/* ---- Statistics in sysfs: statistics/, sums over all harts ----------------------------------- */

static ssize_t pesa_statistic_show(struct device *dev, struct device_attribute *attr, char *buffer)
{
	struct pesa_pmu *pesa = to_pesa(dev_get_drvdata(dev));
	uintptr_t which = (uintptr_t)container_of(attr, struct dev_ext_attribute, attr)->var;
	uintptr_t first = which == PESA_TAKEN ? PESA_RECORDED : which;
	uintptr_t last = which == PESA_TAKEN ? PESA_UNCLAIMED : which;
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		for (uintptr_t i = first; i <= last; i++)
			sum += READ_ONCE(per_cpu_ptr(pesa->harts, cpu)->statistic[i]);
	return sysfs_emit(buffer, "%llu\n", sum);
}

#define PESA_STATISTIC(name, id)						\
	(&((struct dev_ext_attribute[]) {					\
		{ __ATTR(name, 0444, pesa_statistic_show, NULL), (void *)(id) }	\
	})[0].attr.attr)

static struct attribute *pesa_statistic_attributes[] = {
	PESA_STATISTIC(taken, PESA_TAKEN),
	PESA_STATISTIC(recorded, PESA_RECORDED),
	PESA_STATISTIC(excluded, PESA_EXCLUDED),
	PESA_STATISTIC(unclaimed, PESA_UNCLAIMED),
	PESA_STATISTIC(discarded, PESA_DISCARDED),
	PESA_STATISTIC(discarded_idle, PESA_DISCARDED_IDLE),
	PESA_STATISTIC(throttled, PESA_THROTTLED),
	PESA_STATISTIC(unreported, PESA_UNREPORTED),
	PESA_STATISTIC(back_to_back, PESA_BACK_TO_BACK),
	NULL,
};

static const struct attribute_group pesa_statistic_group = {
	.name = "statistics",
	.attrs = pesa_statistic_attributes,
};

void pesa_prepare_groups(struct pesa_pmu *pesa)
{
	const struct attribute_group *groups[PESA_ATTR_GROUPS] = {
		&pesa_format_group, &pesa->event_group,	   &pesa_cap_group,
		&pesa_device_group, &pesa_statistic_group,
	};

	memcpy(pesa->groups, groups, sizeof(groups));
}
