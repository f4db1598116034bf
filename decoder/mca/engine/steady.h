/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search for a steady state, which both engines share: if the machine's state equals that of
 * some iterations ago, the run repeats.
 *
 * Once per iteration a fingerprint is made of the instructions issued since the last one and of a
 * part of the machine's state.  A fingerprint seen before is only a hint that gives a period.  Then
 * the engine takes a snapshot: the complete state that determines later cycles, with instructions,
 * cycles and memory groups relative to the next ones.  One period later it takes another one.  If
 * both are equal, it skips whole periods, adds their cycles, and executes the rest of the run.
 *
 * What a snapshot consists of is in each engine's snapshot.c.
 */
#ifndef DECODER_MCA_ENGINE_STEADY_H
#define DECODER_MCA_ENGINE_STEADY_H

#include <stdbool.h>
#include <stdint.h>

#define MCA_SEEN 256
/* Cycles by which a run goes on that only looks for a period. */
#define MCA_PERIOD_STEP 64

/* What a search has found: from cycle `begin` on the run repeats itself. */
struct mca_period {
	uint64_t begin;
	uint64_t cycles; /* 0: nothing was found */
	uint64_t instructions;
};

struct mca_steady {
	struct mca_period period;
	bool searching, confirming;
	uint64_t next;		/* instruction number of the next comparison */
	uint64_t next_snapshot; /* instruction number before which no snapshot is taken */
	uint64_t until;		/* instruction number of the second snapshot */
	uint64_t print;		/* fingerprint of instructions issued since the last comparison */
	uint64_t since;		/* cycle of the last comparison */
	struct {
		uint64_t print, number;
	} seen[MCA_SEEN];
	uint64_t cycles; /* number of skipped cycles */
};

/* Add an instruction, by a number that does not depend on the iteration. */
static inline void mca_steady_issued(struct mca_steady *steady, uint64_t instruction, uint64_t now)
{
	steady->print = (steady->print ^ instruction ^ (now - steady->since) << 32) *
			UINT64_C(0x9e3779b97f4a7c15);
	steady->print ^= steady->print >> 29;
}

/* `number` instructions have been dispatched, the last one at `position` of a block of `count`. */
static inline void mca_steady_set_next(struct mca_steady *steady, uint64_t number,
				       unsigned int position, unsigned int count)
{
	steady->next = number - position + count;
}

/* Begin a new fingerprint.  Returns the last one. */
uint64_t mca_steady_fingerprint(struct mca_steady *steady, uint64_t now);
/*
 * Remember the fingerprint.  Returns the instruction number of the same one before; 0: none.
 */
uint64_t mca_steady_remember(struct mca_steady *steady, uint64_t print, uint64_t number);
/* Return whether the second snapshot is due. */
bool mca_steady_is_due(const struct mca_steady *steady, uint64_t number);
/* End a comparison that found a difference; the search pauses for a time that grows with the run. */
void mca_steady_pause(struct mca_steady *steady, uint64_t number);
/* The period for which a first snapshot should be taken; 0: none. */
uint64_t mca_steady_period(const struct mca_steady *steady, uint64_t seen, uint64_t number,
			   uint64_t last);
/* The first snapshot has been taken. */
void mca_steady_confirm(struct mca_steady *steady, uint64_t number, uint64_t period);

#endif
