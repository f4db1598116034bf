// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sampling profiler driver for the RISC-V shpmsdetails extension (Sspesa).
 *
 * Every hart has one period counter.  When it overflows the hart notes, for that one cycle, which
 * instructions retired, where control went, the state of the retire stage and why; the driver reads
 * these registers in the interrupt and hands them to perf as a raw record (see pesa/record.h), with
 * the sampled PC in the place of the interrupted one.
 *
 * The counter of a hart runs freely while any event exists: an event that is scheduled in finds it
 * running and only opens the interrupt, so that time slices shorter than a period get their share
 * of the samples.
 *
 * Sections: registers, capabilities, formats, statistics, periods, records, the interrupt, perf
 * callbacks, harts that come and go, probing.
 */

#define pr_fmt(fmt) "pesa: " fmt

#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/cpu.h>
#include <linux/cpu_pm.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_irq.h>
#include <linux/perf_event.h>
#include <linux/platform_device.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/sched/task_stack.h>
#include <linux/smp.h>
#include <linux/sysfs.h>

#include <asm/asm-extable.h>
#include <asm/csr.h>
#include <asm/irq_regs.h>
#include <asm/ptrace.h>

#include "pesa/csr.h"
#include "pesa/record.h"

#define PESA_NAME		"pesa"
#define PESA_DEFAULT_INTERRUPT	13 /* LCOFI */
#define PESA_RETIRE_WIDTH_MAX	15

/* attr.config */
#define PESA_CONFIG_EVENT	GENMASK_ULL(7, 0)
#define PESA_CONFIG_FIXED	BIT_ULL(8)
#define PESA_CONFIG_KNOWN	(PESA_CONFIG_EVENT | PESA_CONFIG_FIXED)
#define PESA_EVENT_CYCLES	0x01

/* Intervals are uniform in the period plus and minus the period shifted by this. */
#define PESA_JITTER_SHIFT	3

/* What became of samples, on one hart. */
enum pesa_statistic {
	PESA_TAKEN,	 /* read from the registers */
	PESA_RECORDED,	 /* handed to perf */
	PESA_EXCLUDED,	 /* of a privilege mode that the event excludes */
	PESA_UNCLAIMED,	 /* taken while no event was scheduled on the hart */
	PESA_DISCARDED,	 /* overflows that found the registers occupied */
	PESA_THROTTLED,	 /* times that perf stopped an event for its rate */
	PESA_STATISTICS
};

struct pesa_pmu;

typedef int (*pesa_overflow_function)(struct perf_event *event, struct perf_sample_data *data,
				      struct pt_regs *regs);

/* The registers of one sample, before anything is known about them. */
struct pesa_registers {
	unsigned long pc, data, details, bt1, bt2;
};

struct pesa_hart {
	struct pesa_pmu *pmu;
	struct perf_event *event; /* scheduled here, NULL: none */
	u32 interval;		  /* cycles, that the counter is counting; 0: it is stopped */
	u32 lost;		  /* overflows discarded since the last record */
	struct rnd_state random;
	struct pesa_record record;
	struct pt_regs regs;
	u64 statistic[PESA_STATISTICS];
};

struct pesa_pmu {
	struct pmu pmu;
	struct device *dev;
	struct pesa_hart __percpu *harts;
	struct hlist_node hotplug;
	struct notifier_block power;
	cpumask_t supported;
	atomic_t events; /* that exist */
	pesa_overflow_function overflow;
	int irq;
	unsigned long irq_mask; /* of sie and sip */
	/* capabilities */
	u32 counter_bits;
	u32 counter_mask;
	u32 retire_width;
	u32 ct_targets;
	u64 frequency;
	bool discarded_count; /* shpmsdata tells how many overflows were discarded */
	const char *cause_names[PESA_CAUSE_COUNT];
	const char *core, *model;
};

static enum cpuhp_state pesa_hotplug_state;

static inline struct pesa_pmu *to_pesa(struct pmu *pmu)
{
	return container_of(pmu, struct pesa_pmu, pmu);
}

/* ---- Registers ------------------------------------------------------------------------------ */

/* Read a register that may not exist; returns false if it trapped. */
#define pesa_try_read(csr, value) ({						\
	unsigned long __ok = 0, __value = 0;					\
	asm volatile("1:	csrr	%0, %2\n"				\
		     "		li	%1, 1\n"				\
		     "2:\n"							\
		     _ASM_EXTABLE(1b, 2b)					\
		     : "+r" (__value), "+r" (__ok) : "i" (csr));		\
	*(value) = __value;							\
	__ok != 0;								\
})

