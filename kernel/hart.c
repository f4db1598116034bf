// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probing of a hart: which registers it has, and which bits of them are writable.
 *
 * A previous kernel (kexec) may have left any value in the registers.  So the counter is stopped
 * and the AutoRun addresses are cleared before any bit is tried.
 */
#include <linux/bitmap.h>
#include <linux/cpumask.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

#include <asm/asm-extable.h>

#include "driver.h"

#define PESA_COUNTER_BITS_LEAST 9 /* for the minimum period */

/* Capabilities of one hart. */
struct pesa_traits {
	u32 counter_mask;
	u32 ctr_depth; /* control transfer records, at most pesa_pmu's ctr_depth */
	bool call_stacks; /* they can emulate a return-address stack */
	bool autorun;
	DECLARE_BITMAP(refused, PESA_EVENTS_MAX); /* events that the hart cannot count */
};

/* State of the probe over all online harts. */
struct pesa_probe {
	struct pesa_pmu *pesa;
	raw_spinlock_t lock;
	struct pesa_traits all; /* capabilities that all harts have */
	u32 widest, deepest;	/* largest counter_mask and ctr_depth of any hart */
	bool any_call_stacks;	/* some hart has them */
	cpumask_t supported;	/* harts that have the registers */
};

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

/*
 * Find the writable bits of the counter.  Bits are tried one at a time, as hardware may raise an
 * initial value whose period is below the minimum.  With one bit set the period is at least half
 * the counter's range.
 */
static u32 pesa_try_counter(void)
{
	u32 bits = 0;

	for (unsigned int i = 0; i < PESA_CC_BITS; i++) {
		csr_write(PESA_CSR_SHPMSDETAILSCC, BIT(i));
		bits |= csr_read(PESA_CSR_SHPMSDETAILSCC) & PESA_CC_SAMPLEINITVALUE_MASK;
		csr_write(PESA_CSR_SHPMSDETAILSCC, 0);
	}
	return bits;
}

static bool pesa_try_call_stacks(void)
{
	/* Events of the hart's counters may have records on it already. */
	unsigned long value, before = csr_read(PESA_CSR_SCTRCTL);

	csr_write(PESA_CSR_SCTRCTL, PESA_CTR_CONTROL_RASEMU);
	value = csr_read(PESA_CSR_SCTRCTL);
	csr_write(PESA_CSR_SCTRCTL, before);
	return value & PESA_CTR_CONTROL_RASEMU;
}

static bool pesa_try_autorun(u32 counter_mask)
{
	unsigned long value;

	if (!pesa_try_read(PESA_CSR_SHPMSARPTR, &value))
		return false;
	pesa_autorun_disarm();
	/* The longest period, so that no overflow occurs before the counter is stopped again. */
	csr_write(PESA_CSR_SHPMSDETAILSCC, (counter_mask & 1) | PESA_CC_AUTORUN);
	value = csr_read(PESA_CSR_SHPMSDETAILSCC);
	csr_write(PESA_CSR_SHPMSDETAILSCC, 0);
	return value & PESA_CC_AUTORUN;
}

/* Probe the current hart; false: it lacks the registers. */
static bool pesa_try_hart(const struct pesa_pmu *pesa, struct pesa_traits *traits)
{
	unsigned long value;

	memset(traits, 0, sizeof(*traits));
	if (!pesa_try_read(PESA_CSR_SHPMSDETAILSCC, &value) ||
	    !pesa_try_read(PESA_CSR_SHPMSPC, &value) ||
	    !pesa_try_read(PESA_CSR_SHPMSDATA, &value) ||
	    !pesa_try_read(PESA_CSR_SHPMSDETAILSDATA, &value))
		return false;
	csr_write(PESA_CSR_SHPMSDETAILSCC, 0);
	/* First: writing the counter below must not start AutoRun with an old address. */
	if (pesa_try_read(PESA_CSR_SHPMSARPTR, &value))
		pesa_autorun_disarm();
	if (!pesa_try_read(PESA_CSR_SHPMSEVENT, &value))
		bitmap_fill(traits->refused, PESA_EVENTS_MAX);
	else
		pesa_probe_events(pesa, traits->refused);
	traits->counter_mask = pesa_try_counter();
	traits->autorun = pesa_try_autorun(traits->counter_mask);
	if (pesa_try_read(PESA_CSR_SCTRDEPTH, &value))
		traits->ctr_depth = min(PESA_CTR_DEPTH_LEAST << (value & 7), pesa->ctr_depth);
	if (traits->ctr_depth)
		traits->call_stacks = pesa_try_call_stacks();
	return true;
}

