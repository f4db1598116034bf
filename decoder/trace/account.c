/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accounting of the cycles of a hart: what passes between the retirements of two instructions becomes
 * spans of states by decoder/core/retirement.h, these go into the exact profile, and samples are taken
 * of them.  See trace.h.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "decoder/trace/trace.h"

struct exact_insn *pipeline_static(struct pesa_pipeline *pipeline, const struct pipeline_insn *insn)
{
	const struct pesa_pipeline_options *options = &pipeline->options;
	struct exact_insn *fixed = exact_store_get(&pipeline->store, insn->has_pc ? insn->pc : 0);

	if (!fixed) {
		pipeline_fail(pipeline, pesa_error_no_memory());
		return NULL;
	}
	if (!fixed->text_read) {
		fixed->text_read = true;
		fixed->status = PESA_TEXT_MISSING;
		if (options->instruction && insn->has_pc)
			fixed->status = (uint8_t)options->instruction(
				options->context, fixed->pc, &fixed->text, &fixed->serialises);
	}
	return fixed;
}

/* ---- Cycles ---------------------------------------------------------------------------------- */

static void deliver(struct pesa_pipeline *pipeline, struct pipeline_hart *hart, uint64_t cycle,
		    struct pesa_record *record)
{
	const struct pesa_pipeline_options *options = &pipeline->options;
	struct pesa_branch_entry branches[256];
	uint64_t depth = options->ctr_depth < 256 ? options->ctr_depth : 256;
	uint64_t count = hart->branch_count < depth ? hart->branch_count : depth;
	struct pesa_error *error;

	record->version = PESA_RECORD_VERSION;
	record->xlen = options->narrow ? 32 : 64;
	record->size = PESA_RECORD_SIZE;
	for (uint64_t i = 0; i < count; i++)
		branches[i] = hart->branches[(hart->branch_count - 1 - i) % options->ctr_depth];
	pipeline->summary.samples++;
	hart->next_sample += retirement_interval(&hart->random, options->period, options->jitter);
	if (!options->sample)
		return;
	error = options->sample(options->context, hart->index, cycle, record, branches,
				(unsigned int)count);
	if (error)
		pipeline_fail(pipeline, error);
}

static void count_cycles(struct pesa_pipeline *pipeline, const struct exact_insn *fixed,
			 uint64_t cycles)
{
	if (!fixed->pc)
		pipeline->summary.without_pc += cycles;
}

void pipeline_account(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
		      const struct retirement_span *span)
{
	struct exact_insn *fixed = (struct exact_insn *)span->insn;
	struct pesa_error *error;
	uint64_t cycles;

	if (span->start >= span->end || pipeline->error)
		return;
	cycles = span->end - span->start;
	error = exact_store_add(&pipeline->store, fixed, span->state, 1, span->cause, cycles);
	if (error) {
		pipeline_fail(pipeline, error);
		return;
	}
	count_cycles(pipeline, fixed, cycles);
	pipeline->summary.state[span->state] += cycles;
	pipeline->summary.accounted += cycles;
	if (pipeline->options.cycles)
		pipeline->options.cycles(pipeline->options.context, hart->index, span->start,
					 span->end, span->state, span->cause);
	while (hart->next_sample < span->end && !pipeline->error) {
		struct pesa_record record = {0};

		retirement_record_idle(fixed->pc, span->state, span->cause, &record);
		deliver(pipeline, hart, hart->next_sample, &record);
	}
	hart->retirement.accounted = span->end;
}

/* Count the stall cycles [start, end) of the instruction by its stage. */
static void count_stages(struct pesa_pipeline *pipeline, const struct pipeline_insn *insn,
			 uint64_t start, uint64_t end)
{
	for (unsigned int i = 0; i < insn->stages; i++) {
		uint64_t from = insn->fetch + insn->stage[i].after;
		uint64_t to = i + 1 < insn->stages ? insn->fetch + insn->stage[i + 1].after : end;

		from = i && from > start ? from : start;
		to = to < end ? to : end;
		if (from >= to)
			continue;
		pipeline->summary.stage[insn->stage[i].stage].stalled += to - from;
		start = to;
	}
}

void pipeline_count_rule(struct pesa_pipeline *pipeline, enum pesa_pipeline_rule rule,
			 uint64_t cycles)
{
	pipeline->summary.rule_cycles[rule] += cycles;
	pipeline->summary.rule_times[rule]++;
}

/* The transfer whose wrong path was rolled back in cycles of [*start, *end): the youngest one not
 * squashed.  NULL: there was no roll-back. */
