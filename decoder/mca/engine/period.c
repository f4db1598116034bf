/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A steady state of a run with listeners.
 *
 * A run without events finds from which cycle on, and after how many cycles, the machine is in the same
 * state again.  The state leaves out what only events tell: what delayed an instruction, the order of
 * lists within a cycle.  All that follows from the times of instructions in flight together.  So the
 * run with events is executed until those that were in flight in that cycle have retired, and for one
 * period more.  The events of this period are those of every later one.
 */
#include "decoder/mca/engine/events.h"
#include "decoder/mca/engine/use.h"

bool mca_period_is_wanted(const struct pesa_mca_run_options *options,
			  const struct pesa_mca_listener *listeners, unsigned int count)
{
	if (options->every_iteration || options->stimuli ||
	    options->iterations <= options->first_iterations)
		return false;
	for (unsigned int i = 0; i < count; i++)
		if (listeners[i].kinds & ~MCA_COUNTED &&
		    !(listeners[i].kinds & 1u << PESA_MCA_REPEATED))
			return false;
	return true;
}

static void repeat(struct mca_run *run)
{
	struct mca_repetition *repetition = &run->repetition;
	uint64_t period = repetition->period.instructions;
	uint64_t times = (run->last_number - run->next_number - 1) / period;

	run->steady.cycles = times * repetition->period.cycles;
	run->last_number -= times * period;
	mca_use_repeat(&run->use, times);
	if (mca_wants(run, PESA_MCA_REPEATED))
		mca_send(run, &(struct pesa_mca_event){
				      .kind = PESA_MCA_REPEATED,
				      .instruction = (unsigned int)(times * period),
				      .times = times,
			      });
}

/* All instructions before this one have retired. */
static uint64_t oldest(const struct mca_run *run)
{
	const struct mca_inflight *const others[] = {run->current, run->stalled, run->carried_over};
	uint64_t number = run->next_number;

	if (pesa_mca_model_is_out_of_order(run->model))
		return run->retired;
	for (unsigned int i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i] && others[i]->instruction < number)
			number = others[i]->instruction;
	for (unsigned int i = 0; i < run->issued.count; i++)
		if (run->issued.list[i]->instruction < number)
			number = run->issued.list[i]->instruction;
	return number;
}

/* Those that were in flight then have retired, and those whose events are sent in any case. */
static bool has_passed(const struct mca_run *run)
{
	uint64_t first = oldest(run);

	return first >= run->repetition.fetched &&
	       first >= (uint64_t)run->options->first_iterations * run->block->count;
}

void mca_period_cycle(struct mca_run *run)
{
	struct mca_repetition *repetition = &run->repetition;
	const struct mca_period *period = &repetition->period;

	if (run->now < period->begin)
		return;
	if (run->now == period->begin)
		repetition->fetched = run->next_number;
	if (!repetition->marked) {
		if (!has_passed(run))
			return;
		repetition->marked = true;
		repetition->then = run->now;
		repetition->then_number = run->next_number;
		repetition->then_retired = run->retired;
		mca_use_mark(&run->use);
		mca_send_simple(run, PESA_MCA_PERIOD_BEGIN, NULL);
	} else if (run->now == repetition->then + period->cycles) {
		/* Whoever changed one of the engines so that they differ sees slow runs, not wrong ones. */
		if (run->next_number - repetition->then_number == period->instructions &&
		    run->retired - repetition->then_retired == period->instructions &&
		    run->next_number < run->last_number)
			repeat(run);
		repetition->period.cycles = 0;
	}
}