static void pesa_read_sample(struct pesa_registers *registers)
{
	registers->pc = csr_read(PESA_CSR_SHPMSPC);
	registers->data = csr_read(PESA_CSR_SHPMSDATA);
	registers->details = csr_read(PESA_CSR_SHPMSDETAILSDATA);
	registers->bt1 = csr_read(PESA_CSR_SHPMSDETAILSBT1);
	registers->bt2 = csr_read(PESA_CSR_SHPMSDETAILSBT2);
}

static void pesa_interrupt_open(struct pesa_pmu *pesa)
{
	csr_set(CSR_IE, pesa->irq_mask);
}

static void pesa_interrupt_close(struct pesa_pmu *pesa)
{
	csr_clear(CSR_IE, pesa->irq_mask);
}

static bool pesa_is_pending(struct pesa_pmu *pesa)
{
	return csr_read(CSR_IP) & pesa->irq_mask;
}

/* The next overflow may write the registers of the sample. */
static void pesa_rearm(struct pesa_pmu *pesa)
{
	csr_clear(CSR_IP, pesa->irq_mask);
}

/* The counter overflows in `interval` cycles, and then every `interval` cycles. */
static void pesa_counter_start(struct pesa_hart *hart, u32 interval)
{
	struct pesa_pmu *pesa = hart->pmu;

	hart->interval = interval;
	csr_write(PESA_CSR_SHPMSDETAILSCC,
		  (pesa->counter_mask + 1 - interval) & pesa->counter_mask);
}

static void pesa_counter_stop(struct pesa_hart *hart)
{
	pesa_interrupt_close(hart->pmu);
	csr_write(PESA_CSR_SHPMSDETAILSCC, 0);
	pesa_rearm(hart->pmu);
	hart->interval = 0;
}

static void pesa_stop_this_hart(void *info)
{
	struct pesa_pmu *pesa = info;

	pesa_counter_stop(this_cpu_ptr(pesa->harts));
}

static void pesa_stop_harts(struct pesa_pmu *pesa)
{
	on_each_cpu_mask(&pesa->supported, pesa_stop_this_hart, pesa, 1);
}

/* ---- Capabilities in sysfs: caps/ ----------------------------------------------------------- */

enum pesa_capability {
	PESA_CAP_XLEN,
	PESA_CAP_COUNTER_BITS,
	PESA_CAP_MINIMUM_PERIOD,
	PESA_CAP_RETIRE_WIDTH,
	PESA_CAP_CT_TARGETS,
	PESA_CAP_CTR_DEPTH,
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
	case PESA_CAP_COUNTER_BITS:
		return sysfs_emit(buffer, "%u\n", pesa->counter_bits);
	case PESA_CAP_MINIMUM_PERIOD:
		return sysfs_emit(buffer, "%u\n", PESA_CC_MINIMUM_PERIOD);
	case PESA_CAP_RETIRE_WIDTH:
		return sysfs_emit(buffer, "%u\n", pesa->retire_width);
	case PESA_CAP_CT_TARGETS:
		return sysfs_emit(buffer, "%u\n", pesa->ct_targets);
	case PESA_CAP_CTR_DEPTH:
		return sysfs_emit(buffer, "0\n");
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
	PESA_CAP(counter_bits, PESA_CAP_COUNTER_BITS),
	PESA_CAP(minimum_period, PESA_CAP_MINIMUM_PERIOD),
	PESA_CAP(retire_width, PESA_CAP_RETIRE_WIDTH),
	PESA_CAP(ct_targets, PESA_CAP_CT_TARGETS),
	PESA_CAP(ctr_depth, PESA_CAP_CTR_DEPTH),
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

static struct attribute *pesa_cpumask_attributes[] = {
	&dev_attr_cpumask.attr,
	NULL,
};

/* perf takes a PMU with a mask for one that is not of the harts' own, so only where it matters. */
static umode_t pesa_cpumask_visible(struct kobject *kobj, struct attribute *attr, int unused)
{
	struct pesa_pmu *pesa = to_pesa(dev_get_drvdata(kobj_to_dev(kobj)));

	return cpumask_subset(cpu_possible_mask, &pesa->supported) ? 0 : attr->mode;
}

static const struct attribute_group pesa_cpumask_group = {
	.attrs = pesa_cpumask_attributes,
	.is_visible = pesa_cpumask_visible,
};

/* ---- Formats and events in sysfs ------------------------------------------------------------- */

PMU_FORMAT_ATTR(event, "config:0-7");
PMU_FORMAT_ATTR(fixed, "config:8");

static struct attribute *pesa_format_attributes[] = {
	&format_attr_event.attr,
	&format_attr_fixed.attr,
	NULL,
};

static const struct attribute_group pesa_format_group = {
	.name = "format",
	.attrs = pesa_format_attributes,
};

PMU_EVENT_ATTR_STRING(cycles, pesa_event_cycles, "event=0x01");

static struct attribute *pesa_event_attributes[] = {
	&pesa_event_cycles.attr.attr,
	NULL,
};

static const struct attribute_group pesa_event_group = {
	.name = "events",
	.attrs = pesa_event_attributes,
};

/* ---- Statistics in sysfs: statistics/, sums over all harts ----------------------------------- */

static ssize_t pesa_statistic_show(struct device *dev, struct device_attribute *attr, char *buffer)
{
	struct pesa_pmu *pesa = to_pesa(dev_get_drvdata(dev));
	uintptr_t which = (uintptr_t)container_of(attr, struct dev_ext_attribute, attr)->var;
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(pesa->harts, cpu)->statistic[which]);
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
	PESA_STATISTIC(throttled, PESA_THROTTLED),
	NULL,
};

