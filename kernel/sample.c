// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sampling: the period counter, the overflow interrupt, records and perf's callbacks.
 *
 * The counter of a hart keeps running between time slices while any event exists.  Scheduling an
 * event in only enables the interrupt.  Restarting the counter instead would take no samples in
 * time slices shorter than a period.
 *
 * Sections: the counter, periods, records, the interrupt, perf's callbacks.
 */
#include <linux/bitfield.h>
#include <linux/irq.h>
#include <linux/sched/task_stack.h>
#include <linux/smp.h>
#include <linux/timex.h>

#include "driver.h"

/* An interval is uniform in period +- (period >> PESA_JITTER_SHIFT). */
#define PESA_JITTER_SHIFT 3

/* ---- The counter ----------------------------------------------------------------------------- */

/* Make the counter overflow every `interval` cycles or events, from now on. */
static void pesa_counter_set(struct pesa_hart *hart, unsigned long interval, u32 autorun)
{
	hart->interval = interval;
	csr_write(PESA_CSR_SHPMSDETAILSCC, (-interval & hart->counter_mask) | autorun);
}

/* The same in either mode. */
static void pesa_counter_start(struct pesa_hart *hart, unsigned long interval, bool autorun)
{
	/* The next sample counts overflows discarded in the old mode: charge them to no event. */
	if (hart->autorun_mode != autorun)
		WRITE_ONCE(hart->owner, NULL);
	hart->autorun_mode = autorun;
	pesa_counter_set(hart, interval, autorun ? PESA_CC_AUTORUN : 0);
}

/* Select the event to count.  This stops the counter. */
static void pesa_counter_select(struct pesa_hart *hart, u32 selector)
{
	csr_write(PESA_CSR_SHPMSEVENT, selector);
	hart->selected = selector;
	/* shpmsdetailsdata describes the sampled cycle: it has no meaning for other events. */
	hart->record_flags = PESA_RECORD_HAS_DATA |
			     (selector == PESA_SELECT_CYCLES ? PESA_RECORD_HAS_DETAILS : 0);
	hart->interval = 0;
}

void pesa_counter_stop(struct pesa_hart *hart)
{
	pesa_interrupt_close(hart->pmu);
	csr_write(PESA_CSR_SHPMSDETAILSCC, 0);
	if (hart->pmu->autorun)
		pesa_autorun_disarm();
	if (hart->pmu->event_type_count)
		pesa_counter_select(hart, PESA_SELECT_CYCLES);
	pesa_rearm(hart->pmu);
	hart->interval = 0;
	WRITE_ONCE(hart->owner, NULL);
}

/* ---- Periods --------------------------------------------------------------------------------- */

static u64 pesa_jitter(const struct perf_event *event, u64 period)
{
	return event->attr.config & (PESA_CONFIG_FIXED | PESA_CONFIG_AUTORUN) ?
		       0 : period >> PESA_JITTER_SHIFT;
}

/* Return whether the period with its jitter is within the minimum and the counter's range. */
static bool pesa_period_fits(const struct pesa_pmu *pesa, const struct perf_event *event,
			     u64 period)
{
	/* mask + 1 would be written as 0, which stops the counter. */
	return period >= PESA_CC_MINIMUM_PERIOD && period <= pesa->counter_mask &&
	       period + pesa_jitter(event, period) <= pesa->counter_mask;
}

/* In frequency mode perf computes the period: clamp it to what the counter supports. */
static u64 pesa_period_of(const struct pesa_pmu *pesa, const struct perf_event *event)
{
	u64 period = event->hw.sample_period, most = pesa->counter_mask;

	most -= pesa_jitter(event, most);
	return clamp_t(u64, period, PESA_CC_MINIMUM_PERIOD, most);
}

/* Marsaglia's xorshift32: good enough for jitter, and only a few instructions. */
static u32 pesa_random(struct pesa_hart *hart)
{
	u32 random = hart->random;

	random ^= random << 13;
	random ^= random >> 17;
	random ^= random << 5;
	hart->random = random;
	return random;
}

