// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call stacks of tasks: control transfer records with RASEMU (see branch.c) are saved and restored
 * with the task where the event is of a task.  perf keeps the saved stack with the task's events.
 * An event of a CPU starts anew with each task.
 */
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "driver.h"

/* A saved call stack. */
struct pesa_call_stack {
	u32 next;  /* sctrstatus.WRPTR */
	u32 count; /* of calls */
	struct pesa_call {
		unsigned long source, target;
	} calls[]; /* newest first */
};

/* Both are called in the kernel, whose calls are not recorded. */
static void pesa_call_stack_save(struct pesa_hart *hart, struct pesa_call_stack *stack)
{
	unsigned long selected = csr_read(PESA_CSR_SISELECT);

	/* A pending sample shows the stack that it was taken with. */
	csr_clear(PESA_CSR_SCTRSTATUS, PESA_CTR_STATUS_FROZEN);
	stack->next = csr_read(PESA_CSR_SCTRSTATUS) & PESA_CTR_STATUS_WRPTR_MASK;
	for (stack->count = 0; stack->count < hart->pmu->ctr_depth; stack->count++) {
		struct pesa_call *call = &stack->calls[stack->count];

		csr_write(PESA_CSR_SISELECT, PESA_CTR_SELECT_FIRST + stack->count);
		call->source = csr_read(PESA_CSR_SIREG);
		if (!(call->source & PESA_CTR_SOURCE_V))
			break;
		call->target = csr_read(PESA_CSR_SIREG2);
	}
	csr_write(PESA_CSR_SISELECT, selected);
}

/*
 * `stack` is NULL if nothing is known of the task.  It is restored once: if the event is not on the
 * hart when the task leaves, nothing is saved, and what was saved before is out of date.
 */
static void pesa_call_stack_restore(struct pesa_call_stack *stack)
{
	unsigned long selected = csr_read(PESA_CSR_SISELECT);
	unsigned long frozen = csr_read(PESA_CSR_SCTRSTATUS) & PESA_CTR_STATUS_FROZEN;

	pesa_clear_records();
	csr_write(PESA_CSR_SCTRSTATUS, frozen | (stack ? stack->next : 0));
	for (u32 i = 0; stack && i < stack->count; i++) {
		csr_write(PESA_CSR_SISELECT, PESA_CTR_SELECT_FIRST + i);
		csr_write(PESA_CSR_SIREG, stack->calls[i].source);
		csr_write(PESA_CSR_SIREG2, stack->calls[i].target);
		csr_write(PESA_CSR_SIREG3, PESA_CTR_DIRECT_CALL);
	}
	csr_write(PESA_CSR_SISELECT, selected);
	if (stack) {
		stack->next = 0;
		stack->count = 0;
	}
}

/* A task leaves the CPU, or comes; with the context of its events, or with that of the CPU's. */
static void pesa_pmu_sched_task(struct perf_event_pmu_context *context, struct task_struct *task,
				bool comes)
{
	struct pesa_hart *hart = this_cpu_ptr(to_pesa(context->pmu)->harts);

	if (!hart->keeps_calls)
		return;
	if (comes)
		pesa_call_stack_restore(context->task_ctx_data);
	else if (context->task_ctx_data)
		pesa_call_stack_save(hart, context->task_ctx_data);
}

static void pesa_free_call_stacks(void *context)
{
	struct kmem_cache *cache = context;

	/* perf frees the stacks of events that are gone by RCU. */
	rcu_barrier();
	kmem_cache_destroy(cache);
}

int pesa_call_stacks_prepare(struct pesa_pmu *pesa)
{
	size_t size = struct_size_t(struct pesa_call_stack, calls, pesa->ctr_depth);
	struct kmem_cache *cache;

	if (!pesa->call_stacks)
		return 0;
	cache = kmem_cache_create("pesa_call_stack", size, 0, 0, NULL);
	if (!cache)
		return -ENOMEM;
	pesa->pmu.sched_task = pesa_pmu_sched_task;
	pesa->pmu.task_ctx_cache = cache;
	return devm_add_action_or_reset(pesa->dev, pesa_free_call_stacks, cache);
}