static void pesa_probe_hart(void *info)
{
	struct pesa_probe *probe = info;
	struct pesa_pmu *pesa = probe->pesa;
	struct pesa_traits traits, *all = &probe->all;

	if (!pesa_try_hart(pesa, &traits))
		return;
	raw_spin_lock(&probe->lock);
	all->counter_mask &= traits.counter_mask;
	all->ctr_depth = min(all->ctr_depth, traits.ctr_depth);
	all->autorun &= traits.autorun;
	all->call_stacks &= traits.call_stacks;
	probe->any_call_stacks |= traits.call_stacks;
	bitmap_or(all->refused, all->refused, traits.refused, PESA_EVENTS_MAX);
	probe->widest = max(probe->widest, traits.counter_mask);
	probe->deepest = max(probe->deepest, traits.ctr_depth);
	cpumask_set_cpu(smp_processor_id(), &probe->supported);
	raw_spin_unlock(&probe->lock);
}

static void pesa_warn_of_differences(struct pesa_pmu *pesa, const struct pesa_probe *probe)
{
	const struct pesa_traits *all = &probe->all;

	if (all->counter_mask != probe->widest)
		dev_warn(pesa->dev, "the harts have counters of %u to %u bits: periods fit into %u\n",
			 hweight32(all->counter_mask), hweight32(probe->widest),
			 hweight32(all->counter_mask));
	if (pesa->autorun && !all->autorun)
		dev_warn(pesa->dev, "not every hart has AutoRun: it is not offered\n");
	if (probe->any_call_stacks && !all->call_stacks)
		dev_warn(pesa->dev, "not every hart keeps call stacks (RASEMU): they are not offered\n");
	if (all->ctr_depth != probe->deepest)
		dev_warn(pesa->dev, "the harts have %u to %u control transfer records: %u are used\n",
			 all->ctr_depth, probe->deepest, all->ctr_depth);
	else if (pesa->ctr_depth != all->ctr_depth)
		dev_warn(pesa->dev, "the harts have %u control transfer records, not %u\n",
			 all->ctr_depth, pesa->ctr_depth);
}

int pesa_probe_harts(struct pesa_pmu *pesa)
{
	struct pesa_probe probe = {
		.pesa = pesa,
		.all = {
			.counter_mask = PESA_CC_SAMPLEINITVALUE_MASK,
			.autorun = pesa->autorun,
			.call_stacks = true,
			.ctr_depth = pesa->ctr_depth,
		},
	};
	u32 mask;

	raw_spin_lock_init(&probe.lock);
	cpus_read_lock();
	on_each_cpu(pesa_probe_hart, &probe, 1);
	/* Harts that are offline now are probed when they come online. */
	if (cpumask_equal(&probe.supported, cpu_online_mask))
		cpumask_copy(&pesa->supported, cpu_possible_mask);
	else
		cpumask_copy(&pesa->supported, &probe.supported);
	cpus_read_unlock();
	if (cpumask_empty(&probe.supported))
		return dev_err_probe(pesa->dev, -ENODEV,
				     "no hart lets the kernel read shpmspc: the firmware must delegate the counters (menvcfg.CDE)\n");
	mask = probe.all.counter_mask;
	if (!mask || (mask & (mask + 1)))
		return dev_err_probe(pesa->dev, -ENODEV,
				     "the period counter holds the bits %#x, which are no counter\n",
				     mask);
	if (hweight32(mask) < PESA_COUNTER_BITS_LEAST)
		return dev_err_probe(pesa->dev, -ENODEV,
				     "the period counter has %u bits: at least %u are needed\n",
				     hweight32(mask), PESA_COUNTER_BITS_LEAST);
	pesa_warn_of_differences(pesa, &probe);
	pesa->counter_mask = mask;
	pesa->counter_bits = hweight32(mask);
	pesa->autorun = probe.all.autorun;
	pesa->ctr_depth = probe.all.ctr_depth;
	pesa->call_stacks = pesa->ctr_depth && probe.all.call_stacks;
	pesa_remove_events(pesa, probe.all.refused);
	return 0;
}

bool pesa_hart_is_compatible(struct pesa_hart *hart)
{
	const struct pesa_pmu *pesa = hart->pmu;
	struct pesa_traits traits;

	if (!pesa_try_hart(pesa, &traits))
		return false;
	hart->counter_mask = traits.counter_mask;
	return (traits.counter_mask & pesa->counter_mask) == pesa->counter_mask &&
	       !(traits.counter_mask & (traits.counter_mask + 1)) &&
	       traits.ctr_depth >= pesa->ctr_depth && traits.autorun >= pesa->autorun &&
	       traits.call_stacks >= pesa->call_stacks &&
	       (!pesa->event_type_count || bitmap_empty(traits.refused, pesa->event_type_count));
}
