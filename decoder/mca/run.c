/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running a block, on the fast path if it supports the run and nothing listens.  Where something does,
 * a run without events first looks for a period. */
#include "decoder/mca/engine/stimuli.h"
#include "decoder/mca/engine/use.h"
#include "decoder/mca/fast/fast.h"
#include "decoder/mca/stack/cycle_stack.h"

static struct pesa_error *check_options(const struct pesa_mca_block *block,
					const struct pesa_mca_run_options *options)
{
	if (!block->count)
		return pesa_error_create(PESA_ERROR_ARGUMENT, "the block has no instructions");
	if (!options->iterations)
		return pesa_error_create(PESA_ERROR_ARGUMENT, "0 iterations; at least 1 is needed");
	if ((uint64_t)options->iterations * block->count > INT32_MAX)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "%u iterations of %u instructions are too many; the limit "
					 "is %d instructions in all",
					 options->iterations, block->count, INT32_MAX);
	return options->stimuli ? mca_stimuli_check(options->stimuli) : NULL;
}

static bool is_listened_to(const struct pesa_mca_listener *listeners, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (listeners[i].kinds & ~MCA_COUNTED)
			return true;
	return false;
}

/* In order the reference engine itself searches, if nothing listens. */
static struct pesa_error *find_period_in_order(const struct pesa_mca_block *block,
					       const struct pesa_mca_run_options *options,
					       struct mca_period *period)
{
	struct mca_run *run;
	struct pesa_error *error = mca_run_start(block, options, NULL, 0, &run);

	if (error)
		return error;
	while (!error && run->steady.searching && !run->done)
		error = mca_run_cycles(run, run->now + MCA_PERIOD_STEP);
	if (!error)
		*period = run->steady.period;
	mca_run_free(run);
	return error;
}

static struct pesa_error *find_period(const struct pesa_mca_block *block,
				      const struct pesa_mca_run_options *options,
				      struct mca_period *period)
{
	if (mca_fast_serves(block, options))
		return mca_fast_period(block, options, period);
	return pesa_mca_model_is_out_of_order(block->model)
		       ? NULL
		       : find_period_in_order(block, options, period);
}

struct pesa_error *pesa_mca_cycle_stack_run(const struct pesa_mca_block *block,
					    const struct pesa_mca_run_options *options,
					    struct pesa_mca_cycle_stack *stack)
{
	const struct pesa_mca_listener listener = pesa_mca_cycle_stack_listener(stack);
	struct pesa_error *error = check_options(block, options);
	uint64_t cycles;

	if (error)
		return error;
	mca_cycle_stack_commit(stack, block, options);
	if (mca_fast_serves_in_order(block, options))
		error = mca_fast_stack_in_order(block, options, stack);
	else if (options->iterations == 1 && mca_fast_serves(block, options))
		return mca_fast_stack(block, options, stack, &cycles);
	else
		error = pesa_mca_run(block, options, &listener, 1, &cycles);
	return error ? error : mca_cycle_stack_finish(stack);
}

struct pesa_error *pesa_mca_run(const struct pesa_mca_block *block,
				const struct pesa_mca_run_options *options,
				const struct pesa_mca_listener *listeners, unsigned int count,
				uint64_t *cycles)
{
	struct pesa_error *error = check_options(block, options);
	bool listened_to = is_listened_to(listeners, count);
	struct mca_period period = {0};
	struct mca_run *run;

	if (error)
		return error;
	if (!listened_to && mca_fast_serves(block, options))
		return mca_fast_run(block, options, listeners, count, cycles);
	if (listened_to && mca_period_is_wanted(options, listeners, count))
		error = find_period(block, options, &period);
	if (!error)
		error = mca_run_start(block, options, listeners, count, &run);
	if (error)
		return error;
	run->repetition.period = period;
	error = mca_run_cycles(run, UINT64_MAX);
	if (!error)
		error = mca_use_send(&run->use, block, listeners, count);
	if (!error)
		*cycles = run->now + run->steady.cycles;
	mca_run_free(run);
	return error;
}
