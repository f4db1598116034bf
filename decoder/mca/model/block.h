/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A block: instructions bound to a model.
 *
 * LLVM describes an opcode once per block, from its first instance there, and describes every
 * further instance with the same scheduling class by that description; two classes are two even if
 * they cost the same on the processor.  An operand that reads x0 in the first instance is left out
 * of the description, so it does not depend on anything in later ones either; a result that goes to
 * x0 there has latency 0 later.  The engine does the same, for the same numbers.
 */
#ifndef PESA_MCA_BLOCK_H
#define PESA_MCA_BLOCK_H

#include "decoder/mca/model/arena.h"
#include "decoder/mca/model/model.h"
#include "decoder/mca/model/registers.h"

/* Cycles for which an instruction occupies a resource, by the mask of the resource. */
struct mca_usage {
	uint64_t mask;
	unsigned int cycles;
	unsigned int units;
	bool reserved; /* a group that is kept as a whole */
};

struct mca_write_description {
	int operand; /* number of the operand, or -1 - number of the implicit one */
	uint16_t reg;
	uint16_t name;
	int latency;
};

struct mca_read_description {
	int operand;
	uint16_t reg;
	uint8_t use;
};

/* What instances of an opcode with one class have in common. */
struct mca_description {
	unsigned int opcode;
	uint16_t class;
	char scheduling_class; /* LLVM's, a letter */
	unsigned int number;   /* in the block */
	struct mca_description *next_shared;
	uint32_t constants; /* operands that are x0, by bit; only those with the same where asked */
	int latency;	    /* the longest, cycles */
	unsigned int micro_ops;
	uint8_t flags; /* MCA_CLASS_* */
	bool load, store, side_effects;
	bool must_issue_immediately;
	bool overlapping_groups;
	unsigned int usages;
	struct mca_usage *usage;
	uint64_t buffers, groups;
	unsigned int writes, reads;
	struct mca_write_description *write;
	struct mca_read_description *read;
};

struct mca_lowered_write {
	uint16_t reg, name;
	bool at_retirement; /* the latency is from there on, not from issue (forward.c) */
	int latency;
	const struct mca_register_parts *parts;
};

struct mca_lowered_read {
	uint16_t reg;
	uint16_t advances;		   /* those for this operand, */
	const struct mca_advance *advance; /* the first of them */
	bool late;			   /* one of them is negative */
	const struct mca_register_parts *parts;
};

/* One instruction of the block. */
struct mca_lowered {
	const struct mca_description *description;
	unsigned int source;
	bool call, return_;
	bool taken;	   /* control goes elsewhere after it */
	bool begins_block; /* of fetch */
	bool predicted;	   /* conditional or indirect: may be mispredicted */
	bool mispredicted; /* always */
	bool scalar_load;  /* has the latency that is given for loads */
	unsigned int writes, reads;
	struct mca_lowered_write *write;
	struct mca_lowered_read *read;
};

struct pesa_mca_block {
	struct mca_arena arena; /* of all of it, the block itself included */
	const struct pesa_mca_model *model;
	struct mca_description **descriptions;
	unsigned int description_count;
	struct mca_lowered *lowered;
	unsigned int count;
	uint16_t *touched; /* registers that are written, parts included */
	unsigned int touched_count;
	uint8_t unit[MCA_RESOURCES_MAX +
		     1]; /* resources that are used, members and groups of them */
	unsigned int unit_count;
	unsigned int forwarders; /* stores that have a register for what they leave */
};

/*
 * Let a load of the block wait for the store that it reads from, as the instruction that it is
 * bound from says; nothing where that store is not in the block (forward.c).
 */
struct pesa_error *mca_forward(struct pesa_mca_block *block, struct mca_lowered *load,
			       const struct pesa_mca_instruction *instruction,
			       const struct pesa_mca_block_options *options);

/* How many cycles before a result is complete it can be read: a read of a write. */
static inline int mca_advance(const struct mca_lowered_read *read, unsigned int write_name)
{
	for (unsigned int i = 0; i < read->advances; i++)
		if (!read->advance[i].write || read->advance[i].write == write_name)
			return read->advance[i].cycles;
	return 0;
}

#endif