/* Set the range that the event's intervals are drawn from. */
static void pesa_choose_intervals(struct pesa_hart *hart, const struct perf_event *event)
{
	u64 period = pesa_period_of(hart->pmu, event);
	u64 jitter = min_t(u64, pesa_jitter(event, period), period - PESA_CC_MINIMUM_PERIOD);

	hart->sample_period = event->hw.sample_period;
	hart->least = period - jitter;
	hart->span = 2 * jitter + 1;
}

static unsigned long pesa_interval(struct pesa_hart *hart, const struct perf_event *event)
{
	/* Frequency mode changes the period. */
	if (unlikely(hart->sample_period != event->hw.sample_period))
		pesa_choose_intervals(hart, event);
	return hart->least + ((u64)pesa_random(hart) * hart->span >> 32);
}

/* ---- Records --------------------------------------------------------------------------------- */

/* Into the record, as it is: variables would have to outlive calls. */
static void pesa_read_sample(struct pesa_record *record)
{
	record->pc = csr_read(PESA_CSR_SHPMSPC);
	record->data = csr_read(PESA_CSR_SHPMSDATA);
	record->details = csr_read(PESA_CSR_SHPMSDETAILSDATA);
	record->bt[0] = 0;
	record->bt[1] = 0;
	if (record->details & PESA_DETAILS_CTS_MASK << PESA_DETAILS_CTS_SHIFT) {
		record->bt[0] = csr_read(PESA_CSR_SHPMSDETAILSBT1);
		record->bt[1] = csr_read(PESA_CSR_SHPMSDETAILSBT2);
	}
}

static __always_inline bool pesa_excluded(const struct perf_event *event, unsigned long pc)
{
	const struct perf_event_attr *attr = &event->attr;

	if (pesa_is_kernel(pc) ? attr->exclude_kernel : attr->exclude_user)
		return true;
	/* A guest's sample interrupts after the guest exit, while PF_VCPU is still set. */
	if (likely(!(current->flags & (PF_VCPU | PF_IDLE))))
		return false;
	return (attr->exclude_guest && current->flags & PF_VCPU) ||
	       (attr->exclude_idle && is_idle_task(current));
}

/* For an event that excludes the kernel, replace a kernel target by 0 and set the flag. */
static void pesa_fill_target(struct pesa_record *record, const struct perf_event *event,
			     unsigned int index, bool valid, u32 flag)
{
	if (valid && (!event->attr.exclude_kernel || !pesa_is_kernel(record->bt[index]))) {
		record->flags |= flag;
		return;
	}
	record->bt[index] = 0;
	if (valid)
		record->flags |= PESA_RECORD_SCRUBBED;
}

static __always_inline void pesa_fill_record(struct pesa_hart *hart, const struct perf_event *event)
{
	struct pesa_record *record = &hart->record;
	unsigned int transfers = record->details >> PESA_DETAILS_CTS_SHIFT & PESA_DETAILS_CTS_MASK;

	record->flags = hart->record_flags;
	if (unlikely(hart->lost)) {
		u32 lost = min_t(u64, hart->lost, PESA_RECORD_LOST_MASK);

		record->flags |= lost << PESA_RECORD_LOST_SHIFT;
		/* The next record reports what exceeds the field. */
		hart->lost -= lost;
	}
	if (transfers) {
		transfers = min(transfers, hart->pmu->ct_targets);
		pesa_fill_target(record, event, 0, transfers > 0, PESA_RECORD_HAS_BT1);
		pesa_fill_target(record, event, 1, transfers > 1, PESA_RECORD_HAS_BT2);
	}
}

/*
 * perf had no room for the record, and counted it in lost_samples: the next record reports what
 * this one would have.
 */
