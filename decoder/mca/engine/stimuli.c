/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * External stimuli, given by the caller: mispredicted branches, latencies of loads, and the
 * instructions that the front end can deliver.
 *
 * Mispredicted branches and slow loads are distributed evenly, not randomly: the k-th one takes the
 * fractional part of k times an irrational number, which covers [0, 1) evenly and does not
 * synchronise with loops.
 */
#include "decoder/mca/engine/stimuli.h"

#include "decoder/mca/engine/events.h"

/* The fractional parts, in 1/2^64, of the golden ratio and of the square root of 2. */
#define GOLDEN_RATIO UINT64_C(0x9e3779b97f4a7c15)
#define ROOT_OF_TWO  UINT64_C(0x6a09e667f3bcc909)

static double fraction(uint64_t number, uint64_t multiplier)
{
	return (double)(number * multiplier >> 11) / (double)(UINT64_C(1) << 53);
}

static bool mispredicts(struct mca_stimuli *stimuli, const struct mca_lowered *lowered)
{
	return lowered->mispredicted ||
	       (lowered->predicted && stimuli->options->mispredict_rate > 0 &&
		fraction(++stimuli->branches, GOLDEN_RATIO) < stimuli->options->mispredict_rate);
}

/* Fill the buffer with the instructions that one cycle fetches. */
static void fetch_ahead(struct mca_run *run)
{
	struct mca_stimuli *stimuli = &run->stimuli;
	const struct pesa_mca_stimuli *options = stimuli->options;
	unsigned int count = 0, taken = 0;

	if (stimuli->stopped || stimuli->waiting || stimuli->cycle < stimuli->resume)
		return;
	while (stimuli->buffered < options->fetch_buffer &&
	       (!options->fetch_width || count < options->fetch_width)) {
		const struct mca_lowered *lowered = &run->block->lowered[stimuli->next_fetch];

		if (count && lowered->begins_block)
			return;
		stimuli->next_fetch =
			stimuli->next_fetch + 1 == run->block->count ? 0 : stimuli->next_fetch + 1;
		stimuli->buffered++;
		count++;
		stimuli->stopped = mispredicts(stimuli, lowered);
		if (stimuli->stopped || (lowered->taken && ++taken == options->taken_branches))
			return;
	}
}

void mca_stimuli_cycle(struct mca_run *run)
{
	struct mca_stimuli *stimuli = &run->stimuli;

	stimuli->cycle++;
	stimuli->delivered = stimuli->taken = 0;
	if (stimuli->options->fetch_buffer)
		fetch_ahead(run);
}

bool mca_stimuli_delivers(const struct mca_run *run)
{
	const struct mca_stimuli *stimuli = &run->stimuli;
	const struct pesa_mca_stimuli *options = stimuli->options;

	if (options->fetch_buffer)
		return stimuli->buffered;
	if (stimuli->waiting || stimuli->cycle < stimuli->resume)
		return false;
	if (options->fetch_width && stimuli->delivered >= options->fetch_width)
		return false;
	return !options->taken_branches || stimuli->taken < options->taken_branches;
}

/* Latency of the next load; *missed: it is not the shortest one. */
static int load_latency(struct mca_stimuli *stimuli, bool *missed)
{
	const struct pesa_mca_stimuli *options = stimuli->options;
	double place = fraction(++stimuli->loads, ROOT_OF_TWO), sum = 0;
	unsigned int i, shortest = options->load_latency[0].cycles;

	for (i = 1; i < options->load_latencies; i++)
		if (options->load_latency[i].cycles < shortest)
			shortest = options->load_latency[i].cycles;
	for (i = 0; i + 1 < options->load_latencies; i++) {
		sum += options->load_latency[i].share;
		if (place < sum)
			break;
	}
	*missed = options->load_latency[i].cycles > shortest;
	return options->load_latency[i].cycles;
}

void mca_stimuli_delivered(struct mca_run *run, struct mca_inflight *flight)
{
	struct mca_stimuli *stimuli = &run->stimuli;
	const struct pesa_mca_stimuli *options = stimuli->options;
	bool missed = flight->lowered->late, mispredicted;

	stimuli->delivered++;
	stimuli->taken += flight->lowered->taken;
	if (missed)
		flight->actual_latency = flight->description->latency + (int)flight->lowered->late;
	else if (flight->lowered->scalar_load && options->load_latencies)
		flight->actual_latency = load_latency(stimuli, &missed);
	if (missed)
		mca_send_simple(run, PESA_MCA_MISSED, flight);
	if (options->fetch_buffer)
		mispredicted = !--stimuli->buffered && stimuli->stopped;
	else
		mispredicted = mispredicts(stimuli, flight->lowered);
	if (mispredicted) {
		stimuli->stopped = false;
		stimuli->waiting = true;
		stimuli->branch = flight->instruction;
		mca_send_simple(run, PESA_MCA_MISPREDICTED, flight);
	}
}

void mca_stimuli_executed(struct mca_run *run, const struct mca_inflight *flight)
{
	struct mca_stimuli *stimuli = &run->stimuli;

	if (!stimuli->waiting || stimuli->branch != flight->instruction)
		return;
	stimuli->waiting = false;
	stimuli->resume = stimuli->cycle + stimuli->options->mispredict_penalty;
}

struct pesa_error *mca_stimuli_check(const struct pesa_mca_stimuli *stimuli)
{
	double sum = 0;

	if (!(stimuli->mispredict_rate >= 0 && stimuli->mispredict_rate <= 1))
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "a mispredict rate of %g; it must be between 0 and 1",
					 stimuli->mispredict_rate);
	if (stimuli->mispredict_penalty > PESA_MCA_LATENCY_MAX)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "a mispredict penalty of %u cycles; the limit is %d",
					 stimuli->mispredict_penalty, PESA_MCA_LATENCY_MAX);
	for (unsigned int i = 0; i < stimuli->load_latencies; i++) {
		const struct pesa_mca_load_latency *latency = &stimuli->load_latency[i];

		if (!latency->cycles || latency->cycles > PESA_MCA_LATENCY_MAX ||
		    !(latency->share >= 0))
			return pesa_error_create(
				PESA_ERROR_ARGUMENT,
				"a load latency of %u cycles with share %g; "
				"cycles must be between 1 and %d, shares not negative",
				latency->cycles, latency->share, PESA_MCA_LATENCY_MAX);
		sum += latency->share;
	}
	if (stimuli->load_latencies && (sum < 0.999999 || sum > 1.000001))
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "the shares of the load latencies add up to %g, not to 1",
					 sum);
	return NULL;
}
