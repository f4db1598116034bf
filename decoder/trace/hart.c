// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Instructions in program order: what happened between each and its successor, whose cycles account.c
 * then accounts.
 *
 * Each instruction waits for its successor in program order: the address of the successor shows
 * whether control was transferred, and the cycles between the two show whether the pipeline was
 * flushed (infer()).  If the log names the flushing instruction, it is used; otherwise the rules of
 * Documentation/pipeline-traces.md apply, and the cycles decided by each rule are counted.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/trace/trace.h"

#define NO_FLUSH PESA_PIPELINE_RULE_COUNT

struct pipeline_hart *pipeline_hart(struct pesa_pipeline *pipeline, uint64_t thread)
{
	const struct pesa_pipeline_options *options = &pipeline->options;
	uint32_t count = pipeline->summary.harts;
	struct pipeline_hart *hart;

	for (uint32_t i = 0; i < count; i++)
		if (pipeline->hart[i]->thread == thread)
			return pipeline->hart[i];
	if (count == HARTS_MAX)
		return NULL;
	hart = calloc(1, sizeof(*hart));
	if (hart && options->ctr_depth)
		hart->branches = calloc(options->ctr_depth, sizeof(*hart->branches));
	if (!hart || (options->ctr_depth && !hart->branches)) {
		free(hart);
		pipeline_fail(pipeline, pesa_error_no_memory());
		return NULL;
	}
	hart->thread = thread;
	hart->index = count;
	hart->retirement.room = RETIREMENT_GROUP_MAX;
	hart->retirement.width =
		options->retire_width ? options->retire_width : RETIREMENT_GROUP_MAX;
	hart->random = retirement_seed(options->seed, 0, count);
	hart->next_sample =
		options->period
			? retirement_first_sample(&hart->random, options->period, options->jitter)
			: UINT64_MAX;
	pipeline->hart[count] = hart;
	pipeline->summary.harts++;
	return hart;
}

void pipeline_hart_free(struct pipeline_hart *hart)
{
	if (!hart)
		return;
	free(hart->branches);
	free(hart->ring);
	free(hart);
}

/* ---- Text ------------------------------------------------------------------------------------ */

static bool known(const struct exact_insn *fixed)
{
	return fixed->status == PESA_TEXT_OK;
}

static uint64_t behind(const struct pesa_pipeline *pipeline, const struct exact_insn *fixed)
{
	uint64_t next = fixed->pc + fixed->text.length;

	return pipeline->options.narrow ? next & UINT32_MAX : next;
}

static bool transfers(const struct exact_insn *fixed)
{
	return known(fixed) && fixed->text.flow != PESA_FLOW_NEXT &&
	       fixed->text.flow != PESA_FLOW_TRAP;
}

/* Whether control continued at `next` although the text does not lead there. */
static bool leaves_text(const struct pesa_pipeline *pipeline, const struct exact_insn *fixed,
			uint64_t next)
{
	if (!known(fixed) || next == behind(pipeline, fixed))
		return known(fixed) &&
		       (fixed->text.flow == PESA_FLOW_JUMP || fixed->text.flow == PESA_FLOW_CALL) &&
		       fixed->text.target != next;
	if (fixed->text.flow == PESA_FLOW_NEXT)
		return true;
	return fixed->text.has_target && fixed->text.target != next;
}

/* ---- Between two instructions ---------------------------------------------------------------- */

/* The first cycle in which the outcome of the instruction was known. */
static uint64_t resolved_in(const struct pipeline_insn *insn)
{
	return insn->complete != CYCLE_UNKNOWN ? insn->complete : insn->ended;
}

/* Whether the instruction transferred control to `next`, as far as the addresses and the text tell. */
static bool is_taken(const struct pesa_pipeline *pipeline, const struct pipeline_insn *insn,
		     const struct exact_insn *fixed, const struct pipeline_insn *next)
{
	return transfers(fixed) &&
	       (fixed->text.flow != PESA_FLOW_BRANCH ||
		(insn->has_pc && next->has_pc && next->pc != behind(pipeline, fixed)));
}

