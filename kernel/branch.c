// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Control transfer records (Ssctr): the last transfers before a sample, for
 * PERF_SAMPLE_BRANCH_STACK.
 *
 * A sample freezes the records.  sctrctl selects the modes and transfer types that the hardware
 * records.  All records are cleared when an event is scheduled in, so that an event never sees the
 * records of another task.
 */
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

int pesa_branches_control(const struct perf_event *event, u64 *control)
{
	u64 requested = event->attr.branch_sample_type, known = PESA_BRANCH_OTHERS, types = 0;

	if (!to_pesa(event->pmu)->ctr_depth)
		return -EOPNOTSUPP;
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

void pesa_branches_start(const struct perf_event *event)
{
	asm volatile(".4byte %0" : : "i" (PESA_CTR_SCTRCLR) : "memory");
	csr_write(PESA_CSR_SCTRCTL, event->hw.branch_reg.config);
	csr_write(PESA_CSR_SCTRSTATUS, 0);
}

void pesa_branches_stop(void)
{
	csr_write(PESA_CSR_SCTRCTL, 0);
}

void pesa_branches_read(struct pesa_hart *hart, const struct perf_event *event)
{
	bool kernel = event->attr.branch_sample_type & PERF_SAMPLE_BRANCH_KERNEL;
	struct perf_branch_stack *stack = hart->branches;
	unsigned int depth = hart->pmu->ctr_depth;
	/* The interrupted code may be using the indirect registers: restore siselect afterwards. */
	unsigned long selected = csr_read(PESA_CSR_SISELECT);

	stack->nr = 0;
	stack->hw_idx = -1ULL;
	for (unsigned int i = 0; i < depth; i++) {
		struct perf_branch_entry *entry = &stack->entries[stack->nr];
		unsigned long source, target, type;

		csr_write(PESA_CSR_SISELECT, PESA_CTR_SELECT_FIRST + i);
		source = csr_read(PESA_CSR_SIREG);
		if (!(source & PESA_CTR_SOURCE_V))
			break;
		target = csr_read(PESA_CSR_SIREG2);
		type = csr_read(PESA_CSR_SIREG3) & PESA_CTR_DATA_TYPE_MASK;
		/* sctrctl filters by mode already; do not rely on it for kernel addresses. */
		if (!kernel && (pesa_is_kernel(source) || pesa_is_kernel(target)))
			continue;
		*entry = (struct perf_branch_entry) {
			.from = source & ~(unsigned long)PESA_CTR_SOURCE_V,
			.to = target & ~(unsigned long)PESA_CTR_TARGET_MISP,
			.mispred = target & PESA_CTR_TARGET_MISP,
			.predicted = !(target & PESA_CTR_TARGET_MISP),
			.type = pesa_branch_types[type],
			.priv = pesa_is_kernel(target) ? PERF_BR_PRIV_KERNEL : PERF_BR_PRIV_USER,
		};
		stack->nr++;
	}
	csr_write(PESA_CSR_SISELECT, selected);
	csr_write(PESA_CSR_SCTRSTATUS, 0);
}
