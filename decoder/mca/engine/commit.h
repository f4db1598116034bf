/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Retirement on an in-order processor that retires in program order, so many instructions a cycle
 * (`commit_width`), what has executed before.  Instructions issue in program order, so when one retires
 * is known when it issues.
 */
#ifndef DECODER_MCA_ENGINE_COMMIT_H
#define DECODER_MCA_ENGINE_COMMIT_H

#include <stdint.h>

struct mca_commit {
	unsigned int width; /* 0: what has executed retires at once, in any order */
	unsigned int count; /* that retire in `cycle`, the latest one */
	uint64_t cycle;
};

/* The cycle in which the next instruction retires, which has executed in cycle `executed`. */
static inline uint64_t mca_commit_next(struct mca_commit *commit, uint64_t executed)
{
	if (!commit->width)
		return executed;
	if (executed > commit->cycle || commit->count == commit->width) {
		commit->cycle = executed > commit->cycle ? executed : commit->cycle + 1;
		commit->count = 0;
	}
	commit->count++;
	return commit->cycle;
}

/* The cycle in which an instruction has issued as a whole that issued in `now`, and `carried` micro-ops
 * of which issue later, `width` a cycle. */
static inline uint64_t mca_carried_until(uint64_t now, unsigned int carried, unsigned int width)
{
	return now + (carried + width - 1) / width;
}

#endif