static const struct attribute_group pesa_statistic_group = {
	.name = "statistics",
	.attrs = pesa_statistic_attributes,
};

static const struct attribute_group *pesa_attribute_groups[] = {
	&pesa_format_group,
	&pesa_event_group,
	&pesa_cap_group,
	&pesa_cpumask_group,
	&pesa_statistic_group,
	NULL,
};

static void pesa_count(struct pesa_hart *hart, enum pesa_statistic which, u64 count)
{
	WRITE_ONCE(hart->statistic[which], hart->statistic[which] + count);
}

/* ---- Periods --------------------------------------------------------------------------------- */

static u64 pesa_jitter(const struct perf_event *event, u64 period)
{
	return event->attr.config & PESA_CONFIG_FIXED ? 0 : period >> PESA_JITTER_SHIFT;
}

/* Whether a period, with its jitter, fits between the minimum and the counter. */
static bool pesa_period_fits(const struct pesa_pmu *pesa, const struct perf_event *event,
			     u64 period)
{
	return period >= PESA_CC_MINIMUM_PERIOD && period <= (u64)pesa->counter_mask + 1 &&
	       period + pesa_jitter(event, period) <= (u64)pesa->counter_mask + 1;
}

/* In frequency mode perf asks for whatever it computed: take what is nearest to it. */
static u64 pesa_period_of(const struct pesa_pmu *pesa, const struct perf_event *event)
{
	u64 period = event->hw.sample_period, most = (u64)pesa->counter_mask + 1;

	most -= pesa_jitter(event, most);
	return clamp_t(u64, period, PESA_CC_MINIMUM_PERIOD, most);
}

static u32 pesa_interval(struct pesa_hart *hart, const struct perf_event *event)
{
	u64 period = pesa_period_of(hart->pmu, event);
	u64 jitter = min_t(u64, pesa_jitter(event, period), period - PESA_CC_MINIMUM_PERIOD);

	if (jitter)
		period += mul_u64_u32_shr(2 * jitter + 1, prandom_u32_state(&hart->random), 32) -
			  jitter;
	return period;
}

/* ---- Records --------------------------------------------------------------------------------- */

static bool pesa_is_kernel(unsigned long address)
{
	return address >= TASK_SIZE_MAX;
}

static bool pesa_excluded(const struct perf_event *event, unsigned long pc)
{
	const struct perf_event_attr *attr = &event->attr;

	if (pesa_is_kernel(pc) ? attr->exclude_kernel : attr->exclude_user)
		return true;
	return attr->exclude_idle && is_idle_task(current);
}

/* An event that may not see the kernel learns from a target in it only that there was one. */
static u64 pesa_target(struct pesa_record *record, const struct perf_event *event,
		       unsigned long target, u32 flag)
{
	if (event->attr.exclude_kernel && pesa_is_kernel(target)) {
		record->flags |= PESA_RECORD_SCRUBBED;
		return 0;
	}
	record->flags |= flag;
	return target;
}

