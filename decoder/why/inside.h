/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why: data shared by its parts.
 *
 * 	timeline.c   one path on the model: what held each instruction back
 * 	producers.c  stalls of all paths, divided among producers and roots
 * 	measured.c   what the profile itself tells: stalls on misses, shares of misses
 * 	gains.c      the paths once more with a change: what would be won
 * 	why.c        runs these steps; the waits of the profile
 */
#ifndef DECODER_WHY_INSIDE_H
#define DECODER_WHY_INSIDE_H

#include "decoder/compare/inside.h"
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
};

/* Stalled cycles of an instruction, on misses of data and otherwise. */
struct why_stalls {
	double missed, other;
};
/* `misses`: CAUSE bits. */
struct why_stalls why_measured_stalls(uint16_t misses, const struct pesa_instruction *measured);
/* The CAUSE bits of misses of data that the core tracks. */
uint16_t why_data_misses(const struct pesa_capabilities *capabilities);

/* Execute all paths and divide their stalls: why->parts. */
struct pesa_error *why_find_producers(struct pesa_why *why);

#endif