/*
 * Whether the front end redirected itself before `next`, and not the back end.  `next` was fetched
 *
 *   - before the instruction entered the reorder buffer: the front end redirected itself;
 *   - after that: the back end did;
 *   - in the same cycle: either is possible, since an in-order core executes, and redirects, in the
 *     cycle in which the instruction enters.  With squashed instructions the back end did, if some
 *     were squashed in that cycle or later, and the outcome was known by then, or none was squashed
 *     afterwards.  Without any the back end did, if the outcome, taken, was known by then, and this
 *     front end has never followed a transfer by itself.
 */
static bool front_end_redirected(const struct pipeline_hart *hart, const struct pipeline_insn *insn,
				 const struct pipeline_insn *next, bool taken)
{
	bool known_by_then = resolved_in(insn) <= next->fetch;

	if (insn->dispatched == CYCLE_UNKNOWN || next->fetch > insn->dispatched)
		return false;
	if (next->fetch < insn->dispatched)
		return true;
	if (!hart->has_wrong)
		return !taken || !known_by_then || hart->front_end_follows;
	if (hart->wrong_ended == CYCLE_UNKNOWN || hart->wrong_ended < insn->dispatched)
		return true;
	return !known_by_then && hart->wrong_ended > next->fetch;
}

/* Whether fetch waited for the outcome of a transfer after which nothing was squashed. */
static bool restarted(const struct pesa_pipeline *pipeline, const struct pipeline_hart *hart,
		      const struct pipeline_insn *insn, const struct exact_insn *fixed,
		      const struct pipeline_insn *next, bool taken)
{
	bool direct = fixed->text.flow == PESA_FLOW_JUMP || fixed->text.flow == PESA_FLOW_CALL;

	if (map_has_cause(pipeline->map, 2) || !transfers(fixed) || next->fetch < resolved_in(insn))
		return false;
	/* A log with wrong paths would contain the wrong path of a branch predicted taken. */
	if (pipeline->summary.flushed && !taken)
		return false;
	return !direct || (pipeline->summary.flushed && !hart->front_end_follows);
}

/* Whether a transfer whose target is the next instruction in memory, `next`, was redirected: the
 * squashed instructions never entered the reorder buffer, so they were not executed again. */
static bool transfers_to_following(const struct exact_insn *fixed, const struct pipeline_insn *next,
				   const struct pipeline_insn *wrong)
{
	return transfers(fixed) && wrong->dispatched == CYCLE_UNKNOWN &&
	       (!fixed->text.has_target || fixed->text.target == next->pc);
}

/* The rule by which `insn` flushed the pipeline before `next`, if it did. */
static enum pesa_pipeline_rule infer(const struct pesa_pipeline *pipeline,
				     struct pipeline_hart *hart, const struct pipeline_insn *insn,
				     const struct exact_insn *fixed,
				     const struct pipeline_insn *next)
{
	const struct pipeline_insn *wrong = hart->has_wrong ? &hart->wrong : NULL;
	bool serialises = fixed->serialises || insn->serialise;
	bool taken = is_taken(pipeline, insn, fixed, next);

	if (insn->flush)
		return PESA_PIPELINE_RULE_MARKED;
	if (map_has_mark(pipeline->map, MAP_FLUSH))
		return NO_FLUSH;
	if (front_end_redirected(hart, insn, next, taken)) {
		hart->front_end_follows |= taken && next->fetch < insn->dispatched;
		return NO_FLUSH;
	}
	if (wrong && wrong->has_pc && next->has_pc && wrong->pc == next->pc) {
		if (serialises)
			return PESA_PIPELINE_RULE_SERIALISE;
		return transfers_to_following(fixed, next, wrong) ? PESA_PIPELINE_RULE_MISPREDICT
								  : PESA_PIPELINE_RULE_REPLAY;
	}
	if (insn->cause & PESA_CAUSE_BRANCH_MISPREDICT)
		return PESA_PIPELINE_RULE_MISPREDICT;
	if (next->has_pc && insn->has_pc && leaves_text(pipeline, fixed, next->pc))
		return wrong && wrong->dispatched != CYCLE_UNKNOWN
			       ? PESA_PIPELINE_RULE_EXCEPTION_ASSUMED
			       : PESA_PIPELINE_RULE_TRAP_ASSUMED;
	if (wrong && transfers(fixed))
		return PESA_PIPELINE_RULE_MISPREDICT;
	if (wrong && serialises)
		return PESA_PIPELINE_RULE_SERIALISE;
	if (wrong)
		return known(fixed) ? PESA_PIPELINE_RULE_PHANTOM_ASSUMED
				    : PESA_PIPELINE_RULE_MISPREDICT_ASSUMED;
	if (serialises)
		return next->fetch >= resolved_in(insn) ? PESA_PIPELINE_RULE_SERIALISE_ASSUMED
							: NO_FLUSH;
	return restarted(pipeline, hart, insn, fixed, next, taken)
		       ? PESA_PIPELINE_RULE_RESTART_ASSUMED
		       : NO_FLUSH;
}