static noinline void pesa_take_back_lost(struct pesa_hart *hart)
{
	if (hart->data.sample_flags & PERF_SAMPLE_RAW)
		hart->lost += hart->record.flags >> PESA_RECORD_LOST_SHIFT & PESA_RECORD_LOST_MASK;
}

/*
 * Deliver a sample whose privilege mode the hart has left since.  A user sample gets the registers
 * saved on kernel entry.  For a kernel sample there are none: its call chain has only the PC.
 */
static noinline int pesa_deliver_other_mode(struct pesa_hart *hart, struct perf_event *event,
					    unsigned long pc)
{
	struct pt_regs *regs = &hart->regs;
	bool kernel = pesa_is_kernel(pc);

	if (!kernel && current->mm && !(current->flags & PF_KTHREAD))
		*regs = *task_pt_regs(current);
	else
		memset(regs, 0, sizeof(*regs));
	regs->status = (kernel ? regs->status | SR_PP : regs->status & ~SR_PP) | SR_PERF_EXACT;
	regs->epc = pc;
	return perf_event_overflow(event, &hart->data, regs);
}

/*
 * Deliver a sample with the interrupted registers, with the sampled PC in place of epc, and the
 * mark that it is exact.
 */
static __always_inline int pesa_deliver(struct pesa_hart *hart, struct perf_event *event,
					unsigned long pc, bool in_interrupt)
{
	struct pt_regs *regs = *hart->interrupted;
	unsigned long epc, status;
	int stop;

	if (!in_interrupt || pesa_is_kernel(pc) == user_mode(regs))
		return pesa_deliver_other_mode(hart, event, pc);
	epc = regs->epc;
	status = regs->status;
	regs->epc = pc;
	regs->status = status | SR_PERF_EXACT;
	stop = perf_event_overflow(event, &hart->data, regs);
	regs->epc = epc;
	regs->status = status;
	return stop;
}

/* Raw data is a multiple of 8 bytes with its size: pad it here, so that perf need not. */
static_assert(offsetof(struct pesa_hart, record_padding) ==
	      offsetofend(struct pesa_hart, record));
#define PESA_RAW_SIZE (sizeof_field(struct pesa_hart, record) + \
		       sizeof_field(struct pesa_hart, record_padding))
static_assert((PESA_RAW_SIZE + sizeof(u32)) % sizeof(u64) == 0);

/* Like perf_sample_save_raw_data(), for the one fragment that there is, whose size is known. */
static void pesa_save_raw(struct pesa_hart *hart)
{
	hart->data.dyn_size += PESA_RAW_SIZE + sizeof(u32);
	hart->data.sample_flags |= PERF_SAMPLE_RAW;
}

void pesa_prepare_record(struct pesa_hart *hart)
{
	hart->raw.size = PESA_RAW_SIZE;
	hart->raw.frag.size = PESA_RAW_SIZE;
	hart->raw.frag.data = &hart->record;
	hart->data.raw = &hart->raw;
	hart->record_flags = PESA_RECORD_HAS_DATA | PESA_RECORD_HAS_DETAILS;
	hart->record.version = PESA_RECORD_VERSION;
	hart->record.xlen = BITS_PER_LONG;
	hart->record.size = PESA_RECORD_SIZE;
}

/* Not inlined: it is large, and most samples have no branches. */
static noinline void pesa_save_branches(struct pesa_hart *hart, struct perf_event *event)
{
	perf_sample_save_brstack(&hart->data, event, hart->branches, NULL);
}

static u64 pesa_discarded(struct pesa_pmu *pesa, const struct pesa_record *record)
{
	return pesa->discarded_count ? record->data >> PESA_DATA_DISCARDED_SHIFT : 0;
}

/* perf counts lost samples of inherited events in their parent. */
static struct perf_event *pesa_owner(struct perf_event *event)
{
	return unlikely(event->parent) ? event->parent : event;
}

/* Count losses that no record will report in perf's lost_samples. */
static void pesa_count_lost(struct pesa_hart *hart, struct perf_event *owner, u64 lost)
{
	atomic64_add(lost, &owner->lost_samples);
	pesa_count(hart, PESA_UNREPORTED, lost);
}

