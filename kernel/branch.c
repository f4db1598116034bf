// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Control transfer records (Ssctr): the last transfers before a sample, for
 * PERF_SAMPLE_BRANCH_STACK.
 *
 * A sample freezes the records.  sctrctl selects the modes and transfer types that the hardware
 * records.  All records are cleared when an event is scheduled in, so that an event never sees the
 * records of another task.
 *
 * With RASEMU a return removes the record of its call: the records are the call stack of the
 * running program (PERF_SAMPLE_BRANCH_CALL_STACK), of user mode only.  They must not miss a call:
 * they are recorded from pesa_pmu_add() to pesa_pmu_del(), whether the event takes samples or not,
 * and go with their task (call_stack.c).
 */
#include <linux/log2.h>

#include "driver.h"

#define TYPE(name) BIT_ULL(PESA_CTR_CONTROL_INHIBIT_SHIFT + PESA_CTR_##name)

/* The transfer types for each bit of branch_sample_type. */
static const struct {
	u64 requested, types;
} pesa_branch_filters[] = {
	{ PERF_SAMPLE_BRANCH_ANY, PESA_CTR_CONTROL_INHIBITS },
	{ PERF_SAMPLE_BRANCH_ANY_CALL, TYPE(INDIRECT_CALL) | TYPE(DIRECT_CALL) | TYPE(COROUTINE) },
	{ PERF_SAMPLE_BRANCH_ANY_RETURN, TYPE(RETURN) | TYPE(COROUTINE) | TYPE(TRAP_RETURN) },
	{ PERF_SAMPLE_BRANCH_IND_CALL, TYPE(INDIRECT_CALL) | TYPE(COROUTINE) },
	{ PERF_SAMPLE_BRANCH_CALL, TYPE(DIRECT_CALL) },
	{ PERF_SAMPLE_BRANCH_IND_JUMP, TYPE(INDIRECT_JUMP) | TYPE(OTHER_INDIRECT) },
	{ PERF_SAMPLE_BRANCH_COND, TYPE(TAKEN) },
};

/* Bits that select modes or the contents of an entry. */
#define PESA_BRANCH_OTHERS                                                                         \
	(PERF_SAMPLE_BRANCH_PLM_ALL | PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES | \
	 PERF_SAMPLE_BRANCH_TYPE_SAVE | PERF_SAMPLE_BRANCH_HW_INDEX |                              \
	 PERF_SAMPLE_BRANCH_PRIV_SAVE)

static const u8 pesa_branch_types[PESA_CTR_DATA_TYPE_MASK + 1] = {
	[PESA_CTR_EXCEPTION] = PERF_BR_SYSCALL,
	[PESA_CTR_INTERRUPT] = PERF_BR_IRQ,
	[PESA_CTR_TRAP_RETURN] = PERF_BR_ERET,
	[PESA_CTR_NOT_TAKEN] = PERF_BR_COND,
	[PESA_CTR_TAKEN] = PERF_BR_COND,
	[PESA_CTR_INDIRECT_CALL] = PERF_BR_IND_CALL,
	[PESA_CTR_DIRECT_CALL] = PERF_BR_CALL,
	[PESA_CTR_INDIRECT_JUMP] = PERF_BR_IND,
	[PESA_CTR_DIRECT_JUMP] = PERF_BR_UNCOND,
	[PESA_CTR_COROUTINE] = PERF_BR_UNKNOWN,
	[PESA_CTR_RETURN] = PERF_BR_RET,
	[PESA_CTR_OTHER_INDIRECT] = PERF_BR_IND,
	[PESA_CTR_OTHER_DIRECT] = PERF_BR_UNCOND,
};