static bool mispredicted(enum pesa_pipeline_rule rule)
{
	return rule == PESA_PIPELINE_RULE_MISPREDICT ||
	       rule == PESA_PIPELINE_RULE_MISPREDICT_ASSUMED ||
	       rule == PESA_PIPELINE_RULE_RESTART_ASSUMED;
}

/* The cycle in which the redirected fetch would have delivered without the miss of `next` (Decision
 * 2). */
static uint64_t until(const struct pesa_pipeline *pipeline, const struct pipeline_insn *insn,
		      const struct pipeline_insn *next)
{
	if (insn->until != CYCLE_UNKNOWN)
		return insn->until;
	if (!next->front_cause || !pipeline->summary.front_depth)
		return UINT64_MAX;
	return next->fetch + pipeline->summary.front_depth;
}

/* Find whether the instruction transferred control, and its target. */
static void resolve(struct pesa_pipeline *pipeline, const struct pipeline_insn *insn,
		    const struct exact_insn *fixed, const struct pipeline_insn *next,
		    struct retirement_passage *passage)
{
	bool addresses_known = next && next->has_pc && insn->has_pc;

	if (!addresses_known) {
		passage->taken = transfers(fixed) && fixed->text.flow != PESA_FLOW_BRANCH;
		passage->target = known(fixed) ? behind(pipeline, fixed) : 0;
		return;
	}
	passage->target = next->pc;
	if (!known(fixed))
		passage->taken = next->pc != insn->pc + 2 && next->pc != insn->pc + 4;
	else
		passage->taken = next->pc != behind(pipeline, fixed) ||
				 (transfers(fixed) && fixed->text.flow != PESA_FLOW_BRANCH);
}

static void check_text(struct pesa_pipeline *pipeline, const struct pipeline_insn *insn,
		       const struct exact_insn *fixed)
{
	if (!insn->has_pc)
		pipeline_problem(pipeline, PESA_PIPELINE_WITHOUT_PC, "instruction %" PRIu64,
				 insn->number);
	else if (!pipeline->options.instruction)
		return;
	else if (fixed->status == PESA_TEXT_UNDECODABLE)
		pipeline_problem(pipeline, PESA_PIPELINE_UNDECODABLE,
				 "instruction %" PRIu64 " at %#" PRIx64, insn->number, insn->pc);
	else if (fixed->status != PESA_TEXT_OK)
		pipeline_problem(pipeline, PESA_PIPELINE_OUTSIDE,
				 "instruction %" PRIu64 " at %#" PRIx64, insn->number, insn->pc);
}

/* An instruction of the wrong path of the waiting instruction; CYCLE_UNKNOWN is the latest end. */
static void note_wrong(struct pipeline_hart *hart, const struct pipeline_insn *insn)
{
	if (!hart->has_wrong) {
		hart->wrong = *insn;
		hart->wrong_ended = insn->ended;
	} else if (insn->ended > hart->wrong_ended) {
		hart->wrong_ended = insn->ended;
	}
	hart->has_wrong = true;
}

