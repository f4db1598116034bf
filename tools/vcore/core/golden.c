// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The golden reference: every cycle is counted for the instruction that it belongs to.
 *
 * Cycles are counted, not shares; the recorder computes shares.  The common case, retired without a
 * cause, is an array.  All other cases are in a list, which is short: an instruction has few states
 * and causes.
 */
#include <string.h>

#include "tools/vcore/core/golden.h"
#include "tools/vcore/core/hart.h"
#include "tools/vcore/core/insn.h"
#include "tools/vcore/core/step.h"
#include "tools/vcore/core/process.h"

static struct vcore_node *node_at(struct process *process, uint32_t number)
{
	return (struct vcore_node *)((char *)process->region + VCORE_NODES_OFFSET) + (number - 1);
}

static void count(struct process *process, uint64_t *counter, uint64_t by)
{
	if (process->threaded)
		__atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
	else
		*counter += by;
}

struct vcore_golden *golden_create(struct process *process, const struct insn *insn)
{
	struct vcore_region *region = process->region;
	uint32_t number = atomic_load(&region->golden_entries);
	struct vcore_golden *golden;

	if (((uint64_t)number + 1) * region->golden_stride >
	    VCORE_NODES_OFFSET - VCORE_GOLDEN_OFFSET)
		return NULL;
	golden = (struct vcore_golden *)((char *)region + VCORE_GOLDEN_OFFSET +
					 (uint64_t)number * region->golden_stride);
	golden->pc = insn->pc;
	golden->target = insn->target;
	atomic_store_explicit(&region->golden_entries, number + 1, memory_order_release);
	return golden;
}

/* Find or add the node with this key and target.  NULL: the region is full. */
static struct vcore_node *find_node(struct process *process, _Atomic uint32_t *list, uint32_t key,
				    uint64_t target)
{
	struct vcore_region *region = process->region;
	struct vcore_node *node;
	uint32_t first = atomic_load_explicit(list, memory_order_acquire), number;

	for (number = first; number; number = node->next) {
		node = node_at(process, number);
		if (node->key == key && node->target == target)
			return node;
	}
	pthread_mutex_lock(&process->lock);
	/* Another thread may have added the node. */
	for (number = atomic_load(list); number && number != first; number = node->next) {
		node = node_at(process, number);
		if (node->key == key && node->target == target)
			goto out;
	}
	node = NULL;
	number = atomic_load(&region->nodes);
	if (number < VCORE_NODES_MAX) {
		atomic_store(&region->nodes, number + 1);
		node = node_at(process, number + 1);
		node->key = key;
		node->target = target;
		node->next = atomic_load(list);
		atomic_store_explicit(list, number + 1, memory_order_release);
	}
out:
	pthread_mutex_unlock(&process->lock);
	return node;
}

void golden_forget(struct hart *hart)
{
	memset(hart->recent, 0, sizeof(hart->recent));
}

/*
 * Like find_node() in a list of `golden`, with a cache.  Buckets have target 0 and transfers have
 * key 0, so the two never match each other.
 */
static inline struct vcore_node *recall(struct hart *hart, struct vcore_golden *golden,
					_Atomic uint32_t *list, uint32_t key, uint64_t target)
{
	uint64_t hash =
		((uintptr_t)golden ^ (uint64_t)key << 40 ^ target << 20) * 0x9e3779b97f4a7c15;
	struct golden_recent *recent = &hart->recent[hash >> (64 - GOLDEN_RECENT_BITS)];
	struct vcore_node *node = recent->node;

	if (recent->golden == golden && node->key == key && node->target == target)
		return node;
	node = find_node(hart->process, list, key, target);
	if (node)
		*recent = (struct golden_recent){golden, node};
	return node;
}

void golden_bucket(struct hart *hart, const struct insn *insn, unsigned int state,
		   unsigned int group, uint16_t cause, uint64_t cycles)
{
	struct process *process = hart->process;
	struct vcore_golden *golden = insn->golden;
	struct vcore_node *node;

	if (!process->control->golden)
		return;
	if (golden && state == PESA_STATE_RETIRING && !cause) {
		count(process, &golden->retired[group - 1], cycles);
		return;
	}
	node = golden ? recall(hart, golden, &golden->buckets,
			       vcore_bucket_key(state, group, cause), 0)
		      : NULL;
	if (node)
		count(process, &node->count, cycles);
	else
		atomic_fetch_add(&process->region->golden_full, cycles);
}

void golden_groups(struct hart *hart, const struct step *step, const uint8_t *size, size_t steps)
{
	bool threaded = hart->process->threaded;

	if (!hart->process->control->golden)
		return;
	for (const struct step *end = step + steps; step < end; step++) {
		const struct insn *insn = step->insn;
		size_t members = *size++;

		if (!members)
			continue;
		if (__builtin_expect(insn->golden && !threaded, 1))
			insn->golden->retired[members - 1]++;
		else
			golden_bucket(hart, insn, PESA_STATE_RETIRING, (unsigned int)members, 0, 1);
	}
}

void golden_transfer(struct hart *hart, const struct insn *insn, uint64_t target)
{
	struct process *process = hart->process;
	struct vcore_golden *golden = insn->golden;
	struct vcore_node *node;

	if (!golden)
		return;
	if (target == insn->target && target) {
		count(process, &golden->taken, 1);
		return;
	}
	node = recall(hart, golden, &golden->transfers, 0, target);
	if (node)
		count(process, &node->count, 1);
}
