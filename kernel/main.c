// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sampling profiler driver for the RISC-V shpmsdetails extension (Sspesa).
 *
 * Every hart has one period counter.  When it overflows, the hart records for that one cycle which
 * instructions retired, the targets of control transfers, the state of the retire stage and its
 * cause.  The driver reads these registers in the overflow interrupt and hands them to perf as a
 * raw record (see raw_sample.h), with the sampled PC in place of the interrupted one.
 *
 * This file has probing, CPU hotplug and power management.  driver.h lists the other files.
 */

#include <linux/cpu.h>
#include <linux/cpu_pm.h>
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/kobject.h>
#include <linux/of.h>
#include <linux/of_irq.h>
#include <linux/platform_device.h>
#include <linux/pm.h>
#include <linux/property.h>
#include <linux/random.h>
#include <linux/smp.h>

#include <asm/irq_regs.h>
#include <asm/timex.h>

#include "driver.h"

#define PESA_DEFAULT_INTERRUPT	13 /* LCOFI */
#define PESA_RETIRE_WIDTH_MAX	15

/* ---- CPU hotplug and idle -------------------------------------------------------------------- */

/*
 * perf may already have scheduled events on the hart: start them now.  A hart that was offline when
 * the driver was loaded is probed here for the first time.
 */
static int pesa_hart_online(unsigned int cpu, struct hlist_node *node)
{
	struct pesa_pmu *pesa = hlist_entry_safe(node, struct pesa_pmu, hotplug);
	struct pesa_hart *hart = per_cpu_ptr(pesa->harts, cpu);
	bool compatible;

	if (!cpumask_test_cpu(cpu, &pesa->supported))
		return 0;
	if (READ_ONCE(pesa->suspended))
		cpumask_set_cpu(cpu, &pesa->came_online);
	local_irq_disable();
	compatible = pesa_hart_is_compatible(hart);
	if (compatible) {
		enable_percpu_irq(pesa->irq, IRQ_TYPE_NONE);
		hart->offline = false;
		/* Without an event this leaves the counter stopped and its interrupt disabled. */
		pesa_hart_resume(hart);
	}
	local_irq_enable();
	if (compatible)
		return 0;
	cpumask_clear_cpu(cpu, &pesa->supported);
	dev_warn(pesa->dev, "CPU %u has less than those before it: it is not sampled\n", cpu);
	return 0;
}

static int pesa_hart_offline(unsigned int cpu, struct hlist_node *node)
{
	struct pesa_pmu *pesa = hlist_entry_safe(node, struct pesa_pmu, hotplug);
	struct pesa_hart *hart = per_cpu_ptr(pesa->harts, cpu);

	if (!cpumask_test_cpu(cpu, &pesa->supported))
		return 0;
	/* perf removes the hart's events after this callback. */
	local_irq_disable();
	pesa_hart_suspend(hart);
	hart->offline = true;
	local_irq_enable();
	disable_percpu_irq(pesa->irq);
	return 0;
}

/* A low-power state may reset the hart's registers. */
static int pesa_power(struct notifier_block *block, unsigned long action, void *unused)
{
	struct pesa_pmu *pesa = container_of(block, struct pesa_pmu, power);
	struct pesa_hart *hart = this_cpu_ptr(pesa->harts);

	if (hart->offline)
		return NOTIFY_OK;
	switch (action) {
	case CPU_PM_ENTER:
		pesa_hart_suspend(hart);
		break;
	case CPU_PM_ENTER_FAILED:
	case CPU_PM_EXIT:
		pesa_hart_resume(hart);
		break;
	default:
		return NOTIFY_DONE;
	}
	return NOTIFY_OK;
}

/* ---- Probing --------------------------------------------------------------------------------- */

/* The causes that each implementation has, in the order of their bits. */
static const char *const pesa_usual_causes[] = {
	"icache-miss", "itlb-miss", "branch-mispredict", "dcache-miss", "dtlb-miss",
};

/*
 * The number of the local interrupt: from interrupts-extended, which must name the same one for all
 * harts.  A device without a node has a property for it.
 */
static int pesa_local_interrupt(struct pesa_pmu *pesa)
{
	struct device_node *node = pesa->dev->of_node;
	struct of_phandle_args args;
	u32 number = PESA_DEFAULT_INTERRUPT;

	device_property_read_u32(pesa->dev, "local-interrupt", &number);
	for (int i = 0; node && !of_irq_parse_one(node, i, &args); i++) {
		of_node_put(args.np);
		if (args.args_count != 1 || (i && args.args[0] != number))
			return dev_err_probe(pesa->dev, -EINVAL,
					     "interrupts-extended must name the same local interrupt for every hart\n");
		number = args.args[0];
	}
	if (number >= BITS_PER_LONG)
		return dev_err_probe(pesa->dev, -EINVAL, "local interrupt %u: a hart has %d\n",
				     number, BITS_PER_LONG);
	return number;
}

