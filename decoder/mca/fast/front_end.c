/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The front end on the fast path: the same rules as engine/stimuli.c, for branches that are given as
 * mispredicted.
 *
 * That a mispredicted branch has executed is not an event here: it is looked up when it is needed.
 */
#include "decoder/mca/fast/fast.h"

/* The front end goes on behind a branch that has executed by cycle `by`. */
static void resolve(struct mca_fast *fast, uint64_t by)
{
	struct mca_fast_front_end *front_end = &fast->front_end;
	const struct mca_fast_inflight *branch;

	if (!front_end->waiting)
		return;
	branch = mca_fast_inflight(fast, front_end->branch);
	if (branch->stage != MCA_ISSUED || branch->time > by)
		return;
	front_end->waiting = false;
	front_end->resume = branch->time + front_end->options->mispredict_penalty;
}

bool mca_fast_fetch(struct mca_fast *fast)
{
	struct mca_fast_front_end *front_end = &fast->front_end;
	const struct pesa_mca_stimuli *options = front_end->options;
	uint32_t count = 0, taken = 0;

	front_end->delivered = front_end->taken = 0;
	if (!options->fetch_buffer)
		return false;
	/* It is fetched before instructions execute. */
	if (fast->now)
		resolve(fast, fast->now - 1);
	if (front_end->stopped || front_end->waiting || fast->now < front_end->resume)
		return false;
	while (front_end->buffered < options->fetch_buffer &&
	       (!options->fetch_width || count < options->fetch_width)) {
		const struct mca_lowered *lowered = &fast->block->lowered[front_end->next];

		if (count && lowered->begins_block)
			break;
		front_end->next =
			front_end->next + 1 == fast->block->count ? 0 : front_end->next + 1;
		front_end->buffered++;
		count++;
		front_end->stopped = lowered->mispredicted;
		if (front_end->stopped || (lowered->taken && ++taken == options->taken_branches))
			break;
	}
	return count;
}

bool mca_fast_delivers(struct mca_fast *fast)
{
	struct mca_fast_front_end *front_end = &fast->front_end;
	const struct pesa_mca_stimuli *options = front_end->options;

	if (!options)
		return true;
	if (options->fetch_buffer)
		return front_end->buffered;
	resolve(fast, fast->now);
	if (front_end->waiting || fast->now < front_end->resume)
		return false;
	if (options->fetch_width && front_end->delivered >= options->fetch_width)
		return false;
	return !options->taken_branches || front_end->taken < options->taken_branches;
}

void mca_fast_delivered(struct mca_fast *fast)
{
	struct mca_fast_front_end *front_end = &fast->front_end;
	const struct mca_lowered *lowered = &fast->block->lowered[fast->position];

	if (!front_end->options)
		return;
	front_end->delivered++;
	front_end->taken += lowered->taken;
	if (front_end->options->fetch_buffer)
		front_end->buffered--;
	if (!lowered->mispredicted)
		return;
	front_end->stopped = false;
	front_end->waiting = true;
	front_end->branch = fast->tail;
}

uint64_t mca_fast_resumes(const struct mca_fast *fast)
{
	const struct mca_fast_front_end *front_end = &fast->front_end;
	const struct mca_fast_inflight *branch = mca_fast_inflight(fast, front_end->branch);
	uint64_t resume;

	if (!front_end->options || front_end->stopped)
		return UINT64_MAX;
	if (!front_end->waiting)
		return front_end->resume > fast->now ? front_end->resume : UINT64_MAX;
	if (branch->stage != MCA_ISSUED)
		return UINT64_MAX;
	resume = branch->time + front_end->options->mispredict_penalty;
	return front_end->options->fetch_buffer && resume == branch->time ? resume + 1 : resume;
}