static int pesa_call_stack_control(const struct perf_event *event, u64 *control)
{
	const u64 refused = PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV;
	u64 requested = event->attr.branch_sample_type;

	/* RASEMU ignores the filters, and the kernel's calls switch stacks with the tasks. */
	if (!to_pesa(event->pmu)->call_stacks ||
	    requested & (refused | ~(PESA_BRANCH_OTHERS | PERF_SAMPLE_BRANCH_CALL_STACK)))
		return -EOPNOTSUPP;
	*control = PESA_CTR_CONTROL_LCOFIFRZ | PESA_CTR_CONTROL_RASEMU | PESA_CTR_CONTROL_U;
	return 0;
}

int pesa_branches_control(const struct perf_event *event, u64 *control)
{
	u64 requested = event->attr.branch_sample_type, known = PESA_BRANCH_OTHERS, types = 0;

	if (!to_pesa(event->pmu)->ctr_depth)
		return -EOPNOTSUPP;
	if (requested & PERF_SAMPLE_BRANCH_CALL_STACK)
		return pesa_call_stack_control(event, control);
	for (unsigned int i = 0; i < ARRAY_SIZE(pesa_branch_filters); i++) {
		known |= pesa_branch_filters[i].requested;
		if (requested & pesa_branch_filters[i].requested)
			types |= pesa_branch_filters[i].types;
	}
	if (requested & ~known)
		return -EOPNOTSUPP;
	if (!types)
		return -EINVAL;
	/* Freeze at the overflow: the kernel entry after it must not replace older records. */
	*control = PESA_CTR_CONTROL_LCOFIFRZ | (PESA_CTR_CONTROL_INHIBITS & ~types);
	if (requested & PERF_SAMPLE_BRANCH_USER)
		*control |= PESA_CTR_CONTROL_U;
	if (requested & PERF_SAMPLE_BRANCH_KERNEL)
		*control |= PESA_CTR_CONTROL_S;
	return 0;
}

void pesa_branches_start(struct pesa_hart *hart, const struct perf_event *event)
{
	bool calls = pesa_has_call_stack(event);

	if (!calls || !hart->keeps_calls) {
		pesa_clear_records();
		csr_write(PESA_CSR_SCTRSTATUS, 0);
		hart->keeps_calls = calls;
	}
	csr_write(PESA_CSR_SCTRCTL, event->hw.branch_reg.config);
	csr_clear(PESA_CSR_SCTRSTATUS, PESA_CTR_STATUS_FROZEN);
}

void pesa_branches_stop(const struct perf_event *event)
{
	if (!pesa_has_call_stack(event)) {
		csr_write(PESA_CSR_SCTRCTL, 0);
		return;
	}
	/* A sample that nobody reads must not freeze the stack. */
	csr_clear(PESA_CSR_SCTRCTL, PESA_CTR_CONTROL_LCOFIFRZ);
	csr_clear(PESA_CSR_SCTRSTATUS, PESA_CTR_STATUS_FROZEN);
}

void pesa_branches_forget(struct pesa_hart *hart)
{
	if (hart->keeps_calls)
		csr_write(PESA_CSR_SCTRCTL, 0);
	hart->keeps_calls = false;
}

void pesa_branches_add(const struct perf_event *event)
{
	if (pesa_has_call_stack(event))
		perf_sched_cb_inc(event->pmu);
}

void pesa_branches_delete(struct pesa_hart *hart, const struct perf_event *event)
{
	if (!pesa_has_call_stack(event))
		return;
	pesa_branches_forget(hart);
	perf_sched_cb_dec(event->pmu);
}

/* The low-level index of the newest record; -1: unknown. */
static u64 pesa_newest_index(const struct pesa_pmu *pesa, const struct perf_event *event)
{
	u32 next = csr_read(PESA_CSR_SCTRSTATUS) & PESA_CTR_STATUS_WRPTR_MASK;

	if (!pesa_has_call_stack(event) || !is_power_of_2(pesa->ctr_depth))
		return -1ULL;
	return (next - 1) & (pesa->ctr_depth - 1);
}

/*
 * The cycles since the record before, as perf has them: 0 where the count is not valid, and the
 * largest that the entry can have for all that are larger.
 */