static int pesa_describe_causes(struct pesa_pmu *pesa)
{
	int count = device_property_string_array_count(pesa->dev, "cause-names");

	if (count > PESA_CAUSE_COUNT)
		return dev_err_probe(pesa->dev, -EINVAL,
				     "cause-names has %d strings, there are %d bits\n", count,
				     PESA_CAUSE_COUNT);
	if (count <= 0) {
		memcpy(pesa->cause_names, pesa_usual_causes, sizeof(pesa_usual_causes));
		return 0;
	}
	count = device_property_read_string_array(pesa->dev, "cause-names", pesa->cause_names,
						  count);
	return min(count, 0);
}

static int pesa_describe(struct pesa_pmu *pesa)
{
	struct device *dev = pesa->dev;
	int error;

	pesa->core = "";
	pesa->model = "";
	pesa->ct_targets = 2;
	device_property_read_u32(dev, "retire-width", &pesa->retire_width);
	device_property_read_u32(dev, "ct-targets", &pesa->ct_targets);
	device_property_read_u64(dev, "clock-frequency", &pesa->frequency);
	device_property_read_string(dev, "core", &pesa->core);
	device_property_read_string(dev, "model", &pesa->model);
	device_property_read_u32(dev, "ctr-depth", &pesa->ctr_depth);
	pesa->discarded_count = device_property_read_bool(dev, "discarded-count");
	pesa->autorun = device_property_read_bool(dev, "autorun");
	if (pesa->ct_targets > 2)
		return dev_err_probe(dev, -EINVAL, "ct-targets is %u: at most 2\n",
				     pesa->ct_targets);
	if (pesa->ctr_depth > PESA_CTR_DEPTH_MOST)
		return dev_err_probe(dev, -EINVAL, "ctr-depth is %u: at most %u\n",
				     pesa->ctr_depth, PESA_CTR_DEPTH_MOST);
	if (pesa->retire_width > PESA_RETIRE_WIDTH_MAX)
		return dev_err_probe(dev, -EINVAL, "retire-width is %u: at most %u\n",
				     pesa->retire_width, PESA_RETIRE_WIDTH_MAX);
	error = pesa_describe_causes(pesa);
	if (error)
		return error;
	return pesa_describe_events(pesa);
}

static void pesa_free_irq(void *context)
{
	struct pesa_pmu *pesa = context;

	free_percpu_irq(pesa->irq, pesa->harts);
}

static int pesa_request_irq(struct pesa_pmu *pesa)
{
	struct irq_domain *domain;
	int number = pesa_local_interrupt(pesa), error;

	if (number < 0)
		return number;
	domain = irq_find_matching_fwnode(riscv_get_intc_hwnode(), DOMAIN_BUS_ANY);
	if (!domain)
		return dev_err_probe(pesa->dev, -EPROBE_DEFER, "no interrupt controller yet\n");
	pesa->irq = irq_create_mapping(domain, number);
	if (!pesa->irq)
		return dev_err_probe(pesa->dev, -ENODEV, "local interrupt %d cannot be mapped\n",
				     number);
	error = request_percpu_irq(pesa->irq, pesa_interrupt, PESA_NAME, pesa->harts);
	if (error)
		return dev_err_probe(pesa->dev, error,
				     "local interrupt %d is taken by another driver\n", number);
	pesa->irq_mask = BIT(number);
	return devm_add_action_or_reset(pesa->dev, pesa_free_irq, pesa);
}

static void pesa_remove_hotplug(void *context)
{
	struct pesa_pmu *pesa = context;

	cpuhp_state_remove_instance(pesa->hotplug_state, &pesa->hotplug);
	cpuhp_remove_multi_state(pesa->hotplug_state);
}

static void pesa_remove_power(void *context)
{
	struct pesa_pmu *pesa = context;

	cpu_pm_unregister_notifier(&pesa->power);
}

static void pesa_remove_pmu(void *context)
{
	struct pesa_pmu *pesa = context;

	perf_pmu_unregister(&pesa->pmu);
}

static int pesa_prepare_harts(struct pesa_pmu *pesa)
{
	int cpu;

	pesa->harts = devm_alloc_percpu(pesa->dev, struct pesa_hart);
	if (!pesa->harts)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct pesa_hart *hart = per_cpu_ptr(pesa->harts, cpu);

		hart->pmu = pesa;
		hart->offline = true;
		hart->interrupted = per_cpu_ptr(&__irq_regs, cpu);
		hart->random = get_random_u32() | 1;
		pesa_prepare_record(hart);
	}
	return 0;
}