static void pesa_fill_record(struct pesa_hart *hart, const struct perf_event *event,
			     const struct pesa_registers *registers)
{
	struct pesa_record *record = &hart->record;
	unsigned int transfers = registers->details >> PESA_DETAILS_CTS_SHIFT &
				 PESA_DETAILS_CTS_MASK;

	transfers = min(transfers, hart->pmu->ct_targets);
	record->version = PESA_RECORD_VERSION;
	record->xlen = BITS_PER_LONG;
	record->size = PESA_RECORD_SIZE;
	record->flags = PESA_RECORD_HAS_DATA | PESA_RECORD_HAS_DETAILS |
			min(hart->lost, PESA_RECORD_LOST_MASK) << PESA_RECORD_LOST_SHIFT;
	record->pc = registers->pc;
	record->data = registers->data;
	record->details = registers->details;
	record->bt[0] = transfers > 0 ? pesa_target(record, event, registers->bt1,
						    PESA_RECORD_HAS_BT1) : 0;
	record->bt[1] = transfers > 1 ? pesa_target(record, event, registers->bt2,
						    PESA_RECORD_HAS_BT2) : 0;
	hart->lost = 0;
}

/*
 * The registers as they would have been at the sampled instruction, as far as they are known: those
 * of the interrupt when the hart has not changed its mode since, otherwise those with which the
 * kernel was entered.  A sample of the kernel that arrives in user mode has none: its call chain
 * ends with itself.
 */
static struct pt_regs *pesa_sample_regs(struct pesa_hart *hart, unsigned long pc,
					struct pt_regs *interrupted)
{
	struct pt_regs *regs = &hart->regs;
	bool kernel = pesa_is_kernel(pc);

	if (interrupted && kernel == !user_mode(interrupted))
		*regs = *interrupted;
	else if (!kernel && current->mm && !(current->flags & PF_KTHREAD))
		*regs = *task_pt_regs(current);
	else
		memset(regs, 0, sizeof(*regs));
	regs->status = kernel ? regs->status | SR_PP : regs->status & ~SR_PP;
	regs->epc = pc;
	return regs;
}

static u64 pesa_discarded(struct pesa_pmu *pesa, const struct pesa_registers *registers)
{
#ifdef CONFIG_64BIT
	if (pesa->discarded_count)
		return registers->data >> 32;
#endif
	return 0;
}

/*
 * Read the pending sample, let the next one come, and tell perf.  Returns true when perf wants the
 * event stopped.
 */
static bool pesa_take_sample(struct pesa_hart *hart, struct perf_event *event,
			     struct pt_regs *interrupted)
{
	struct pesa_pmu *pesa = hart->pmu;
	struct pesa_registers registers;
	struct perf_sample_data data;
	struct perf_raw_record raw = {
		.frag = { .size = sizeof(hart->record), .data = &hart->record },
	};
	u32 interval = hart->interval, next;
	u64 discarded;

	pesa_read_sample(&registers);
	/* A fixed period is left alone: the counter reloads itself. */
	next = event && interval ? pesa_interval(hart, event) : interval;
	if (next != interval)
		pesa_counter_start(hart, next);
	pesa_rearm(pesa);

	pesa_count(hart, PESA_TAKEN, 1);
	discarded = pesa_discarded(pesa, &registers);
	if (discarded) {
		hart->lost += discarded;
		pesa_count(hart, PESA_DISCARDED, discarded);
	}
	if (!event) {
		/* Nor were the overflows meanwhile anybody's: the next record has lost nothing. */
		hart->lost = 0;
		pesa_count(hart, PESA_UNCLAIMED, 1);
		return false;
	}
	event->hw.last_period = interval;
	local64_add(interval, &event->count);
	if (pesa_excluded(event, registers.pc)) {
		pesa_count(hart, PESA_EXCLUDED, 1);
		return false;
	}
	pesa_fill_record(hart, event, &registers);
	perf_sample_data_init(&data, 0, interval);
#ifdef PESA_RAW_TAKES_EVENT
	perf_sample_save_raw_data(&data, event, &raw);
#else
	if (event->attr.sample_type & PERF_SAMPLE_RAW)
		perf_sample_save_raw_data(&data, &raw);
#endif
	pesa_count(hart, PESA_RECORDED, 1);
	return pesa->overflow(event, &data, pesa_sample_regs(hart, registers.pc, interrupted));
}

/* ---- The interrupt --------------------------------------------------------------------------- */

static void pesa_pmu_stop(struct perf_event *event, int flags);