/*
 * These overflows were discarded while the previous sample was pending: charge them to the event
 * of that sample, which may differ from the current one.
 */
static void pesa_account_discarded(struct pesa_hart *hart, struct perf_event *event, u64 discarded)
{
	struct perf_event *owner = READ_ONCE(hart->owner);

	if (!owner) {
		pesa_count(hart, PESA_DISCARDED_IDLE, discarded);
		return;
	}
	pesa_count(hart, PESA_DISCARDED, discarded);
	if (event && pesa_owner(event) == owner)
		hart->lost += discarded;
	else
		pesa_count_lost(hart, owner, discarded);
}

/* Drop the pending sample, which no event may have. */
static noinline void pesa_drop_sample(struct pesa_hart *hart)
{
	u64 discarded;

	hart->record.data = csr_read(PESA_CSR_SHPMSDATA);
	pesa_rearm(hart->pmu);
	discarded = pesa_discarded(hart->pmu, &hart->record);
	if (discarded)
		pesa_account_discarded(hart, NULL, discarded);
	WRITE_ONCE(hart->owner, NULL);
	pesa_count(hart, PESA_UNCLAIMED, 1);
}

/*
 * Read the pending sample, rearm, and deliver the sample to perf.  Returns nonzero if perf
 * throttles the event.
 */
static __always_inline int pesa_take_sample(struct pesa_pmu *pesa, struct pesa_hart *hart,
					    struct perf_event *event, bool in_interrupt)
{
	struct pesa_record *record = &hart->record;
	unsigned long interval = hart->interval, next;
	struct perf_event *owner = pesa_owner(event);
	s64 unwritten;
	u64 discarded;
	int stop;

	pesa_read_sample(record);
	if (likely(interval)) {
		next = pesa_interval(hart, event);
		/* With a fixed period there is nothing to write: the counter reloads itself. */
		if (next != interval)
			pesa_counter_set(hart, next, 0);
	}
	if (hart->has_branches)
		pesa_branches_read(hart, event);
	/* The sample predates the event switch. */
	if (unlikely((record->data >> PESA_DATA_EVENT_SHIFT & PESA_DATA_EVENT_MASK) !=
		     hart->selected) && pesa->event_type_count) {
		pesa_drop_sample(hart);
		return 0;
	}
	pesa_rearm(pesa);

	discarded = pesa_discarded(pesa, record);
	if (discarded)
		pesa_account_discarded(hart, event, discarded);
	WRITE_ONCE(hart->owner, owner);
	event->hw.last_period = interval;
	local64_add(interval, &event->count);
	/* An excluded sample counts for throttling: its interrupt costs the same time. */
	if (unlikely(pesa_excluded(event, record->pc))) {
		pesa_count(hart, PESA_EXCLUDED, 1);
		return perf_event_account_interrupt(event);
	}
	/* The same in both branches: the compiler writes each field once. */
	if (likely(event->attr.sample_type & PERF_SAMPLE_RAW)) {
		pesa_fill_record(hart, event);
		perf_sample_data_init(&hart->data, 0, interval);
		pesa_save_raw(hart);
	} else {
		perf_sample_data_init(&hart->data, 0, interval);
	}
	if (hart->has_branches)
		pesa_save_branches(hart, event);
	pesa_count(hart, PESA_RECORDED, 1);
	unwritten = atomic64_read(&owner->lost_samples);
	stop = pesa_deliver(hart, event, record->pc, in_interrupt);
	if (unlikely(atomic64_read(&owner->lost_samples) != unwritten))
		pesa_take_back_lost(hart);
	return stop;
}

/* Take the pending sample outside of the interrupt. */
static noinline void pesa_take_pending(struct pesa_hart *hart, struct perf_event *event)
{
	pesa_take_sample(hart->pmu, hart, event, false);
}

