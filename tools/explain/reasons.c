// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/explain/reasons.h"

#include "pesa/csr.h"

/* The first that matches a bucket. */
static const struct explain_reason reasons[EXPLAIN_REASONS] = {
	{PESA_STATE_RETIRING, 0, false, "retire instructions",
	 "fewer instructions: another algorithm, vector instructions, or code moved out of loops"},
	{PESA_STATE_STALLED, PESA_CAUSE_DTLB_MISS, false, "wait for data that missed the TLB",
	 "fewer pages: data that is used together side by side, or huge pages"},
	{PESA_STATE_STALLED, PESA_CAUSE_DCACHE_MISS, false, "wait for data that missed the cache",
	 "a layout that uses whole cache lines, blocks that fit into the cache, or prefetch"},
	{PESA_STATE_STALLED, (uint16_t)(~0u << PESA_CAUSE_IMPLEMENTATION_FIRST), false,
	 "wait for events of the core",
	 "find the event in the buckets, and what it means in the manual of the core"},
	{PESA_STATE_STALLED, 0, false, "wait for results that take long",
	 "shorter chains of dependences: several accumulators, cheaper operations, or the slow one "
	 "begun earlier"},
	{PESA_STATE_FLUSHED, PESA_CAUSE_BRANCH_MISPREDICT, false,
	 "are lost after mispredicted branches",
	 "branches that are easier to predict (sorted data, fewer cases), or code without a branch"},
	{PESA_STATE_FLUSHED, 0, false, "are lost after other flushes",
	 "fewer fences, system calls, and loads behind stores to the same address"},
	/* Nothing is in flight any more, so what is full are stores that have retired. */
	{PESA_STATE_DRAINED, 0, true, "wait for older stores, which fill the store queue",
	 "fewer or wider stores, or stores to lines that are in the cache"},
	{PESA_STATE_DRAINED, PESA_CAUSE_ICACHE_MISS | PESA_CAUSE_ITLB_MISS, false,
	 "wait for instructions that missed the cache or TLB",
	 "smaller code: hot functions side by side, less inlining and unrolling"},
	{PESA_STATE_DRAINED, 0, false, "wait for the front end",
	 "straighter code: fewer taken branches and calls, loops that are aligned"},
};

static bool matches(const struct explain_reason *reason, const struct pesa_topdown_bits *bits,
		    unsigned int state, uint16_t cause)
{
	return reason->state == state && (!reason->cause || reason->cause & cause) &&
	       (!reason->blocked || bits->alloc_blocked & cause);
}

size_t explain_reason_of(const struct pesa_topdown_bits *bits, unsigned int state, uint16_t cause)
{
	size_t i = 0;

	/* That it waited for room earlier is not why the oldest instruction is not done. */
	if (state == PESA_STATE_STALLED)
		cause &= (uint16_t)~bits->alloc_blocked;
	while (i < EXPLAIN_REASONS && !matches(&reasons[i], bits, state, cause))
		i++;
	return i;
}

const struct explain_reason *explain_reason(size_t index)
{
	return &reasons[index];
}