static irqreturn_t pesa_interrupt(int irq, void *context)
{
	struct pesa_hart *hart = context;
	struct perf_event *event = hart->event;

	if (!pesa_is_pending(hart->pmu))
		return IRQ_NONE;
	if (event && event->hw.state & PERF_HES_STOPPED)
		event = NULL;
	if (pesa_take_sample(hart, event, get_irq_regs())) {
		pesa_count(hart, PESA_THROTTLED, 1);
		pesa_pmu_stop(event, 0);
	}
	return IRQ_HANDLED;
}

/* ---- perf callbacks -------------------------------------------------------------------------- */

static void pesa_event_destroy(struct perf_event *event)
{
	struct pesa_pmu *pesa = to_pesa(event->pmu);

	if (atomic_dec_and_test(&pesa->events))
		pesa_stop_harts(pesa);
}

/* A hart has one counter: of a group only one event can be ours. */
static bool pesa_alone_in_group(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader, *sibling;

	if (leader == event)
		return true;
	if (leader->pmu == event->pmu)
		return false;
	for_each_sibling_event(sibling, leader)
		if (sibling != event && sibling->pmu == event->pmu)
			return false;
	return true;
}

static int pesa_pmu_event_init(struct perf_event *event)
{
	struct pesa_pmu *pesa = to_pesa(event->pmu);
	struct perf_event_attr *attr = &event->attr;

	if (attr->type != event->pmu->type)
		return -ENOENT;
	if (event->cpu >= 0 && !cpumask_test_cpu(event->cpu, &pesa->supported))
		return -ENOENT;
	if (!is_sampling_event(event) || has_branch_stack(event))
		return -EOPNOTSUPP;
	if (attr->config & ~PESA_CONFIG_KNOWN || attr->config1 || attr->config2 ||
	    FIELD_GET(PESA_CONFIG_EVENT, attr->config) != PESA_EVENT_CYCLES)
		return -EINVAL;
	if (attr->exclude_host)
		return -EOPNOTSUPP;
	if (!attr->freq && !pesa_period_fits(pesa, event, attr->sample_period))
		return -EINVAL;
	if (!pesa_alone_in_group(event))
		return -EBUSY;
	/* perf starts frequency mode with a period of 1 and corrects it: begin near the mark. */
	if (attr->freq && pesa->frequency) {
		event->hw.sample_period = max_t(u64, div64_u64(pesa->frequency, attr->sample_freq),
						PESA_CC_MINIMUM_PERIOD);
		event->hw.last_period = event->hw.sample_period;
		local64_set(&event->hw.period_left, event->hw.sample_period);
	}
	atomic_inc(&pesa->events);
	event->destroy = pesa_event_destroy;
	return 0;
}

/*
 * The counter goes on as it is when its interval is about that of the event: restarting it would
 * take samples from those who run for less than an interval.
 */
static bool pesa_counter_suits(const struct pesa_hart *hart, u64 period)
{
	return hart->interval && hart->interval <= 2 * period && period <= 2 * (u64)hart->interval;
}

static void pesa_pmu_start(struct perf_event *event, int flags)
{
	struct pesa_pmu *pesa = to_pesa(event->pmu);
	struct pesa_hart *hart = this_cpu_ptr(pesa->harts);

	event->hw.state = 0;
	/* A sample that was taken while nobody listened is nobody's. */
	if (pesa_is_pending(pesa))
		pesa_take_sample(hart, NULL, NULL);
	if (!pesa_counter_suits(hart, pesa_period_of(pesa, event)))
		pesa_counter_start(hart, pesa_interval(hart, event));
	pesa_interrupt_open(pesa);
}

static void pesa_pmu_stop(struct perf_event *event, int flags)
{
	struct pesa_pmu *pesa = to_pesa(event->pmu);

	if (event->hw.state & PERF_HES_STOPPED)
		return;
	pesa_interrupt_close(pesa);
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
	/* The last sample of a time slice arrives while interrupts are off. */
	if (flags & PERF_EF_UPDATE && pesa_is_pending(pesa))
		pesa_take_sample(this_cpu_ptr(pesa->harts), event, NULL);
}

static int pesa_pmu_add(struct perf_event *event, int flags)
{
	struct pesa_pmu *pesa = to_pesa(event->pmu);
	struct pesa_hart *hart = this_cpu_ptr(pesa->harts);

	if (!cpumask_test_cpu(smp_processor_id(), &pesa->supported))
		return -ENOENT;
	if (hart->event)
		return -EBUSY;
	hart->event = event;
	hart->lost = 0;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		pesa_pmu_start(event, PERF_EF_RELOAD);
	perf_event_update_userpage(event);
	return 0;
}