/*
 * Whether a squashed instruction was on the correct path after the waiting instruction, so that it
 * faulted or was executed again.  The conditions are:
 *
 *   1. The text leads from the waiting instruction to it.
 *   2. It was fetched when the outcome of the waiting instruction was known, or after the wrong
 *      path of the waiting instruction had been squashed.
 *   3. It was in the reorder buffer, and was squashed after the waiting instruction had retired: no
 *      older instruction was left that could have squashed it.
 *   4. The waiting instruction is a transfer, serialises, or had a wrong path.
 */
static bool is_behind(struct pesa_pipeline *pipeline, const struct pipeline_hart *hart,
		      const struct pipeline_insn *insn)
{
	const struct pipeline_insn *last = &hart->last;
	struct exact_insn *fixed;

	if (map_has_mark(pipeline->map, MAP_FLUSH) || map_has_mark(pipeline->map, MAP_EXCEPTION) ||
	    !hart->has_last || insn->dispatched == CYCLE_UNKNOWN || insn->ended == CYCLE_UNKNOWN ||
	    !insn->has_pc || !last->has_pc || insn->ended <= last->ended)
		return false;
	if (hart->has_wrong &&
	    (hart->wrong_ended == CYCLE_UNKNOWN || insn->fetch < hart->wrong_ended))
		return false;
	if (insn->fetch < resolved_in(last) &&
	    !(hart->has_wrong && last->dispatched != CYCLE_UNKNOWN &&
	      hart->wrong_ended >= last->dispatched))
		return false;
	fixed = pipeline_static(pipeline, last);
	return fixed &&
	       (transfers(fixed) || fixed->serialises || last->serialise || hart->has_wrong) &&
	       !leaves_text(pipeline, fixed, insn->pc);
}

static void settle(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
		   const struct pipeline_insn *next);

/* Whether `next` shows that the instruction assumed to have faulted was squashed wrong path of the
 * waiting instruction: it was fetched again, or a branch went the other way. */
static bool was_wrong(struct pesa_pipeline *pipeline, const struct pipeline_hart *hart,
		      const struct pipeline_insn *next)
{
	const struct exact_insn *fixed = pipeline_static(pipeline, &hart->last);

	if (hart->has_wrong || !next->has_pc)
		return false;
	return next->pc == hart->faulted.pc ||
	       (fixed && transfers(fixed) && fixed->text.has_target &&
		!leaves_text(pipeline, fixed, next->pc));
}

/* Retire the waiting instruction, whose successor was squashed; then that successor. */
static void settle_faulted(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
			   const struct pipeline_insn *next)
{
	struct pipeline_insn *insn = &hart->faulted;
	bool again = next->has_pc && insn->pc == next->pc;

	settle(pipeline, hart, insn);
	pipeline_fault(pipeline, hart, insn, insn->ended, until(pipeline, insn, next),
		       again ? PESA_PIPELINE_RULE_REPLAY : PESA_PIPELINE_RULE_EXCEPTION_ASSUMED);
}

