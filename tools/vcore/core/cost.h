/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of instructions: the processor model (include/pesa/mca.h) that the core description
 * names, in the form that the pipeline uses.
 *
 * Every unit of every resource of the model is a pipe.  A use occupies one pipe of a set for some
 * cycles from issue on.  Buffers of resources are issue queues.  Overrides of the core description
 * and of `pesa record --set` are already applied.  An instruction that the model lacks takes one
 * micro-op and one cycle, and no pipe; the recorder counts such instructions.
 */
#ifndef TOOLS_VCORE_CORE_COST_H
#define TOOLS_VCORE_CORE_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "decoder/core/core.h"
#include "pesa/mca.h"
#include "pesa/riscv.h"

#define COST_PIPES_MAX	 32u
#define COST_BUFFERS_MAX 16u
#define COST_CHOICES_MAX 31u
#define COST_QUEUES_MAX	 (COST_BUFFERS_MAX + 1)

/* The choice number of a use that names a single pipe. */
#define COST_CHOICE_OF_PIPE(pipe) (COST_CHOICES_MAX + (unsigned int)(pipe))
#define COST_ALL_CHOICES_MAX	  (COST_CHOICES_MAX + COST_PIPES_MAX)

/* All registers, one that is always ready, and one that is never read. */
#define COST_REGISTERS	     (PESA_REGISTER_COUNT + 2)
#define COST_REGISTER_READY  PESA_REGISTER_COUNT
#define COST_REGISTER_UNREAD (PESA_REGISTER_COUNT + 1)

#define COST_BEGIN_GROUP	(1u << 0) /* must be the first one dispatched in its cycle */
#define COST_END_GROUP		(1u << 1) /* must be the last one dispatched in its cycle */
#define COST_WRITE_OUT_OF_ORDER (1u << 2) /* in-order core: may write before older ones */
#define COST_ADVANCES		(1u << 3) /* a source is needed earlier or later than at issue */
#define COST_UNKNOWN		(1u << 4) /* the model lacks the instruction */
#define COST_ONE_USE		(1u << 5) /* uses one pipe for one cycle */
#define COST_PLAIN		(1u << 6) /* one micro-op, at most one queue and result, no group */

struct cost_write {
	uint16_t latency; /* cycles from issue */
	uint16_t name;	  /* name of the write, for read-advances */
	uint8_t reg;	  /* enum pesa_register */
};

struct cost_use {
	uint32_t pipes;
	uint16_t cycles;
	bool all;	/* uses all of the pipes */
	uint8_t choice; /* number of the set of pipes, or COST_CHOICE_OF_PIPE() */
};

/*
 * A read-advance: the source is needed `cycles` later than at issue (negative: earlier), if the
 * write has that name.
 */
struct cost_advance {
	uint8_t source; /* index of the source */
	uint16_t write; /* name of the write; 0: any */
	int16_t cycles;
};

/*
 * The fields that most instructions need come first.  Instructions with more than one use or write
 * have complete lists elsewhere.
 */
struct cost {
	uint8_t flags; /* COST_* */
	uint8_t reads, writes, uses, queues, advances;
	uint8_t integer_results, float_results;
	uint16_t micro_ops;
	uint16_t latency;	 /* longest latency, in cycles */
	uint16_t first;		 /* cycles from issue to the first write */
	uint16_t earlier;	 /* maximum number of cycles before issue in which a source is
				  * needed */
	int16_t address;	 /* load: cycles from issue to the cache access */
	struct cost_use use;	 /* the first use; with 0 uses, of no pipe */
	struct cost_write write; /* the first write; with 0 writes, to the register that is never
				  * read */
	uint8_t read[2];	 /* enum pesa_register; unused entries: the register that is
				  * always ready */
	uint8_t queue[COST_QUEUES_MAX]; /* queue numbers; with 0 queues, one that never fills */
	const struct cost_write *all_writes;
	const struct cost_use *all_uses;
	const struct cost_advance *advance;
	const uint8_t *all_reads;
};

struct cost_model;

/*
 * Read the model that `core` names and apply `changes`, one per line (pesa_mca_model_change()). The
 * model refers to `core`, which must live as long.
 */
struct pesa_error *cost_model_create(const struct pesa_core *core, const char *changes,
				     struct cost_model **made);
/* The sets of pipes from which an instruction takes one: their number, and the mask of a set. */
uint32_t cost_model_choices(const struct cost_model *model);
uint32_t cost_model_choice(const struct cost_model *model, uint32_t choice);
/*
 * The number of issue queues: those of the description, the model's buffers, and one that never
 * fills.
 */
uint32_t cost_model_queues(const struct cost_model *model);
/* Entries of a queue; 0: no instruction enters the queue. */
uint32_t cost_model_queue(const struct cost_model *model, uint32_t queue);

/*
 * Create the cost of an instruction of a class under a vector type; NULL: out of memory.  The
 * caller frees it with free().  `bound` has the instruction, the vector type, and what is ideal
 * about it (`latency`, `no_units`).
 */
struct cost *cost_create(const struct cost_model *model, const struct pesa_mca_instruction *bound,
			 enum pesa_core_class class);
/* Create the cost of an instruction that the decoder does not know. */
struct cost *cost_create_unknown(const struct cost_model *model, enum pesa_core_class class);

#endif
