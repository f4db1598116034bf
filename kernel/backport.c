// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Only for the module pesa.ko, see backport.h: finds functions of perf's that are not exported,
 * and makes a device of the module's parameters where the device tree has none.
 */

#include <linux/device.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/property.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "driver.h"

struct pesa_functions pesa_functions;

/* Its name is not the driver's: pesa_add_device() binds it, and has the error. */
#define PESA_DEVICE_NAME "pesa-parameters"

static int interrupt = -1;
module_param(interrupt, int, 0444);
MODULE_PARM_DESC(interrupt, "local interrupt of the period counter, where no device-tree node says it");
static unsigned int retire_width;
module_param(retire_width, uint, 0444);
MODULE_PARM_DESC(retire_width, "instructions that can retire in a cycle (0: unknown)");
static unsigned int ct_targets = 2;
module_param(ct_targets, uint, 0444);
MODULE_PARM_DESC(ct_targets, "branch targets in a sample: 0, 1 or 2");
static char *cause_names[PESA_CAUSE_COUNT];
static unsigned int causes_given;
module_param_array(cause_names, charp, &causes_given, 0444);
MODULE_PARM_DESC(cause_names, "names of the CAUSE bits from 0 on, empty where not tracked");
static unsigned long frequency;
module_param(frequency, ulong, 0444);
MODULE_PARM_DESC(frequency, "nominal cycles a second (0: unknown)");
static unsigned int ctr_depth;
module_param(ctr_depth, uint, 0444);
MODULE_PARM_DESC(ctr_depth, "control transfer records to use (Ssctr), 0: none");
static bool autorun;
module_param(autorun, bool, 0444);
MODULE_PARM_DESC(autorun, "the harts have AutoRun");
static char *events[PESA_EVENTS_MAX];
static unsigned int events_given;
module_param_array(events, charp, &events_given, 0444);
MODULE_PARM_DESC(events, "events that the counter counts beside cycles, each NAME:NUMBER in shpmsevent");

static u32 pesa_event_numbers[PESA_EVENTS_MAX];

/* Cut the number off the name. */
static int __init pesa_split_event(char *given, u32 *number)
{
	char *colon = strrchr(given, ':');
	bool hexadecimal = colon && !strncasecmp(colon + 1, "0x", 2);

	/* No octal numbers: "010" is ten. */
	if (!colon || kstrtou32(colon + 1, hexadecimal ? 16 : 10, number)) {
		pr_err("pesa: events: '%s' is no NAME:NUMBER\n", given);
		return -EINVAL;
	}
	*colon = 0;
	return 0;
}

/* The parameters as properties, which the driver core copies. */
static struct platform_device * __init pesa_create_device(void)
{
	struct property_entry properties[10] = {
		PROPERTY_ENTRY_U32("local-interrupt", interrupt),
		PROPERTY_ENTRY_U32("retire-width", retire_width),
		PROPERTY_ENTRY_U32("ct-targets", ct_targets),
		PROPERTY_ENTRY_U64("clock-frequency", frequency),
		PROPERTY_ENTRY_U32("ctr-depth", ctr_depth),
	};
	struct platform_device_info device = {
		.name = PESA_DEVICE_NAME,
		.id = PLATFORM_DEVID_NONE,
		.properties = properties,
	};
	unsigned int count = 5;

	if (causes_given)
		properties[count++] = PROPERTY_ENTRY_STRING_ARRAY_LEN("cause-names", cause_names,
								      causes_given);
	if (autorun)
		properties[count++] = PROPERTY_ENTRY_BOOL("autorun");
	if (events_given) {
		properties[count++] = PROPERTY_ENTRY_STRING_ARRAY_LEN("event-names", events,
								      events_given);
		properties[count++] = PROPERTY_ENTRY_U32_ARRAY_LEN("events", pesa_event_numbers,
								   events_given);
	}
	return platform_device_register_full(&device);
}

static struct platform_device *pesa_device; /* NULL: no parameter `interrupt` */

static int __init pesa_add_device(void)
{
	int error;

	for (unsigned int i = 0; i < events_given; i++) {
		error = pesa_split_event(events[i], &pesa_event_numbers[i]);
		if (error)
			return error;
	}
	pesa_device = pesa_create_device();
	if (IS_ERR(pesa_device))
		return PTR_ERR(pesa_device);
	error = device_driver_attach(&pesa_module_driver->driver, &pesa_device->dev);
	if (error)
		platform_device_unregister(pesa_device);
	return error;
}

/* A disabled kprobe resolves the function's address. */
static void * __init pesa_find(const char *function)
{
	struct kprobe probe = {
		.symbol_name = function,
		.flags = KPROBE_FLAG_DISABLED,
	};
	void *address;

	if (register_kprobe(&probe)) {
		pr_err("pesa: %s() not found: the kernel needs CONFIG_KPROBES\n", function);
		return NULL;
	}
	address = probe.addr;
	unregister_kprobe(&probe);
	return address;
}

static int __init pesa_init(void)
{
	int error;

	pesa_functions = (struct pesa_functions) {
		.overflow = pesa_find("perf_event_overflow"),
		.account_interrupt = pesa_find("perf_event_account_interrupt"),
		.sample_event_took = pesa_find("perf_sample_event_took"),
		.sched_cb_inc = pesa_find("perf_sched_cb_inc"),
		.sched_cb_dec = pesa_find("perf_sched_cb_dec"),
	};
	if (!pesa_functions.overflow || !pesa_functions.account_interrupt ||
	    !pesa_functions.sample_event_took || !pesa_functions.sched_cb_inc ||
	    !pesa_functions.sched_cb_dec)
		return -EOPNOTSUPP;
	error = platform_driver_register(pesa_module_driver);
	if (error || interrupt < 0)
		return error;
	error = pesa_add_device();
	if (error)
		platform_driver_unregister(pesa_module_driver);
	return error;
}

static void __exit pesa_exit(void)
{
	platform_device_unregister(pesa_device);
	platform_driver_unregister(pesa_module_driver);
}

module_init(pesa_init);
module_exit(pesa_exit);

MODULE_ALIAS("of:N*T*Criscv,shpmsdetails");
MODULE_ALIAS("of:N*T*Criscv,shpmsdetailsC*");
MODULE_DESCRIPTION("Sampling profiler: RISC-V Sspesa with shpmsdetails");
MODULE_LICENSE("GPL");
