/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One iteration of a block on an in-order processor, into a cycle stack: the same rules as
 * engine/in_order.c.
 *
 * The plan says which results an operand reads, so there is no register file.  In cycles in which
 * nothing can happen only the cycle stack goes on.  The ring has no other instruction in it than the last
 * mispredicted branch, for the front end.
 */
#include "decoder/mca/engine/commit.h"
#include "decoder/mca/engine/inflight.h"
#include "decoder/mca/fast/fast.h"
#include "decoder/mca/stack/cycle_stack.h"

struct in_order {
	struct mca_fast *fast;
	struct pesa_mca_cycle_stack *stack;
	uint32_t bandwidth, issued_in_cycle; /* micro-ops */
	uint32_t carried, carry_over;	     /* an instruction that is issuing still, or NONE */
	int32_t *
		latency; /* by number: of all results, in place of the plan's; negative: the plan's */
	uint32_t *issued; /* numbers: not retired; in the engine's order */
	uint32_t issued_count;
	uint32_t ordered, barriers; /* memory instructions and barriers that have not executed */
	uint64_t *committed;	    /* by number: cycle in which it retires, see commit.h */
	struct mca_commit commit;
	uint64_t first_end;  /* cycle: the first of them has executed */
	uint64_t write_back; /* cycle: until it, what writes back earlier waits */
	bool stalled;	     /* the last instruction that was delivered */
	uint64_t retry;
	enum mca_stall_reason reason;
	bool active; /* something happened in this cycle */
	struct pesa_error *error;
};

/* Count memory instructions that barriers wait for, and barriers. */
static void count_ordered(struct in_order *run, uint32_t number, int more)
{
	const struct mca_fast_instruction *plan = &run->fast->plan[number];

	run->ordered += mca_fast_is_memory(plan) * more;
	run->barriers += plan->barrier * more;
}

static const struct mca_lowered *lowered_of(const struct in_order *run, uint32_t number)
{
	return &run->fast->block->lowered[number];
}

static uint32_t latency_of(const struct in_order *run, uint32_t number)
{
	int32_t given = run->latency[number];

	return given < 0 ? run->fast->plan[number].latency : (uint32_t)given;
}

static void note(struct in_order *run, struct pesa_error *error)
{
	if (run->error)
		pesa_error_free(error);
	else
		run->error = error;
}

/* ---- Retire ---------------------------------------------------------------------------------- */

static void retire(struct in_order *run, uint32_t number)
{
	struct mca_fast *fast = run->fast;

	fast->times.retired[number] = fast->now;
	count_ordered(run, number, -1);
	mca_cycle_stack_executed(run->stack, number);
	note(run, mca_cycle_stack_retired(run->stack, number));
	if (fast->front_end.waiting && fast->front_end.branch == number) {
		struct mca_fast_inflight *branch = mca_fast_inflight(fast, number);

		branch->stage = MCA_ISSUED;
		branch->time = fast->now;
	}
	fast->head++;
	run->active = true;
}

static void retire_executed(struct in_order *run)
{
	const struct mca_times *times = &run->fast->times;

	if (run->first_end > run->fast->now)
		return;
	run->first_end = UINT64_MAX;
	for (uint32_t i = 0; i < run->issued_count;) {
		uint32_t number = run->issued[i];

		if (times->executed[number] > run->fast->now) {
			if (times->executed[number] < run->first_end)
				run->first_end = times->executed[number];
			i++;
			continue;
		}
		run->issued[i] = run->issued[--run->issued_count];
		if (run->carried != number)
			retire(run, number);
	}
}

static void carry_over(struct in_order *run)
{
	uint32_t number = run->carried;

	if (number == MCA_FAST_NONE)
		return;
	run->active = true;
	if (run->carry_over > run->bandwidth) {
		run->carry_over -= run->bandwidth;
		run->bandwidth = 0;
		return;
	}
	run->bandwidth = run->fast->plan[number].end_group ? 0 : run->bandwidth - run->carry_over;
	run->carried = MCA_FAST_NONE;
	run->carry_over = 0;
	if (run->fast->times.executed[number] <= run->fast->now)
		retire(run, number);
}

/* ---- Issue ----------------------------------------------------------------------------------- */

/* Cycles until the result is there for the operand; *unknown: its writer has to have executed first. */
static int64_t cycles_left(const struct in_order *run, const struct mca_fast_edge *edge,
			   uint32_t writer, bool *unknown)
{
	const struct mca_times *times = &run->fast->times;
	int32_t given = run->latency[writer];
	int64_t now = (int64_t)run->fast->now;

	if (times->retired[writer] != UINT64_MAX) {
		if (edge->at_retirement)
			return (int64_t)run->committed[writer] + edge->delay - now;
		return edge->advance < 0 ? (int64_t)times->retired[writer] - edge->advance - now
					 : 0;
	}
	if (edge->at_retirement) {
		*unknown = true;
		return 0;
	}
	if (run->fast->now < times->executed[writer])
		return (int64_t)times->dispatched[writer] +
		       (given < 0 ? edge->delay : given - edge->advance) - now;
	return given < 0 ? mca_fast_rest(edge, run->fast->plan[writer].latency) : -edge->advance;
}