static int pesa_add_hotplug(struct pesa_pmu *pesa)
{
	int error;

	error = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "perf/riscv/pesa:online",
					pesa_hart_online, pesa_hart_offline);
	if (error < 0)
		return error;
	pesa->hotplug_state = error;
	error = cpuhp_state_add_instance(pesa->hotplug_state, &pesa->hotplug);
	if (error) {
		cpuhp_remove_multi_state(pesa->hotplug_state);
		return error;
	}
	return devm_add_action_or_reset(pesa->dev, pesa_remove_hotplug, pesa);
}

static int pesa_register(struct pesa_pmu *pesa)
{
	int error;

	error = pesa_add_hotplug(pesa);
	if (error)
		return error;
	pesa->power.notifier_call = pesa_power;
	error = cpu_pm_register_notifier(&pesa->power);
	if (!error)
		error = devm_add_action_or_reset(pesa->dev, pesa_remove_power, pesa);
	if (error)
		return error;
	error = pesa_prepare_event_files(pesa);
	if (error)
		return error;
	pesa_prepare_groups(pesa);
	pesa->pmu.module = THIS_MODULE;
	pesa->pmu.parent = pesa->dev;
	pesa->pmu.attr_groups = pesa->groups;
	pesa_set_callbacks(pesa);
	error = perf_pmu_register(&pesa->pmu, PESA_NAME, -1);
	if (error)
		return dev_err_probe(pesa->dev, error, "perf refused the PMU\n");
	return devm_add_action_or_reset(pesa->dev, pesa_remove_pmu, pesa);
}

static int pesa_probe(struct platform_device *device)
{
	struct pesa_pmu *pesa;
	int error;

	pesa = devm_kzalloc(&device->dev, sizeof(*pesa), GFP_KERNEL);
	if (!pesa)
		return -ENOMEM;
	pesa->dev = &device->dev;
	platform_set_drvdata(device, pesa);
	pesa->tick = max_t(u32, NSEC_PER_SEC / riscv_timebase, 1);
	error = pesa_describe(pesa);
	if (!error)
		error = pesa_prepare_harts(pesa);
	if (!error)
		error = pesa_probe_harts(pesa);
	if (!error)
		error = pesa_branches_prepare(pesa);
	if (!error)
		error = pesa_call_stacks_prepare(pesa);
	if (!error)
		error = pesa_request_irq(pesa);
	if (!error)
		error = pesa_register(pesa);
	if (error)
		return error;
	dev_info(pesa->dev, "period counter of %u bits on %u harts\n", pesa->counter_bits,
		 cpumask_weight(&pesa->supported));
	return 0;
}

/* A kernel started by kexec must not find the counter running. */
static void pesa_shutdown(struct platform_device *device)
{
	struct pesa_pmu *pesa = platform_get_drvdata(device);

	WRITE_ONCE(pesa->shut_down, true);
	pesa_stop_harts(pesa);
}

/* In the noirq phase, so that samples cover as much of the suspend as possible. */
static int pesa_suspend(struct device *dev)
{
	pesa_suspend_harts(dev_get_drvdata(dev));
	return 0;
}

static int pesa_resume(struct device *dev)
{
	pesa_resume_harts(dev_get_drvdata(dev));
	return 0;
}

/*
 * System suspend takes the secondary harts offline without a uevent, and perf drops their events.
 * Send a uevent for each hart that came back, so that recording tools can open the events again.
 */
static void pesa_complete(struct device *dev)
{
	struct pesa_pmu *pesa = dev_get_drvdata(dev);
	unsigned int cpu;

	for_each_cpu(cpu, &pesa->came_online) {
		char variable[24], *variables[2] = { variable };

		snprintf(variable, sizeof(variable), "PESA_CPU=%u", cpu);
		kobject_uevent_env(&dev->kobj, KOBJ_CHANGE, variables);
	}
	cpumask_clear(&pesa->came_online);
}

static const struct dev_pm_ops pesa_power_operations = {
	NOIRQ_SYSTEM_SLEEP_PM_OPS(pesa_suspend, pesa_resume)
	.complete = pm_sleep_ptr(pesa_complete),
};

static const struct of_device_id pesa_of_match[] = {
	{ .compatible = "riscv,shpmsdetails" },
	{ }
};

static struct platform_driver pesa_driver = {
	.driver = {
		.name = PESA_NAME,
		.of_match_table = pesa_of_match,
		.suppress_bind_attrs = true,
		.pm = pm_sleep_ptr(&pesa_power_operations),
	},
	.probe = pesa_probe,
	.shutdown = pesa_shutdown,
};

builtin_platform_driver(pesa_driver);