/* Retire the waiting instruction; `next` is its successor in program order, NULL: none. */
static void settle(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
		   const struct pipeline_insn *next)
{
	struct pipeline_insn *insn = &hart->last;
	enum pesa_pipeline_rule rule = NO_FLUSH;
	const struct pipeline_insn *successor = next;
	struct retirement_passage passage;
	struct exact_insn *fixed;

	if (!hart->has_last)
		return;
	if (hart->has_faulted) {
		hart->has_faulted = false;
		if (next && !was_wrong(pipeline, hart, next)) {
			settle_faulted(pipeline, hart, next);
			return;
		}
		note_wrong(hart, &hart->faulted);
	}
	hart->has_last = false;
	fixed = pipeline_static(pipeline, insn);
	if (!fixed)
		return;
	check_text(pipeline, insn, fixed);
	if (pipeline->options.step && next && next->has_pc && insn->has_pc)
		pipeline->options.step(pipeline->options.context, insn->pc, next->pc);
	if (next)
		rule = infer(pipeline, hart, insn, fixed, next);
	if (rule == PESA_PIPELINE_RULE_EXCEPTION_ASSUMED)
		successor = &hart->wrong;
	if (mispredicted(rule))
		insn->cause |= PESA_CAUSE_BRANCH_MISPREDICT;
	passage = pipeline_passage(pipeline, hart, insn);
	passage.insn = fixed;
	resolve(pipeline, insn, fixed, successor, &passage);
	if (successor && successor->has_pc && insn->has_pc && rule == NO_FLUSH &&
	    leaves_text(pipeline, fixed, successor->pc))
		pipeline_problem(pipeline, PESA_PIPELINE_FLOW, "from %#" PRIx64 " to %#" PRIx64,
				 insn->pc, successor->pc);
	if (insn->ended < hart->retired)
		pipeline_problem(pipeline, PESA_PIPELINE_ORDER, "instruction %" PRIu64,
				 insn->number);
	else
		hart->retired = insn->ended;
	pipeline_step(pipeline, hart, insn, &passage);
	if (rule == NO_FLUSH)
		return;
	if (rule == PESA_PIPELINE_RULE_EXCEPTION_ASSUMED)
		pipeline_fault(pipeline, hart, &hart->wrong,
			       hart->wrong.ended != CYCLE_UNKNOWN ? hart->wrong.ended : next->fetch,
			       until(pipeline, &hart->wrong, next), rule);
	else
		pipeline_flush(pipeline, hart, rule == PESA_PIPELINE_RULE_REPLAY ? next : insn,
			       rule == PESA_PIPELINE_RULE_REPLAY ? hart->wrong.cause
								 : passage.cause,
			       until(pipeline, insn, next), rule);
}

static void learn_depth(struct pesa_pipeline *pipeline, const struct pipeline_insn *insn)
{
	uint64_t depth;

	if (pipeline->map->front_depth || insn->dispatched == CYCLE_UNKNOWN || insn->front_cause)
		return;
	depth = insn->dispatched - insn->fetch;
	if (depth && depth < UINT32_MAX &&
	    (!pipeline->summary.front_depth || depth < pipeline->summary.front_depth))
		pipeline->summary.front_depth = (uint32_t)depth;
}

/* Process an instruction with all its micro-ops. */
static void take_whole(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
		       const struct pipeline_insn *insn)
{
	if (insn->fate == FATE_RETIRED) {
		learn_depth(pipeline, insn);
		settle(pipeline, hart, insn);
		hart->last = *insn;
		hart->has_last = true;
		hart->has_wrong = false;
		return;
	}
	pipeline->summary.flushed++;
	if (insn->exception) {
		settle(pipeline, hart, insn);
		pipeline_fault(pipeline, hart, insn, insn->ended, insn->until,
			       PESA_PIPELINE_RULE_EXCEPTION);
		hart->has_wrong = false;
	} else if (insn->flush) {
		/* It was on the correct path, and is executed again. */
		settle(pipeline, hart, insn);
		pipeline_flush(pipeline, hart, insn, insn->cause, insn->until,
			       PESA_PIPELINE_RULE_MARKED);
		hart->has_wrong = false;
	} else if (!hart->has_faulted && is_behind(pipeline, hart, insn)) {
		hart->faulted = *insn;
		hart->has_faulted = true;
	} else if (!hart->has_faulted) {
		note_wrong(hart, insn);
	}
}