static unsigned int pesa_branch_cycles(u64 data)
{
	if (!(data & PESA_CTR_DATA_CCV))
		return 0;
	return min_t(unsigned int, pesa_ctr_data_cycles(data), U16_MAX);
}

/*
 * Whether nothing older than a record belongs to the path that it is of: on a hart that counts
 * cycles, it is the first after recording was interrupted.  Call stacks are no paths.
 */
static bool pesa_branch_begins_path(struct pesa_hart *hart, const struct perf_event *event,
				    u64 data)
{
	if (data & PESA_CTR_DATA_CCV)
		hart->counts_cycles = true;
	return hart->counts_cycles && !(data & PESA_CTR_DATA_CCV) && !pesa_has_call_stack(event);
}

void pesa_branches_read(struct pesa_hart *hart, const struct perf_event *event)
{
	bool kernel = event->attr.branch_sample_type & PERF_SAMPLE_BRANCH_KERNEL;
	struct perf_branch_stack *stack = hart->branches;
	unsigned int depth = hart->pmu->ctr_depth;
	/* The interrupted code may be using the indirect registers: restore siselect afterwards. */
	unsigned long selected = csr_read(PESA_CSR_SISELECT);

	stack->nr = 0;
	stack->hw_idx = pesa_newest_index(hart->pmu, event);
	for (unsigned int i = 0; i < depth; i++) {
		struct perf_branch_entry *entry = &stack->entries[stack->nr];
		unsigned long source, target, data;

		csr_write(PESA_CSR_SISELECT, PESA_CTR_SELECT_FIRST + i);
		source = csr_read(PESA_CSR_SIREG);
		if (!(source & PESA_CTR_SOURCE_V))
			break;
		target = csr_read(PESA_CSR_SIREG2);
		data = csr_read(PESA_CSR_SIREG3);
		/* sctrctl filters by mode already; do not rely on it for kernel addresses. */
		if (!kernel && (pesa_is_kernel(source) || pesa_is_kernel(target))) {
			/* The count of the newer one begins at the record that is left out. */
			if (stack->nr)
				stack->entries[stack->nr - 1].cycles = 0;
			continue;
		}
		*entry = (struct perf_branch_entry) {
			.from = source & ~(unsigned long)PESA_CTR_SOURCE_V,
			.to = target & ~(unsigned long)PESA_CTR_TARGET_MISP,
			.mispred = target & PESA_CTR_TARGET_MISP,
			.predicted = !(target & PESA_CTR_TARGET_MISP),
			.cycles = pesa_branch_cycles(data),
			.type = pesa_branch_types[data & PESA_CTR_DATA_TYPE_MASK],
			.priv = pesa_is_kernel(target) ? PERF_BR_PRIV_KERNEL : PERF_BR_PRIV_USER,
		};
		stack->nr++;
		if (pesa_branch_begins_path(hart, event, data))
			break;
	}
	csr_write(PESA_CSR_SISELECT, selected);
	/* The other bits say where the entries are. */
	csr_clear(PESA_CSR_SCTRSTATUS, PESA_CTR_STATUS_FROZEN);
}

/* ---- Preparation ----------------------------------------------------------------------------- */

static void pesa_free_branches(void *context)
{
	struct pesa_pmu *pesa = context;

	free_percpu(pesa->branches);
}

int pesa_branches_prepare(struct pesa_pmu *pesa)
{
	size_t size = struct_size_t(struct perf_branch_stack, entries, pesa->ctr_depth);
	int cpu;

	if (!pesa->ctr_depth)
		return 0;
	pesa->branches = __alloc_percpu(size, __alignof__(struct perf_branch_stack));
	if (!pesa->branches)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		per_cpu_ptr(pesa->harts, cpu)->branches = per_cpu_ptr(pesa->branches, cpu);
	return devm_add_action_or_reset(pesa->dev, pesa_free_branches, pesa);
}