/* ---- The interrupt --------------------------------------------------------------------------- */

static void pesa_pmu_stop(struct perf_event *event, int flags);

/*
 * The hart has reached the threshold in the AUX buffer: hand the records to perf and continue.
 * Returns nonzero if perf throttles the event.
 */
static int pesa_autorun_next(struct pesa_hart *hart, struct perf_event *event)
{
	pesa_autorun_end(hart, event);
	if (!pesa_autorun_begin(hart, event)) {
		pesa_interrupt_close(hart->pmu);
		event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
	}
	return perf_event_account_interrupt(event);
}

/*
 * If a sample becomes pending while the interrupt for the previous one is handled, the hart takes
 * the next interrupt before it executes another instruction of the interrupted code.  With a short
 * period this can go on forever: even the code that would stop the event does not run.  perf limits
 * the share of time that the interrupts take (perf_cpu_time_max_percent) and throttles an event
 * above it until the next tick.  So report every interrupt and its duration to perf.
 */
irqreturn_t pesa_interrupt(int irq, void *context)
{
	struct pesa_hart *hart = context;
	struct pesa_pmu *pesa = hart->pmu;
	struct perf_event *event = hart->event;
	u64 began = get_cycles64(), took;
	int throttle = 0;

	if (!pesa_is_pending(pesa))
		return IRQ_NONE;
	if (event && event->hw.state & PERF_HES_STOPPED)
		event = NULL;
	if (likely(!hart->autorun_mode)) {
		if (likely(event))
			throttle = pesa_take_sample(pesa, hart, event, true);
		else
			pesa_drop_sample(hart);
	} else {
		pesa_rearm(pesa);
		if (event)
			throttle = pesa_autorun_next(hart, event);
	}
	if (unlikely(throttle)) {
		pesa_count(hart, PESA_THROTTLED, 1);
		pesa_pmu_stop(event, 0);
	}
	took = get_cycles64() - began;
	if (began - hart->ended < took / 2)
		pesa_count(hart, PESA_BACK_TO_BACK, 1);
	hart->ended = began + took;
	perf_sample_event_took(took * pesa->tick);
	return IRQ_HANDLED;
}

/* ---- perf callbacks -------------------------------------------------------------------------- */

/* The last event was destroyed: stop the counter unless a new event is scheduled here. */
static void pesa_stop_idle_hart(void *info)
{
	struct pesa_pmu *pesa = info;
	struct pesa_hart *hart = this_cpu_ptr(pesa->harts);

	if (!hart->event && !hart->offline)
		pesa_counter_stop(hart);
}

/* What the event's samples need that a hart has once, and its counters may use, too. */
static unsigned long pesa_shared(struct perf_event *event)
{
	return RISCV_PMU_SAMPLE_PC | (has_branch_stack(event) ? RISCV_PMU_BRANCHES : 0);
}

static void pesa_event_destroy(struct perf_event *event)
{
	struct pesa_pmu *pesa = to_pesa(event->pmu);
	int cpu;

	/* An interrupt may still use the pointer: perf frees the event after an RCU period. */
	for_each_possible_cpu(cpu) cmpxchg(&per_cpu_ptr(pesa->harts, cpu)->owner, event, NULL);
	riscv_pmu_release(RISCV_PMU_SHPMSDETAILS, pesa_shared(event));
	if (atomic_dec_and_test(&pesa->events))
		on_each_cpu_mask(&pesa->supported, pesa_stop_idle_hart, pesa, 1);
}