static void join(struct pipeline_insn *whole, const struct pipeline_insn *part)
{
	whole->cause |= part->cause;
	whole->front_cause |= part->front_cause;
	whole->empty_cause |= part->empty_cause;
	whole->flush |= part->flush;
	whole->exception |= part->exception;
	whole->serialise |= part->serialise;
	if (part->until != CYCLE_UNKNOWN)
		whole->until = part->until;
	if (whole->complete != CYCLE_UNKNOWN &&
	    (part->complete == CYCLE_UNKNOWN || part->complete > whole->complete))
		whole->complete = part->complete;
	if (part->ended != CYCLE_UNKNOWN &&
	    (whole->ended == CYCLE_UNKNOWN || part->ended > whole->ended))
		whole->ended = part->ended;
	if (part->fate == FATE_FLUSHED)
		whole->fate = FATE_FLUSHED;
	if (!whole->has_pc) {
		whole->pc = part->pc;
		whole->has_pc = part->has_pc;
	}
	/* The oldest instruction waits for its last micro-op. */
	whole->stages = part->stages;
	memcpy(whole->stage, part->stage, sizeof(whole->stage));
	for (unsigned int i = 0; i < whole->stages; i++)
		whole->stage[i].after += (uint32_t)(part->fetch - whole->fetch);
}

static void tell_passed(const struct pesa_pipeline *pipeline, const struct pipeline_hart *hart,
			const struct pipeline_insn *insn)
{
	const struct pesa_pipeline_passed passed = {
		.hart = hart->index,
		.has_pc = insn->has_pc,
		.retired = insn->fate == FATE_RETIRED,
		.pc = insn->pc,
		.fetch = insn->fetch,
		.ended = insn->ended,
		.entry = insn->stage,
		.entries = insn->stages,
	};

	pipeline->options.passed(pipeline->options.context, &passed);
}

void pipeline_take(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
		   const struct pipeline_insn *insn)
{
	uint64_t alive = insn->fate == FATE_RETIRED ? insn->ended + 1 : insn->ended;

	if (insn->ended != CYCLE_UNKNOWN && alive > hart->alive)
		hart->alive = alive;
	if (pipeline->options.passed)
		tell_passed(pipeline, hart, insn);
	if (insn->joins && hart->has_joined && insn->fate != FATE_IN_FLIGHT &&
	    (!insn->has_pc || !hart->joined.has_pc || insn->pc == hart->joined.pc)) {
		join(&hart->joined, insn);
		return;
	}
	if (hart->has_joined)
		take_whole(pipeline, hart, &hart->joined);
	hart->joined = *insn;
	hart->has_joined = true;
}

void pipeline_hart_end(struct pesa_pipeline *pipeline, struct pipeline_hart *hart,
		       const struct pipeline_insn *open, uint64_t end)
{
	struct retirement *retirement = &hart->retirement;
	struct retirement_passage passage;
	struct exact_insn *fixed;

	if (hart->has_joined)
		take_whole(pipeline, hart, &hart->joined);
	hart->has_joined = false;
	settle(pipeline, hart, open);
	/* The open instruction has this much of its passage behind it. */
	if (open && (fixed = pipeline_static(pipeline, open))) {
		passage = pipeline_passage(pipeline, hart, open);
		passage.insn = fixed;
		passage.retired = end;
		passage.faulted = true;
		if (open->dispatched == CYCLE_UNKNOWN)
			passage.dispatched = end;
		if (passage.complete == CYCLE_UNKNOWN)
			passage.complete = end;
		pipeline_close_group(pipeline, hart, retirement_blocks(retirement, &passage));
		if (retirement->accounted < end)
			pipeline_count_rule(pipeline, PESA_PIPELINE_RULE_OPEN_ASSUMED,
					    end - retirement->accounted);
		pipeline_step(pipeline, hart, open, &passage);
	}
	pipeline_close_group(pipeline, hart, (struct retirement_block){0});
	/* Only squashed instructions were left: they were fetched after the newest instruction. */
	if (retirement->accounted < end && !pipeline->error) {
		const struct pipeline_insn *newest = hart->has_wrong ? &hart->wrong : &hart->last;
		struct retirement_span span = {retirement->accounted, end, retirement->flushed_by,
					       PESA_STATE_FLUSHED, retirement->flush_cause};

		if (!span.insn) {
			span.insn = pipeline_static(pipeline, newest);
			span.cause = 0;
			span.state = PESA_STATE_DRAINED;
		}
		pipeline_count_rule(pipeline, PESA_PIPELINE_RULE_OPEN_ASSUMED, end - span.start);
		if (span.insn)
			pipeline_account(pipeline, hart, &span);
	}
}