static void pesa_pmu_del(struct perf_event *event, int flags)
{
	struct pesa_hart *hart = this_cpu_ptr(to_pesa(event->pmu)->harts);

	pesa_pmu_stop(event, PERF_EF_UPDATE);
	hart->event = NULL;
	perf_event_update_userpage(event);
}

/* The count is that of the intervals that ended: the counter itself cannot be read. */
static void pesa_pmu_read(struct perf_event *event)
{
}

static int pesa_pmu_check_period(struct perf_event *event, u64 period)
{
	return pesa_period_fits(to_pesa(event->pmu), event, period) ? 0 : -EINVAL;
}

/* ---- Harts that come and go ------------------------------------------------------------------ */

static int pesa_hart_online(unsigned int cpu, struct hlist_node *node)
{
	struct pesa_pmu *pesa = hlist_entry_safe(node, struct pesa_pmu, hotplug);
	struct pesa_hart *hart = per_cpu_ptr(pesa->harts, cpu);

	if (!cpumask_test_cpu(cpu, &pesa->supported))
		return 0;
	enable_percpu_irq(pesa->irq, IRQ_TYPE_NONE);
	/* With no event yet the counter rests and its interrupt is closed. */
	pesa_counter_stop(hart);
	return 0;
}

static int pesa_hart_offline(unsigned int cpu, struct hlist_node *node)
{
	struct pesa_pmu *pesa = hlist_entry_safe(node, struct pesa_pmu, hotplug);

	if (!cpumask_test_cpu(cpu, &pesa->supported))
		return 0;
	pesa_counter_stop(per_cpu_ptr(pesa->harts, cpu));
	disable_percpu_irq(pesa->irq);
	return 0;
}

/* A hart that slept has forgotten its registers. */
static int pesa_power(struct notifier_block *block, unsigned long action, void *unused)
{
	struct pesa_pmu *pesa = container_of(block, struct pesa_pmu, power);
	struct pesa_hart *hart = this_cpu_ptr(pesa->harts);
	struct perf_event *event = hart->event;

	if (!cpumask_test_cpu(smp_processor_id(), &pesa->supported))
		return NOTIFY_OK;
	switch (action) {
	case CPU_PM_ENTER:
		if (event && !(event->hw.state & PERF_HES_STOPPED) && pesa_is_pending(pesa))
			pesa_take_sample(hart, event, NULL);
		pesa_counter_stop(hart);
		break;
	case CPU_PM_ENTER_FAILED:
	case CPU_PM_EXIT:
		pesa_counter_stop(hart);
		if (event && !(event->hw.state & PERF_HES_STOPPED))
			pesa_pmu_start(event, PERF_EF_RELOAD);
		break;
	default:
		return NOTIFY_DONE;
	}
	return NOTIFY_OK;
}

/* ---- Probing --------------------------------------------------------------------------------- */

/* Without a device-tree node these describe the device, and `interrupt` makes it. */
static int interrupt = -1;
module_param(interrupt, int, 0444);
MODULE_PARM_DESC(interrupt, "local interrupt of the period counter, where no device-tree node says it");
static unsigned int retire_width;
module_param(retire_width, uint, 0444);
MODULE_PARM_DESC(retire_width, "instructions that can retire in a cycle (0: unknown)");
static unsigned int ct_targets = 2;
module_param(ct_targets, uint, 0444);
MODULE_PARM_DESC(ct_targets, "branch targets in a sample: 0, 1 or 2");
static char *cause_names[PESA_CAUSE_COUNT] = {
	"icache-miss", "itlb-miss", "branch-mispredict", "dcache-miss", "dtlb-miss",
};
module_param_array(cause_names, charp, NULL, 0444);
MODULE_PARM_DESC(cause_names, "names of the CAUSE bits from 0 on, empty where not tracked");
static unsigned long frequency;
module_param(frequency, ulong, 0444);
MODULE_PARM_DESC(frequency, "nominal cycles a second (0: unknown)");

struct pesa_probe {
	u32 counter_mask;
	atomic_t missing; /* harts whose registers trap */
	cpumask_t supported;
};

/*
 * Which harts have the registers, and which bits the counter has: write patterns that no minimum
 * refuses and see what stays.
 */