static const struct pipeline_insn *find_rollback(const struct pipeline_hart *hart, uint64_t *start,
						 uint64_t *end)
{
	uint64_t count = hart->rollbacks < ROLLBACKS ? hart->rollbacks : ROLLBACKS;

	for (uint64_t i = hart->rollbacks - count; i < hart->rollbacks; i++) {
		const struct rollback *rollback = &hart->rollback[i % ROLLBACKS];

		if (rollback->start >= *end || rollback->end <= *start || !rollback->first ||
		    hart->tail - rollback->first >= hart->room)
			continue;
		if (rollback->start > *start)
			*start = rollback->start;
		if (rollback->end < *end)
			*end = rollback->end;
		return &hart->ring[(rollback->first - 1) & (hart->room - 1)];
	}
	return NULL;
}

/* Account cycles in which the oldest instruction is in the reorder buffer and does not retire. */
static void account_stall(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
			  const struct pipeline_insn *insn, const struct retirement_span *whole)
{
	struct retirement_span part = *whole;
	uint64_t done = insn->complete < whole->start ? whole->start : insn->complete;

	if (whole->start >= whole->end)
		return;
	if (insn->dispatched == CYCLE_UNKNOWN)
		pipeline_count_rule(pipeline, PESA_PIPELINE_RULE_UNPLACED_ASSUMED,
				    whole->end - whole->start);
	/* Decision 1b: complete, and held while a wrong path is rolled back. */
	while (insn->complete != CYCLE_UNKNOWN && done < whole->end) {
		uint64_t start = done, end = whole->end;
		const struct pipeline_insn *branch = find_rollback(hart, &start, &end);
		struct exact_insn *fixed = branch ? pipeline_static(pipeline, branch) : NULL;
		uint16_t cause = PESA_CAUSE_BRANCH_MISPREDICT;

		if (!fixed) {
			pipeline_count_rule(pipeline, PESA_PIPELINE_RULE_HELD_ASSUMED,
					    whole->end - done);
			break;
		}
		cause |= branch->cause;
		if (start > done)
			pipeline_count_rule(pipeline, PESA_PIPELINE_RULE_HELD_ASSUMED,
					    start - done);
		part.end = start;
		count_stages(pipeline, insn, part.start, part.end);
		pipeline_account(pipeline, hart, &part);
		pipeline_account(
			pipeline, hart,
			&(struct retirement_span){start, end, fixed, PESA_STATE_FLUSHED, cause});
		pipeline_count_rule(pipeline, PESA_PIPELINE_RULE_ROLLBACK, end - start);
		part.start = done = end;
	}
	part.end = whole->end;
	if (part.start < part.end)
		count_stages(pipeline, insn, part.start, part.end);
	pipeline_account(pipeline, hart, &part);
}

void pipeline_close_group(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
			  struct retirement_block block)
{
	struct retirement *retirement = &hart->retirement;
	unsigned int count = retirement->count, named;
	uint16_t cause;

	if (!count)
		return;
	named = retirement_name(retirement, block, &cause);
	for (unsigned int i = 0; i < count; i++) {
		const struct retired *one = &retirement->group[i];
		struct exact_insn *fixed = (struct exact_insn *)one->insn;
		struct pesa_error *error =
			exact_store_add(&pipeline->store, fixed, PESA_STATE_RETIRING, count,
					named == i + 1 ? cause : 0, 1);

		if (!error && one->taken)
			error = exact_store_transfer(&pipeline->store, fixed, one->target);
		if (error)
			pipeline_fail(pipeline, error);
	}
	count_cycles(pipeline, retirement->group[0].insn, 1);
	if (hart->next_sample == retirement->cycle) {
		struct pesa_record record = {0};

		retirement_record_group(retirement,
					((const struct exact_insn *)retirement->group[0].insn)->pc,
					named, cause, pipeline->options.ct_targets, &record);
		deliver(pipeline, hart, retirement->cycle, &record);
	}
	if (pipeline->options.retire_width && count > pipeline->options.retire_width)
		pipeline_problem(pipeline, PESA_PIPELINE_WIDTH, "%u instructions in cycle %" PRId64,
				 count, (int64_t)retirement->cycle + pipeline->base);
	if (count > pipeline->summary.widest)
		pipeline->summary.widest = count;
	pipeline->summary.instructions += count;
	pipeline->summary.state[PESA_STATE_RETIRING]++;
	pipeline->summary.accounted++;
	if (pipeline->options.cycles)
		pipeline->options.cycles(pipeline->options.context, hart->index, retirement->cycle,
					 retirement->cycle + 1, PESA_STATE_RETIRING, cause);
	retirement_close(retirement);
}

