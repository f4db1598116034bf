/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of a profile.
 *
 *   profile_load.c   reads the events, counts equal records, walks each distinct one
 *   profile_text.c   binaries: opens their images, resolves addresses, gives the walk its text
 *   pics.c           adds weights up for each static instruction
 *   profile.c        options and questions
 */
#ifndef DECODER_PROFILE_PRIVATE_H
#define DECODER_PROFILE_PRIVATE_H

#include "pesa/image.h"
#include "pesa/profile.h"
#include "pesa/riscv.h"
#include "pesa/space.h"

/* ---- pics.c ---------------------------------------------------------------------------------- */

/* What one distinct record (or exact record) says of one instruction. */
struct pics_sums {
	uint64_t weight, executions, retired_samples, samples, transfers_known, transfers_taken;
	double weight_squared, weight_times_retired, retired_squared;
};

struct pics;

struct pics *pics_create(void);
void pics_free(struct pics *pics);
/* All return false when memory ran out. */
bool pics_add(struct pics *pics, uint32_t dso, uint64_t address, const struct pics_sums *sums);
bool pics_add_bucket(struct pics *pics, uint32_t dso, uint64_t address, uint8_t state, uint16_t cause,
		     uint8_t group, uint64_t weight, uint64_t samples);
bool pics_add_edge(struct pics *pics, uint32_t dso, uint64_t address, uint32_t target_dso,
		   uint64_t target, uint64_t count);

/* The finished table: instructions sorted by dso and address, their buckets and edges behind them. */
struct pics_table {
	struct pesa_instruction *instruction;
	size_t count;
	struct pesa_bucket *buckets;
	struct pesa_share *shares;
	struct pesa_edge *edges;
};
/* Groups other than 0 become shares.  The pics are used up also when this fails. */
bool pics_finish(struct pics *pics, struct pics_table *table);

/* ---- profile_text.c -------------------------------------------------------------------------- */

struct binary {
	bool looked_for;
	struct pesa_image *image;	/* NULL: none to be had */
	struct pesa_isa *isa;		/* by the ELF attributes; NULL: not RISC-V or unknown extensions */
	char *problem;
};

struct place {
	uint32_t dso;
	uint64_t address;	/* as pesa_instruction.address */
};

/* Text as a process sees it: struct pesa_text's context. */
struct process_text {
	struct pesa_profile *profile;
	const struct pesa_layout *layout, *kernel;
	const struct pesa_mapping *last;
};

enum pesa_text_status process_text_instruction(void *context, uint64_t address,
					       struct pesa_text_insn *insn);
struct place process_text_place(struct process_text *text, uint64_t address);
/* Open whatever binary was not needed for a walk, so that its status is known.  */
void binaries_finish(struct pesa_profile *profile);
void binaries_free(struct pesa_profile *profile);

/* ---- profile.c ------------------------------------------------------------------------------- */

struct pesa_profile {
	struct pesa_profile_totals totals;
	struct pesa_perfdata_losses losses;
	struct pesa_capabilities capabilities;
	char *event, *arch, *cmdline, *symbol_root;
	struct pesa_spaces *spaces;
	struct binary *binaries;		/* by dso */
	unsigned int binary_capacity;
	struct pesa_isa *isa32, *isa64;		/* for text that the ELF attributes do not cover */
	struct pics_table table;
};

#endif