/* Cycles until the operands can be read, as the engine finds them: those of the first that cannot. */
static uint64_t operand_hazard(const struct in_order *run, uint32_t number)
{
	const struct mca_fast_instruction *plan = &run->fast->plan[number];
	const struct mca_fast_edge *edge = &run->fast->sources[plan->first_source];
	const struct mca_fast_edge *end = edge + plan->sources;

	while (edge < end) {
		uint16_t read = edge->read;
		int64_t hazard = 0;
		bool unknown = false;

		for (; edge < end && edge->read == read; edge++) {
			int64_t cycles = cycles_left(run, edge, number - edge->distance, &unknown);

			if (cycles > hazard)
				hazard = cycles;
		}
		if (hazard)
			return (uint64_t)hazard;
		if (unknown)
			return 1;
	}
	return 0;
}

static uint32_t first_write_back(const struct in_order *run, uint32_t number)
{
	const struct mca_lowered *lowered = lowered_of(run, number);
	uint32_t first = latency_of(run, number);

	for (unsigned int i = 0; i < lowered->writes && run->latency[number] < 0; i++)
		if ((uint32_t)lowered->write[i].latency < first)
			first = (uint32_t)lowered->write[i].latency;
	return first;
}

static void stall(struct in_order *run, uint64_t cycles, enum mca_stall_reason reason)
{
	run->stalled = true;
	run->retry = run->fast->now + cycles;
	run->reason = reason;
}

static bool retires_out_of_order(const struct in_order *run, uint32_t number)
{
	return run->fast->plan[number].description->flags & MCA_CLASS_RETIRE_OUT_OF_ORDER;
}

/* A barrier waits for all older memory instructions, and the younger ones for it. */
static bool waits_for_memory(const struct in_order *run, uint32_t number)
{
	const struct mca_fast_instruction *plan = &run->fast->plan[number];

	return plan->barrier ? run->ordered : mca_fast_is_memory(plan) && run->barriers;
}

static bool can_issue(struct in_order *run, uint32_t number)
{
	struct mca_fast *fast = run->fast;
	uint64_t hazard = operand_hazard(run, number), back;

	if (hazard) {
		stall(run, hazard, MCA_STALL_OPERANDS);
		return false;
	}
	if (mca_resources_busy(&fast->resources, fast->plan[number].description)) {
		stall(run, 1, MCA_STALL_RESOURCES);
		return false;
	}
	if (waits_for_memory(run, number)) {
		stall(run, 1, MCA_STALL_MEMORY);
		return false;
	}
	if (run->write_back <= fast->now || retires_out_of_order(run, number))
		return true;
	back = fast->now + first_write_back(run, number);
	if (back >= run->write_back)
		return true;
	stall(run, run->write_back - back, MCA_STALL_WRITE_BACK);
	return false;
}

/* Take the issue slots; returns whether the instruction needs more of them than this cycle has. */
static bool take_slots(struct in_order *run, uint32_t number)
{
	const struct mca_fast_instruction *plan = &run->fast->plan[number];

	if (plan->micro_ops > run->bandwidth) {
		run->carry_over = plan->micro_ops - run->bandwidth;
		run->carried = number;
		run->bandwidth = 0;
		return true;
	}
	run->issued_in_cycle += plan->micro_ops;
	run->bandwidth = plan->end_group ? 0 : run->bandwidth - plan->micro_ops;
	return false;
}

static void try_issue(struct in_order *run, uint32_t number)
{
	struct mca_fast *fast = run->fast;
	struct mca_pipe pipes[MCA_PIPES_MAX];
	uint64_t end = fast->now + latency_of(run, number);
	bool carries_over;

	if (!can_issue(run, number)) {
		run->bandwidth = 0;
		return;
	}
	run->active = true;
	mca_cycle_stack_dispatched(run->stack, number);
	mca_resources_issue(&fast->resources, fast->now, fast->plan[number].description, pipes);
	count_ordered(run, number, 1);
	fast->times.dispatched[number] = fast->now;
	fast->times.executed[number] = end;
	carries_over = take_slots(run, number);
	run->committed[number] =
		mca_commit_next(&run->commit, fast->now, end, carries_over ? run->carry_over : 0,
				fast->plan[number].taken);
	if (end <= fast->now && !carries_over) {
		retire(run, number);
		return;
	}
	run->issued[run->issued_count++] = number;
	if (end < run->first_end)
		run->first_end = end;
	if (!retires_out_of_order(run, number))
		run->write_back = end;
}

static void tell_stalled(const struct in_order *run)
{
	if (run->reason == MCA_STALL_OPERANDS || run->reason == MCA_STALL_RESOURCES)
		mca_cycle_stack_stalled(run->stack, run->fast->tail - 1);
}

static void issue_stalled(struct in_order *run)
{
	if (!run->stalled)
		return;
	if (run->retry <= run->fast->now) {
		run->stalled = false;
		try_issue(run, run->fast->tail - 1);
	}
	if (run->stalled) {
		tell_stalled(run);
		run->bandwidth = 0;
	}
}

