/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why: data shared by its parts.
 *
 * 	timeline.c   one path on the model: what held each instruction back
 * 	producers.c  stalls of all paths, divided among producers and roots
 * 	measured.c   what the profile itself tells: stalls on misses, shares of misses
 * 	trial.c      the paths once more with a change, and what that saves
 * 	gains.c      which changes are tried: what would be won
 * 	edits.c      which changes of the code are tried
 * 	why.c        runs these steps; the waits of the profile
 */
#ifndef DECODER_WHY_INSIDE_H
#define DECODER_WHY_INSIDE_H

#include "decoder/compare/inside.h"
#include "decoder/why/measured.h"
#include "decoder/why/timeline.h"
#include "pesa/why.h"

/* A part of the predicted stalls of a node.  Nodes are those of the comparison. */
struct why_part {
	enum pesa_why_kind kind;
	bool missed; /* of executions that missed */
	bool recurrence;
	uint16_t reg; /* 0: none */
	int resource; /* of the model, -1: none */
	uint32_t producer, root;
	double cycles; /* over all occurrences */
	double steps;  /* sums, weighted with the cycles */
	double length, round;
};

struct why_parts {
	struct why_part *part; /* array */
	unsigned int count, room;
	double occurrences, stalled; /* over all counted occurrences; cycles */
};

struct pesa_why {
	struct pesa_compare *compare;
	const struct pesa_profile *profile;
	uint16_t data_misses;	       /* CAUSE bits of misses of data that the core tracks */
	struct why_parts *parts;       /* by node */
	struct pesa_why_wait *wait;    /* most cycles first */
	struct pesa_why_cause *causes; /* of all waits */
	size_t waits;
	uint32_t *by_node; /* index in `wait` + 1; 0: none */
	struct pesa_why_gain *gain;
	unsigned int gains;
	struct why_trials *trials; /* trial.h; NULL: none was made yet */
};

/* Execute all paths and divide their stalls: why->parts. */
struct pesa_error *why_find_producers(struct pesa_why *why);

#endif
