/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Retirement on an in-order processor that retires in program order, so many instructions a cycle
 * (`commit_width`), what has executed before.  Instructions issue in program order, so when one retires
 * is known when it issues.  The cycle stack counts in the same way what retires in each cycle.
 */
#ifndef DECODER_MCA_ENGINE_COMMIT_H
#define DECODER_MCA_ENGINE_COMMIT_H

#include <stdbool.h>
#include <stdint.h>

struct mca_commit {
	unsigned int issue_width; /* micro-ops a cycle */
	unsigned int width;	  /* 0: what has executed retires at once, in any order */
	unsigned int most;	  /* taken branches a cycle; 0: any number */
	unsigned int count;	  /* that retire in `cycle`, the latest one */
	unsigned int branches;	  /* of them taken branches */
	uint64_t cycle;
};

/* Whether the next instruction, which is a taken branch or not, does not retire in the cycle any more. */
static inline bool mca_commit_is_full(const struct mca_commit *commit, bool taken)
{
	return commit->count == commit->width ||
	       (taken && commit->most && commit->branches == commit->most);
}

/* It retires in the cycle. */
static inline void mca_commit_take(struct mca_commit *commit, bool taken)
{
	commit->count++;
	commit->branches += taken;
}

/* The next instruction issues in cycle `now`, but for `carried` micro-ops, which issue in the cycles after
 * it, and has executed in cycle `executed`.  Returns the cycle in which it retires. */
static inline uint64_t mca_commit_next(struct mca_commit *commit, uint64_t now, uint64_t executed,
				       unsigned int carried, bool taken)
{
	uint64_t issued =
		carried ? now + (carried + commit->issue_width - 1) / commit->issue_width : now;
	uint64_t ready = executed > issued ? executed : issued;

	if (!commit->width)
		return ready;
	if (ready > commit->cycle || mca_commit_is_full(commit, taken)) {
		commit->cycle = ready > commit->cycle ? ready : commit->cycle + 1;
		commit->count = commit->branches = 0;
	}
	mca_commit_take(commit, taken);
	return commit->cycle;
}

#endif
