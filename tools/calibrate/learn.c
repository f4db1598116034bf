/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/calibrate/learn.h"

#include <math.h>
#include <stdio.h>

static bool is_holder(const struct microloop *loop, uint64_t address)
{
	uint64_t number = (address - loop->start) / 4;

	return number >= loop->holder && number < loop->holder + loop->holders;
}

static struct microloop_result result_of(const struct microloop *loop,
					 const struct pesa_deskid *deskid)
{
	struct microloop_result result = {.known = NAN, .sampled = NAN, .estimated = NAN};
	double sampled = 0, estimated = 0, held_sampled = 0, held_estimated = 0;

	for (size_t i = 0; i < pesa_deskid_count(deskid); i++) {
		const struct pesa_deskid_instruction *one = pesa_deskid_at(deskid, i);

		if (one->address - loop->start >= 4 * (uint64_t)loop->length)
			continue;
		sampled += one->measured;
		estimated += one->cycles;
		held_sampled += is_holder(loop, one->address) ? one->measured : 0;
		held_estimated += is_holder(loop, one->address) ? one->cycles : 0;
	}
	result.cycles = sampled / (double)loop->iterations;
	if (!loop->holders)
		return result;
	/* Each of the others takes a cycle at most. */
	result.known =
		result.cycles > 0 ? fmax(0, 1 - (loop->length - loop->holders) / result.cycles) : 0;
	result.sampled = sampled > 0 ? held_sampled / sampled : 0;
	result.estimated = estimated > 0 ? held_estimated / estimated : 0;
	return result;
}

void learn_results(const struct microloops *loops, const struct plain_estimate *plain,
		   struct microloop_result *results)
{
	for (size_t i = 0; i < loops->count; i++)
		results[i] = result_of(&loops->loop[i], plain->deskid);
}

void learn_ways(const struct plain_estimate *plain, struct pesa_calibration *calibration)
{
	const struct pesa_deskid_way *way = pesa_deskid_ways(plain->deskid, &calibration->ways);
	double all = 0;

	for (unsigned int i = 0; i < calibration->ways; i++)
		all += way[i].share;
	for (unsigned int i = 0; i < calibration->ways; i++) {
		calibration->way[i] = way[i];
		calibration->way[i].share /= all;
	}
	snprintf(calibration->model, sizeof(calibration->model), "%s", plain->processor);
}