/* ---- One instruction ------------------------------------------------------------------------- */

void pipeline_flush(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
		    const struct pipeline_insn *insn, uint16_t cause, uint64_t until,
		    enum pesa_pipeline_rule rule)
{
	struct exact_insn *fixed = pipeline_static(pipeline, insn);

	if (!fixed)
		return;
	retirement_flush(&hart->retirement, fixed, cause, until);
	hart->flush_rule = rule;
}

/* The cause that blocked the open group, if the log has no cycles of completion. */
static uint64_t assume_complete(const struct pesa_pipeline *pipeline,
				const struct retirement *retirement, uint64_t retired)
{
	uint32_t width = pipeline->options.retire_width;

	return retirement->count && width && retirement->count >= width ? retirement->cycle
									: retired;
}

struct retirement_passage pipeline_passage(const struct pesa_pipeline *pipeline,
					   const struct pipeline_hart *hart,
					   const struct pipeline_insn *insn)
{
	const struct retirement *retirement = &hart->retirement;
	uint64_t empty = retirement->count ? retirement->cycle + 1 : retirement->accounted;
	struct retirement_passage passage = {
		.dispatched = insn->dispatched,
		.complete = insn->complete,
		.retired = insn->ended,
		.front_cause = insn->front_cause,
		.cause = insn->cause,
	};

	if (passage.dispatched == CYCLE_UNKNOWN)
		passage.dispatched = insn->fetch;
	if (passage.complete == CYCLE_UNKNOWN)
		passage.complete = assume_complete(pipeline, retirement, insn->ended);
	/* Decision 1a: the reorder buffer is empty, and the instruction has not entered it. */
	if (passage.dispatched > empty) {
		passage.front_cause |= insn->empty_cause;
		passage.cause |= insn->empty_cause;
	}
	return passage;
}

/* Record a transfer, with the cycles since the one before: the first one has none. */
static void record_transfer(const struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
			    const struct retirement_passage *passage)
{
	uint64_t cycle = hart->retirement.cycle;
	uint32_t data = hart->branch_count ? transfer_cycles_encode(cycle - hart->branch_cycle) : 0;

	hart->branches[hart->branch_count++ % pipeline->options.ctr_depth] =
		(struct pesa_branch_entry){.from = ((const struct exact_insn *)passage->insn)->pc,
					   .to = passage->target,
					   .flags = transfer_cycles_flags(data) |
						    (passage->cause & PESA_CAUSE_BRANCH_MISPREDICT
							     ? PESA_BRANCH_MISPREDICTED
							     : 0)};
	hart->branch_cycle = cycle;
}

void pipeline_step(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
		   const struct pipeline_insn *insn, const struct retirement_passage *passage)
{
	struct retirement *retirement = &hart->retirement;
	struct retirement_span span[RETIREMENT_SPANS];
	uint64_t cycle;

	if (retirement_leaves_group(retirement, passage, &cycle)) {
		if (cycle != passage->retired && retirement->count == RETIREMENT_GROUP_MAX)
			pipeline_problem(pipeline, PESA_PIPELINE_WIDTH,
					 "more than %u instructions in cycle %" PRId64,
					 RETIREMENT_GROUP_MAX,
					 (int64_t)retirement->cycle + pipeline->base);
		pipeline_close_group(pipeline, hart, retirement_blocks(retirement, passage));
		retirement_idle(retirement, passage, cycle, span);
		if (span[0].start < span[0].end)
			pipeline_count_rule(pipeline, hart->flush_rule,
					    span[0].end - span[0].start);
		pipeline_account(pipeline, hart, &span[0]);
		pipeline_account(pipeline, hart, &span[1]);
		account_stall(pipeline, hart, insn, &span[2]);
		if (passage->faulted)
			return;
		retirement_open(retirement, cycle);
	}
	retirement_add(retirement, passage);
	if (passage->taken && hart->branches)
		record_transfer(pipeline, hart, passage);
}

void pipeline_fault(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
		    const struct pipeline_insn *insn, uint64_t cycle, uint64_t last,
		    enum pesa_pipeline_rule rule)
{
	struct retirement_passage passage = pipeline_passage(pipeline, hart, insn);

	passage.insn = pipeline_static(pipeline, insn);
	passage.retired = cycle;
	passage.faulted = true;
	if (!passage.insn)
		return;
	pipeline_step(pipeline, hart, insn, &passage);
	pipeline_flush(pipeline, hart, insn, insn->cause, last, rule);
}
