/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profile store: weights added up for each static instruction while a profile is loaded.
 *
 * An instruction is a (dso, address) pair with a short linked list of buckets and one of edges.  At
 * the end of loading, pesa_profile_store_finish() makes the sorted arrays that readers of a profile
 * see.  For an exact profile each bucket also has the number of instructions that shared a cycle
 * (the group): the floor of a distance is computed from it.
 */
#ifndef DECODER_PROFILE_STORE_H
#define DECODER_PROFILE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/profile.h"

/* Multiplicity of equal samples. */
struct pesa_times {
	uint64_t samples;
	uint64_t periods;	/* sum of the samples' periods, cycles */
	double periods_squared; /* sum of the squared periods */
};

static inline struct pesa_times pesa_times_once(uint64_t period)
{
	return (struct pesa_times){1, period, (double)period * (double)period};
}

/* The weight that one sample gives to one instruction for one state and cause. */
struct pesa_part {
	uint32_t weight; /* in units of 1/PESA_CYCLE */
	uint8_t state;
	uint16_t cause;
};

struct pesa_profile_store;

struct pesa_profile_store *pesa_profile_store_create(void); /* NULL: out of memory */
void pesa_profile_store_free(struct pesa_profile_store *store);

/* Number of the instruction, which is added if it is new.  UINT32_MAX: out of memory. */
uint32_t pesa_profile_store_get(struct pesa_profile_store *store, uint32_t dso, uint64_t address);

/* Retirements of an instruction in a cycle, and how many of them are known to have transferred
 * control, or not to have. */
struct pesa_retirements {
	unsigned int all, transfers_known, transfers_taken;
	unsigned int mispredicted[2]; /* not taken, taken */
};

/*
 * Add a sample (times->samples equal ones) to an instruction: all weights and retirements of the
 * instruction in that cycle.
 */
struct pesa_error *pesa_profile_store_add(struct pesa_profile_store *store, uint32_t instruction,
					  const struct pesa_times *times,
					  const struct pesa_part *parts, unsigned int part_count,
					  const struct pesa_retirements *retired);
struct pesa_error *pesa_profile_store_edge(struct pesa_profile_store *store, uint32_t instruction,
					   uint32_t target_dso, uint64_t target, uint64_t count,
					   uint64_t mispredicted);

/* Add to an instruction of an exact profile. */
struct pesa_error *pesa_profile_store_exact(struct pesa_profile_store *store, uint32_t instruction,
					    const struct pesa_exact_bucket *bucket);
void pesa_profile_store_executions(struct pesa_profile_store *store, uint32_t instruction,
				   uint64_t executions);
/* Add transfers at an instruction of an exact profile: those counted by its own edges. */
void pesa_profile_store_taken(struct pesa_profile_store *store, uint32_t instruction,
			      uint64_t known, uint64_t taken);

/* The finished arrays; instruction[i].bucket and .edge point into them. */
struct pesa_profile_arrays {
	struct pesa_instruction *instruction;
	size_t instructions;
	struct pesa_bucket *bucket;
	struct pesa_edge *edge;
	struct pesa_share *share; /* exact profiles only: the buckets' shares point into it */
};

/* Set used[dso] to true for each dso that has an instruction or an edge. */
void pesa_profile_store_dsos(const struct pesa_profile_store *store, bool *used);
/*
 * Sort into arrays, with dso numbers replaced by renumber[dso].  Afterwards the store can only be
 * freed.  The caller owns the arrays, which are empty after an error.
 */
struct pesa_error *pesa_profile_store_finish(struct pesa_profile_store *store,
					     const uint32_t *renumber,
					     struct pesa_profile_arrays *arrays);
void pesa_profile_arrays_free(struct pesa_profile_arrays *arrays);

#endif