/* A hart has one period counter, so a group can have only one event of this PMU. */
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
	int error;

	if (attr->type != event->pmu->type)
		return -ENOENT;
	/* A task event counts only while the task runs on a supported hart: see pesa_pmu_add(). */
	if (event->cpu >= 0 && !(event->attach_state & PERF_ATTACH_TASK) &&
	    !cpumask_test_cpu(event->cpu, &pesa->supported))
		return -ENOENT;
	if (!is_sampling_event(event))
		return -EOPNOTSUPP;
	if (attr->config & ~PESA_CONFIG_KNOWN || attr->config1 || attr->config2 ||
	    attr->config3 || !pesa_has_event(pesa, FIELD_GET(PESA_CONFIG_EVENT, attr->config)))
		return -EINVAL;
	if (attr->exclude_host)
		return -EOPNOTSUPP;
	if (!attr->freq && !pesa_period_fits(pesa, event, attr->sample_period))
		return -EINVAL;
	if (!pesa_alone_in_group(event))
		return -EBUSY;
	if (has_branch_stack(event)) {
		error = pesa_branches_control(event, &event->hw.branch_reg.config);
		if (error)
			return error;
	}
	if (pesa_has_call_stack(event))
		event->attach_state |= PERF_ATTACH_TASK_DATA;
	if (pesa_is_autorun(event)) {
		error = pesa_autorun_check(pesa, event);
		if (error)
			return error;
	}
	error = riscv_pmu_claim(RISCV_PMU_SHPMSDETAILS, pesa_shared(event));
	if (error)
		return error;
	/*
	 * perf starts frequency mode with a period of 1 and adapts it.  For cycles the nominal
	 * frequency is known: start with the matching period.
	 */
	if (attr->freq && pesa->frequency && pesa_selector(event) == PESA_SELECT_CYCLES) {
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
 * Return whether the counter can keep running: its interval is within a factor of two of the
 * event's period.  Restarting it would take no samples in time slices shorter than the period.
 */
static bool pesa_counter_is_compatible(const struct pesa_hart *hart, const struct perf_event *event)
{
	u64 period = pesa_period_of(hart->pmu, event);

	if (!hart->interval || hart->autorun_mode != pesa_is_autorun(event))
		return false;
	/* In AutoRun all records of an AUX buffer have the same period. */
	if (hart->autorun_mode)
		return hart->interval == period;
	return hart->interval <= 2 * period && period <= 2 * (u64)hart->interval;
}

static void pesa_pmu_start(struct perf_event *event, int flags)
{
	struct pesa_pmu *pesa = to_pesa(event->pmu);
	struct pesa_hart *hart = this_cpu_ptr(pesa->harts);

	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (READ_ONCE(pesa->shut_down))
		return;
	hart->asleep = hart->offline || READ_ONCE(pesa->suspended);
	if (hart->asleep)
		return;
	event->hw.state = 0;
	/* A sample taken while no event was scheduled belongs to no event. */
	if (pesa_is_pending(pesa))
		pesa_drop_sample(hart);
	if (pesa_is_autorun(event) && !pesa_autorun_begin(hart, event)) {
		event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
		return;
	}
	pesa_choose_intervals(hart, event);
	if (hart->selected != pesa_selector(event))
		pesa_counter_select(hart, pesa_selector(event));
	if (!pesa_counter_is_compatible(hart, event)) {
		pesa_counter_start(hart, pesa_interval(hart, event), pesa_is_autorun(event));
		/* The previous interval may have ended meanwhile: drop its sample. */
		if (!pesa_is_autorun(event) && pesa_is_pending(pesa))
			pesa_drop_sample(hart);
	}
	if (has_branch_stack(event))
		pesa_branches_start(hart, event);
	pesa_interrupt_open(pesa);
}

static void pesa_pmu_stop(struct perf_event *event, int flags)
{
	struct pesa_pmu *pesa = to_pesa(event->pmu);
	struct pesa_hart *hart = this_cpu_ptr(pesa->harts);

	hart->asleep = false;
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	pesa_interrupt_close(pesa);
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
	/* The last sample of the time slice can be pending, as interrupts are disabled here. */
	if (pesa_is_autorun(event))
		pesa_autorun_end(hart, event);
	else if (flags & PERF_EF_UPDATE && pesa_is_pending(pesa))
		pesa_take_pending(hart, event);
	if (has_branch_stack(event))
		pesa_branches_stop(event);
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
	hart->has_branches = has_branch_stack(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	pesa_branches_add(event);
	if (flags & PERF_EF_START)
		pesa_pmu_start(event, PERF_EF_RELOAD);
	perf_event_update_userpage(event);
	return 0;
}

static void pesa_pmu_del(struct perf_event *event, int flags)
{
	struct pesa_hart *hart = this_cpu_ptr(to_pesa(event->pmu)->harts);

	pesa_pmu_stop(event, PERF_EF_UPDATE);
	pesa_branches_delete(hart, event);
	if (hart->lost)
		pesa_count_lost(hart, pesa_owner(event), hart->lost);
	hart->lost = 0;
	hart->event = NULL;
	perf_event_update_userpage(event);
}

/* The event's count is updated per sample, as the counter itself cannot be read. */
static void pesa_pmu_read(struct perf_event *event)
{
}

static int pesa_pmu_check_period(struct perf_event *event, u64 period)
{
	/* `period` is a frequency here, which perf checks. */
	if (event->attr.freq)
		return 0;
	return pesa_period_fits(to_pesa(event->pmu), event, period) ? 0 : -EINVAL;
}

void pesa_hart_suspend(struct pesa_hart *hart)
{
	struct perf_event *event = hart->event;

	if (event && !(event->hw.state & PERF_HES_STOPPED)) {
		pesa_pmu_stop(event, PERF_EF_UPDATE);
		hart->asleep = true;
	}
	pesa_branches_forget(hart);
	pesa_counter_stop(hart);
}

void pesa_hart_resume(struct pesa_hart *hart)
{
	pesa_counter_stop(hart);
	if (hart->asleep)
		pesa_pmu_start(hart->event, PERF_EF_RELOAD);
}

static void pesa_suspend_this_hart(void *info)
{
	struct pesa_pmu *pesa = info;
	struct pesa_hart *hart = this_cpu_ptr(pesa->harts);

	if (!hart->offline)
		pesa_hart_suspend(hart);
}

/* The caller has set pesa->shut_down, so no event starts again. */
void pesa_stop_harts(struct pesa_pmu *pesa)
{
	on_each_cpu_mask(&pesa->supported, pesa_suspend_this_hart, pesa, 1);
}

void pesa_suspend_harts(struct pesa_pmu *pesa)
{
	WRITE_ONCE(pesa->suspended, true);
	on_each_cpu_mask(&pesa->supported, pesa_suspend_this_hart, pesa, 1);
}

/* An event may already have been started: then `asleep` is clear. */
static void pesa_resume_this_hart(void *info)
{
	struct pesa_pmu *pesa = info;
	struct pesa_hart *hart = this_cpu_ptr(pesa->harts);

	if (hart->asleep && !hart->offline)
		pesa_hart_resume(hart);
}

void pesa_resume_harts(struct pesa_pmu *pesa)
{
	WRITE_ONCE(pesa->suspended, false);
	on_each_cpu_mask(&pesa->supported, pesa_resume_this_hart, pesa, 1);
}

void pesa_set_callbacks(struct pesa_pmu *pesa)
{
	struct pmu *pmu = &pesa->pmu;

	pmu->task_ctx_nr = perf_hw_context;
	pmu->event_init = pesa_pmu_event_init;
	pmu->add = pesa_pmu_add;
	pmu->del = pesa_pmu_del;
	pmu->start = pesa_pmu_start;
	pmu->stop = pesa_pmu_stop;
	pmu->read = pesa_pmu_read;
	pmu->check_period = pesa_pmu_check_period;
	if (!pesa->autorun)
		return;
	/* The hart writes to one contiguous area at a time: prefer large allocations. */
	pmu->capabilities = PERF_PMU_CAP_AUX_NO_SG;
	pmu->setup_aux = pesa_autorun_setup;
	pmu->free_aux = pesa_autorun_free;
}