static void pesa_probe_hart(void *info)
{
	struct pesa_probe *probe = info;
	unsigned long value, bits = 0;

	if (!pesa_try_read(PESA_CSR_SHPMSDETAILSCC, &value) ||
	    !pesa_try_read(PESA_CSR_SHPMSPC, &value) ||
	    !pesa_try_read(PESA_CSR_SHPMSDATA, &value) ||
	    !pesa_try_read(PESA_CSR_SHPMSDETAILSDATA, &value)) {
		atomic_inc(&probe->missing);
		return;
	}
	csr_write(PESA_CSR_SHPMSDETAILSCC, 0x2aaaaaaa);
	bits |= csr_read(PESA_CSR_SHPMSDETAILSCC);
	csr_write(PESA_CSR_SHPMSDETAILSCC, 0x55555555 & PESA_CC_SAMPLEINITVALUE_MASK);
	bits |= csr_read(PESA_CSR_SHPMSDETAILSCC);
	csr_write(PESA_CSR_SHPMSDETAILSCC, 0);
	WRITE_ONCE(probe->counter_mask, bits & PESA_CC_SAMPLEINITVALUE_MASK);
	cpumask_set_cpu(smp_processor_id(), &probe->supported);
}

static int pesa_probe_harts(struct pesa_pmu *pesa)
{
	struct pesa_probe probe = {};

	on_each_cpu(pesa_probe_hart, &probe, 1);
	if (cpumask_empty(&probe.supported))
		return dev_err_probe(pesa->dev, -ENODEV,
				     "no hart lets the kernel read shpmspc: the firmware must delegate the counters (menvcfg.CDE)\n");
	if (!probe.counter_mask || (probe.counter_mask & (probe.counter_mask + 1)))
		return dev_err_probe(pesa->dev, -ENODEV,
				     "the period counter holds the bits %#x, which are no counter\n",
				     probe.counter_mask);
	/* Harts that are offline now are taken to be like those that are online. */
	if (!atomic_read(&probe.missing))
		cpumask_copy(&pesa->supported, cpu_possible_mask);
	else
		cpumask_copy(&pesa->supported, &probe.supported);
	pesa->counter_mask = probe.counter_mask;
	pesa->counter_bits = hweight32(probe.counter_mask);
	return 0;
}

/* The local interrupt's number: that of the node, the same for all harts, or the parameter. */
static int pesa_local_interrupt(struct pesa_pmu *pesa)
{
	struct device_node *node = pesa->dev->of_node;
	struct of_phandle_args args;
	int number = -1;

	if (!node)
		return interrupt;
	for (int i = 0; !of_irq_parse_one(node, i, &args); i++) {
		of_node_put(args.np);
		if (args.args_count != 1 || (number >= 0 && args.args[0] != number))
			return dev_err_probe(pesa->dev, -EINVAL,
					     "%pOF: interrupts-extended must name the same local interrupt for every hart\n",
					     node);
		number = args.args[0];
	}
	return number >= 0 ? number : PESA_DEFAULT_INTERRUPT;
}

static int pesa_describe(struct pesa_pmu *pesa)
{
	struct device_node *node = pesa->dev->of_node;
	int count;

	pesa->core = "";
	pesa->model = "";
	pesa->retire_width = retire_width;
	pesa->ct_targets = ct_targets;
	pesa->frequency = frequency;
	for (int i = 0; i < PESA_CAUSE_COUNT; i++)
		pesa->cause_names[i] = cause_names[i];
	if (node) {
		pesa->ct_targets = 2;
		of_property_read_u32(node, "retire-width", &pesa->retire_width);
		of_property_read_u32(node, "ct-targets", &pesa->ct_targets);
		of_property_read_u64(node, "clock-frequency", &pesa->frequency);
		of_property_read_string(node, "core", &pesa->core);
		of_property_read_string(node, "model", &pesa->model);
		pesa->discarded_count = of_property_read_bool(node, "discarded-count");
		count = of_property_count_strings(node, "cause-names");
		if (count > PESA_CAUSE_COUNT)
			return dev_err_probe(pesa->dev, -EINVAL,
					     "%pOF: cause-names has %d strings, there are %d bits\n",
					     node, count, PESA_CAUSE_COUNT);
		for (int i = 0; count >= 0 && i < PESA_CAUSE_COUNT; i++)
			if (of_property_read_string_index(node, "cause-names", i,
							  &pesa->cause_names[i]))
				pesa->cause_names[i] = NULL;
	}
	if (pesa->ct_targets > 2)
		return dev_err_probe(pesa->dev, -EINVAL, "ct-targets is %u: at most 2\n",
				     pesa->ct_targets);
	if (pesa->retire_width > PESA_RETIRE_WIDTH_MAX)
		return dev_err_probe(pesa->dev, -EINVAL, "retire-width is %u: at most %u\n",
				     pesa->retire_width, PESA_RETIRE_WIDTH_MAX);
	return 0;
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
	if (number >= BITS_PER_LONG)
		return dev_err_probe(pesa->dev, -EINVAL, "local interrupt %d: a hart has %d\n",
				     number, BITS_PER_LONG);
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

/*
 * perf_event_overflow() is not exported to modules: a kprobe that is never armed tells where it is.
 */
static pesa_overflow_function pesa_find_overflow(void)
{
	struct kprobe probe = {
		.symbol_name = "perf_event_overflow",
		.flags = KPROBE_FLAG_DISABLED,
	};
	void *address = NULL;

	if (!register_kprobe(&probe)) {
		address = probe.addr;
		unregister_kprobe(&probe);
	}
	return address;
}

static void pesa_remove_hotplug(void *context)
{
	struct pesa_pmu *pesa = context;

	cpuhp_state_remove_instance(pesa_hotplug_state, &pesa->hotplug);
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
		prandom_seed_state(&hart->random, get_random_u64());
	}
	return 0;
}

