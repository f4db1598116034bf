// SPDX-License-Identifier: GPL-2.0-or-later
/* Timed branches against a model: see include/pesa/timed_compare.h. */
#include <stdlib.h>

#include "decoder/compare/timed/inside.h"

static struct pesa_error *take_branches(void *context, const struct pesa_profile_branches *branches)
{
	struct pesa_timed_compare *timed = context;
	const struct pesa_profile_listener *blocks = pesa_timed_blocks_listener(timed->blocks);
	struct pesa_error *error = blocks->branches(blocks->context, branches);

	return error ? error : timed_stacks_add(&timed->stacks, branches);
}

struct pesa_timed_compare *pesa_timed_compare_create(bool details)
{
	struct pesa_timed_compare *timed = calloc(1, sizeof(*timed));

	if (!timed)
		return NULL;
	timed->listener = (struct pesa_profile_listener){
		.branches = take_branches,
		.no_branches_beside_details = !details,
		.context = timed,
	};
	timed->blocks = pesa_timed_blocks_create();
	if (timed->blocks)
		return timed;
	free(timed);
	return NULL;
}

void pesa_timed_compare_free(struct pesa_timed_compare *timed)
{
	if (!timed)
		return;
	pesa_timed_blocks_free(timed->blocks);
	timed_stacks_free(&timed->stacks);
	compare_code_free(&timed->code);
	free(timed->loop);
	free(timed->of_blocks.execution);
	free(timed->of_blocks.difference);
	free(timed->of_loops.execution);
	free(timed->of_loops.difference);
	free(timed);
}

const struct pesa_profile_listener *
pesa_timed_compare_listener(const struct pesa_timed_compare *timed)
{
	return &timed->listener;
}

uint64_t pesa_timed_compare_samples(const struct pesa_timed_compare *timed)
{
	return timed->stacks.seen;
}

struct pesa_error *pesa_timed_compare_predict(struct pesa_timed_compare *timed,
					      const struct pesa_profile *profile,
					      const struct pesa_mca_model *model,
					      const struct pesa_compare_options *options)
{
	struct pesa_error *error = pesa_timed_blocks_finish(timed->blocks, profile);

	if (!error)
		error = timed_spans_decode(timed, profile, model, options->processor);
	if (!error)
		error = timed_spans_order(timed);
	if (!error)
		error = timed_loops_find(timed);
	if (!error)
		error = timed_run(timed, model, options);
	return error ? error : timed_judge(timed, options->confidence);
}

const struct pesa_timed_blocks *pesa_timed_compare_blocks(const struct pesa_timed_compare *timed)
{
	return timed->blocks;
}

size_t pesa_timed_compare_count(const struct pesa_timed_compare *timed)
{
	return timed->of_blocks.count;
}

const struct pesa_timed_difference *pesa_timed_compare_at(const struct pesa_timed_compare *timed,
							  size_t index)
{
	return &timed->of_blocks.difference[index];
}

size_t pesa_timed_compare_loop_count(const struct pesa_timed_compare *timed)
{
	return timed->of_loops.count;
}

const struct pesa_timed_difference *
pesa_timed_compare_loop_at(const struct pesa_timed_compare *timed, size_t index)
{
	return &timed->of_loops.difference[index];
}

const struct pesa_timed_compare_totals *
pesa_timed_compare_totals(const struct pesa_timed_compare *timed)
{
	return &timed->totals;
}

const char *pesa_timed_verdict_name(enum pesa_timed_verdict verdict)
{
	static const char *const names[] = {
		[PESA_TIMED_TOO_FEW] = "too few", [PESA_TIMED_AGREES] = "agrees",
		[PESA_TIMED_MOVED] = "moved",	  [PESA_TIMED_VARIES] = "varies",
		[PESA_TIMED_SLOWER] = "slower",	  [PESA_TIMED_FASTER] = "faster",
	};

	return names[verdict];
}
