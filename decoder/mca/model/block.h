/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A block: instructions bound to a model.
 *
 * As in LLVM, an opcode is described once per block, from its first instance, and further instances
 * with the same scheduling class share the description; two classes are different even if their
 * costs are equal.  An operand that is x0 in the first instance is omitted from the description, so
 * later instances have no dependency through it either; a result that is x0 there has latency 0
 * later.  This gives the same numbers as llvm-mca.
 */
#ifndef PESA_MCA_BLOCK_H
#define PESA_MCA_BLOCK_H

#include "decoder/base/digest.h"
#include "decoder/mca/model/arena.h"
#include "decoder/mca/model/model.h"
#include "decoder/mca/model/registers.h"

/* Cycles for which an instruction occupies a resource, by the mask of the resource. */
struct mca_usage {
	uint64_t mask;
	unsigned int cycles;
	unsigned int units;
	bool reserved; /* a group reserved as a whole */
};

/* The highest resource of a mask, which is not 0. */
static inline unsigned int mca_top_bit(uint64_t mask)
{
	return 63 - __builtin_clzll(mask);
}

struct mca_write_description {
	int operand; /* number of an explicit operand, or -1 - number of an implicit one */
	uint16_t reg;
	uint16_t name;
	int latency;
};

struct mca_read_description {
	int operand;
	uint16_t reg;
	uint8_t use;
};

/* The common part of instances of an opcode with the same class. */
struct mca_description {
	unsigned int opcode;
	uint16_t class;
	char scheduling_class;	  /* LLVM's, as a letter */
	unsigned int number;	  /* index in the block */
	unsigned int block;	  /* the last of the binder's blocks that has it, counted from 1 */
	struct pesa_digest costs; /* see mca_binder_bind() */
	struct mca_description *next_shared;
	uint32_t constants; /* operands that are x0, as bits; only those with the same where it
			     * matters */
	int latency;	    /* maximum over the results, cycles */
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
	bool at_retirement; /* the latency is counted from retirement, not from issue (forward.c) */
	int latency;
	const struct mca_register_parts *parts;
};

struct mca_lowered_read {
	uint16_t reg;
	uint16_t advances;		   /* number of read-advances of this operand */
	const struct mca_advance *advance; /* the first of these */
	bool late;			   /* one of these is negative */
	const struct mca_register_parts *parts;
};

/* One instruction of the block. */
struct mca_lowered {
	const struct mca_description *description;
	unsigned int source;
	bool call, return_;
	bool taken;	   /* the next instruction is not the following one in memory */
	bool begins_block; /* starts a fetch block */
	bool predicted;	   /* conditional or indirect transfer: may be mispredicted */
	bool mispredicted; /* mispredicted in every iteration */
	bool scalar_load;  /* takes the latency given for loads */
	bool barrier;	   /* orders loads and stores */
	unsigned int late; /* cycles of a miss, beyond the model's latency */
	unsigned int writes, reads;
	uint8_t integers, floats; /* of the writes, those to x and to f registers */
	struct mca_lowered_write *write;
	struct mca_lowered_read *read;
};

struct pesa_mca_block {
	struct mca_arena arena; /* memory of the whole block, including this struct */
	const struct pesa_mca_model *model;
	struct mca_description **descriptions;
	unsigned int description_count;
	struct mca_lowered *lowered;
	unsigned int count;
	uint16_t *touched; /* registers written, including their parts */
	unsigned int touched_count;
	uint8_t unit[MCA_RESOURCES_MAX + 1]; /* resources used, their members and groups */
	unsigned int unit_count;
	unsigned int
		forwarders; /* stores from which others read, or for which they wait (forward.c) */
	bool far_forwards;  /* some of these are far before those that read from them */
	bool turns;	    /* units are taken in program order */
	bool barriers;	    /* an instruction is a barrier */
	struct mca_binder *binder; /* owned; NULL: the block is one of several of a binder */
};

/*
 * Binds blocks of instructions that have much in common, one after the other: what does not depend on the
 * place of an instruction is done once.  The options have `own_operands` if there are several blocks.
 * The blocks may be bound to models that differ in the costs of a few instructions: what has the same
 * costs is done once for all of them.
 */
struct mca_binder;

/* `model`, until another one is set, and `options` must outlive the binder, which remembers so many
 * instructions as they were bound: a power of two, 4 or more.  Owned by the caller. */
struct pesa_error *mca_binder_create(const struct pesa_mca_model *model,
				     const struct pesa_mca_block_options *options,
				     unsigned int remembered, struct mca_binder **binder);
void mca_binder_free(struct mca_binder *binder);
/* Bind the next blocks to this model, a variation of the one before with the same
 * mca_numbers_of_model(). */
void mca_binder_set_model(struct mca_binder *binder, const struct pesa_mca_model *model);
/* Whether it holds so much of former models that a new one is better. */
bool mca_binder_is_full(const struct mca_binder *binder);
/*
 * As pesa_mca_block_create().  `costs`: for each instruction, mca_numbers_of_instruction(), with
 * mca_numbers_of_class() if the numbers of classes matter; NULL: there is one model.  The block is valid
 * until the next one is bound, or the binder freed.
 */
struct pesa_error *mca_binder_bind(struct mca_binder *binder,
				   const struct pesa_mca_instruction *instructions,
				   const struct pesa_digest *costs, unsigned int count,
				   struct pesa_mca_block **block);

/*
 * Set the resources of a description, of its class.  A use of a unit also counts for the groups that
 * contain it: the cycles of the groups beyond those of the units are added (usage.c).
 */
struct pesa_error *mca_describe_usage(struct mca_arena *arena, const struct pesa_mca_model *model,
				      struct mca_description *description);

/*
 * List what a run of the block can change (block_state.c): registers that are written, with their parts,
 * once the block has all its instructions (false: no memory); and resources that are used, their members,
 * and all groups of those.
 */
bool mca_find_touched(struct pesa_mca_block *block);
void mca_find_units(struct pesa_mca_block *block);

/*
 * Make a load of the block wait for the store from which it reads, according to the instruction
 * from which it is bound.  No effect if that store is not in the block (forward.c).
 */
struct pesa_error *mca_forward(struct pesa_mca_block *block, struct mca_lowered *load,
			       const struct pesa_mca_instruction *instruction,
			       const struct pesa_mca_block_options *options);
/* Make an instruction wait until the one before it has issued that takes the same unit for `cycles` or
 * more.  `taken` has an element for each bit of a resource: whether there was one for its unit. */
struct pesa_error *mca_take_in_order(struct pesa_mca_block *block, struct mca_lowered *lowered,
				     unsigned int cycles, bool *taken);
/* Make a barrier wait until the last store before it is in the cache; stores get there in order. */
struct pesa_error *mca_wait_for_stores(struct pesa_mca_block *block, struct mca_lowered *barrier,
				       const struct pesa_mca_block_options *options);

/* Cycles by which a read of a write may be earlier than the completion of the result. */
static inline int mca_advance(const struct mca_lowered_read *read, unsigned int write_name)
{
	for (unsigned int i = 0; i < read->advances; i++)
		if (!read->advance[i].write || read->advance[i].write == write_name)
			return read->advance[i].cycles;
	return 0;
}

#endif