static int pesa_register(struct pesa_pmu *pesa)
{
	int error;

	error = cpuhp_state_add_instance(pesa_hotplug_state, &pesa->hotplug);
	if (!error)
		error = devm_add_action_or_reset(pesa->dev, pesa_remove_hotplug, pesa);
	if (error)
		return error;
	pesa->power.notifier_call = pesa_power;
	error = cpu_pm_register_notifier(&pesa->power);
	if (!error)
		error = devm_add_action_or_reset(pesa->dev, pesa_remove_power, pesa);
	if (error)
		return error;
	pesa->pmu = (struct pmu) {
		.module = THIS_MODULE,
		.parent = pesa->dev,
		.attr_groups = pesa_attribute_groups,
		.task_ctx_nr = perf_hw_context,
		.event_init = pesa_pmu_event_init,
		.add = pesa_pmu_add,
		.del = pesa_pmu_del,
		.start = pesa_pmu_start,
		.stop = pesa_pmu_stop,
		.read = pesa_pmu_read,
		.check_period = pesa_pmu_check_period,
	};
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
	pesa->overflow = pesa_find_overflow();
	if (!pesa->overflow)
		return dev_err_probe(pesa->dev, -EOPNOTSUPP,
				     "perf_event_overflow() not found: the kernel needs CONFIG_KPROBES\n");
	error = pesa_describe(pesa);
	if (!error)
		error = pesa_probe_harts(pesa);
	if (!error)
		error = pesa_prepare_harts(pesa);
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

/* The next kernel must not find the counter running. */
static void pesa_shutdown(struct platform_device *device)
{
	struct pesa_pmu *pesa = platform_get_drvdata(device);

	pesa_stop_harts(pesa);
}

static const struct of_device_id pesa_of_match[] = {
	{ .compatible = "riscv,shpmsdetails" },
	{ }
};
MODULE_DEVICE_TABLE(of, pesa_of_match);

static struct platform_driver pesa_driver = {
	.driver = {
		.name = PESA_NAME,
		.of_match_table = pesa_of_match,
		.suppress_bind_attrs = true,
	},
	.probe = pesa_probe,
	.shutdown = pesa_shutdown,
};

static struct platform_device *pesa_device; /* made for the parameter `interrupt` */

static int __init pesa_init(void)
{
	int error;

	error = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "perf/riscv/pesa:online",
					pesa_hart_online, pesa_hart_offline);
	if (error < 0)
		return error;
	pesa_hotplug_state = error;
	error = platform_driver_register(&pesa_driver);
	if (error)
		goto remove_state;
	if (interrupt >= 0) {
		pesa_device = platform_device_register_simple(PESA_NAME, PLATFORM_DEVID_NONE,
							      NULL, 0);
		if (IS_ERR(pesa_device)) {
			error = PTR_ERR(pesa_device);
			goto unregister_driver;
		}
	}
	return 0;

unregister_driver:
	platform_driver_unregister(&pesa_driver);
remove_state:
	cpuhp_remove_multi_state(pesa_hotplug_state);
	return error;
}

static void __exit pesa_exit(void)
{
	platform_device_unregister(pesa_device);
	platform_driver_unregister(&pesa_driver);
	cpuhp_remove_multi_state(pesa_hotplug_state);
}

module_init(pesa_init);
module_exit(pesa_exit);

MODULE_DESCRIPTION("Sampling profiler: RISC-V Sspesa with shpmsdetails");
MODULE_LICENSE("GPL");