static bool is_available(const struct in_order *run)
{
	const struct mca_fast *fast = run->fast;
	const struct mca_fast_instruction *plan = &fast->plan[fast->tail];
	uint32_t width = fast->model->issue_width;

	if (run->stalled || run->carried != MCA_FAST_NONE)
		return false;
	if (run->bandwidth < plan->micro_ops && plan->micro_ops <= width)
		return false;
	if (plan->micro_ops > width && run->issued_in_cycle)
		return false;
	return !plan->begin_group || !run->issued_in_cycle;
}

/* The next instruction arrives. */
static void deliver(struct in_order *run)
{
	struct mca_fast *fast = run->fast;
	const struct mca_lowered *lowered = lowered_of(run, fast->tail);

	mca_fast_delivered(fast);
	run->active = true;
	if (!fast->front_end.options)
		return;
	if (lowered->late) {
		run->latency[fast->tail] =
			(int32_t)(fast->plan[fast->tail].latency + lowered->late);
		note(run, mca_cycle_stack_missed(run->stack, fast->tail));
	}
	if (lowered->mispredicted) {
		mca_fast_inflight(fast, fast->tail)->stage = MCA_FETCHED;
		note(run, mca_cycle_stack_mispredicted(run->stack, fast->tail));
	}
}

static void issue_delivered(struct in_order *run)
{
	struct mca_fast *fast = run->fast;

	while (fast->tail < fast->last && mca_fast_delivers(fast) && is_available(run)) {
		deliver(run);
		fast->position = ++fast->tail;
		try_issue(run, fast->tail - 1);
		if (run->stalled)
			tell_stalled(run);
	}
}

/* ---- The run --------------------------------------------------------------------------------- */

/* The next cycle in which something can happen, after one in which nothing did. */
static uint64_t next_cycle(const struct in_order *run)
{
	const struct mca_fast *fast = run->fast;
	uint64_t next = mca_fast_resumes(fast);

	if (run->first_end < next)
		next = run->first_end;
	if (run->stalled && run->reason == MCA_STALL_RESOURCES) {
		if (fast->resources.busy_count && fast->resources.earliest_release < next)
			next = fast->resources.earliest_release;
	} else if (run->stalled && run->retry < next) {
		next = run->retry;
	}
	return next > fast->now ? next : fast->now + 1;
}

static bool is_done(const struct in_order *run)
{
	return run->fast->tail == run->fast->last && !run->issued_count && !run->stalled &&
	       run->carried == MCA_FAST_NONE;
}

static struct pesa_error *execute(struct in_order *run)
{
	struct mca_fast *fast = run->fast;
	uint64_t progress = 0, next;

	for (; !is_done(run) && !run->error; fast->now = next) {
		mca_cycle_stack_begin(run->stack);
		run->active = fast->front_end.options && mca_fast_fetch(fast);
		run->issued_in_cycle = 0;
		run->bandwidth = fast->model->issue_width;
		mca_resources_cycle(&fast->resources, fast->now);
		retire_executed(run);
		carry_over(run);
		issue_stalled(run);
		issue_delivered(run);
		next = run->active ? fast->now + 1 : next_cycle(run);
		if (run->active)
			progress = fast->now;
		if (next - progress > MCA_STUCK_CYCLES)
			return mca_stuck(fast->model, fast->head);
		note(run, mca_cycle_stack_end(run->stack, next - fast->now - 1));
	}
	return run->error;
}

bool mca_fast_serves_in_order(const struct pesa_mca_block *block,
			      const struct pesa_mca_run_options *options)
{
	return !pesa_mca_model_is_out_of_order(block->model) && options->free_order &&
	       mca_fast_serves_one_iteration(block, options);
}

struct pesa_error *mca_fast_stack_in_order(const struct pesa_mca_block *block,
					   const struct pesa_mca_run_options *options,
					   struct pesa_mca_cycle_stack *stack)
{
	struct mca_fast fast;
	struct pesa_error *error = mca_fast_start(&fast, block, options, false);
	struct in_order run = {
		.fast = &fast,
		.stack = stack,
		.carried = MCA_FAST_NONE,
		.first_end = UINT64_MAX,
		.commit = {.issue_width = block->model->issue_width,
			   .width = options->commit_width,
			   .most = options->retired_branches},
	};

	if (error)
		return error;
	run.issued = mca_arena_take_raw(&fast.arena, block->count * sizeof(*run.issued));
	run.latency = mca_arena_take_raw(&fast.arena, block->count * sizeof(*run.latency));
	run.committed = mca_arena_take_raw(&fast.arena, block->count * sizeof(*run.committed));
	for (unsigned int i = 0; i < block->count && run.latency; i++) {
		fast.times.retired[i] = UINT64_MAX;
		run.latency[i] = -1;
	}
	error = run.issued && run.latency && run.committed ? execute(&run) : pesa_error_no_memory();
	mca_fast_free(&fast);
	return error;
}
