/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What instructions cost: the processor model (include/pesa/mca.h) that the core description names,
 * bound to instructions and flattened for the pipeline.
 *
 * Every unit of every resource of the model is a pipe.  A use takes one pipe of a set for some
 * cycles from issue on.  Buffers of resources are issue queues.  What the description or
 * `pesa record --set` overrides is worked in.  An instruction that the model does not have takes
 * one micro-op, a cycle, and no pipe; the recorder counts such instructions.
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

/* What is no choice: of a pipe alone. */
#define COST_CHOICE_OF_PIPE(pipe) (COST_CHOICES_MAX + (unsigned int)(pipe))
#define COST_ALL_CHOICES_MAX	  (COST_CHOICES_MAX + COST_PIPES_MAX)

/* Registers, one that is always ready, and one that nobody reads. */
#define COST_REGISTERS	      (PESA_REGISTER_COUNT + 2)
#define COST_REGISTER_READY   PESA_REGISTER_COUNT
#define COST_REGISTER_NOBODYS (PESA_REGISTER_COUNT + 1)

#define COST_BEGIN_GROUP	(1u << 0) /* first of its cycle's dispatch */
#define COST_END_GROUP		(1u << 1) /* last of it */
#define COST_WRITE_OUT_OF_ORDER (1u << 2) /* in-order core: results may overtake older ones */
#define COST_ADVANCES		(1u << 3) /* some source is needed earlier or later than at issue */
#define COST_UNKNOWN		(1u << 4) /* the model does not have it */
#define COST_ONE_USE		(1u << 5) /* of one pipe, for a cycle */
#define COST_PLAIN		(1u << 6) /* one micro-op, queue and result at most, in no group */

struct cost_write {
	uint16_t latency; /* cycles from issue */
	uint16_t name;	  /* for advances */
	uint8_t reg;	  /* enum pesa_register */
};

struct cost_use {
	uint32_t pipes;
	uint16_t cycles;
	bool all;	/* every one of the pipes */
	uint8_t choice; /* number of the set, where there is a choice, or COST_CHOICE_OF_PIPE() */
};

/* A source that is needed later (earlier: negative) than at issue, after a write of that name. */
struct cost_advance {
	uint8_t source; /* index among the sources */
	uint16_t write; /* 0: any */
	int16_t cycles;
};

/* What most instructions need lies together; those with longer lists have them whole elsewhere. */
struct cost {
	uint8_t flags; /* COST_* */
	uint8_t reads, writes, uses, queues, advances;
	uint8_t integer_results, float_results;
	uint16_t micro_ops;
	uint16_t latency;	 /* the longest, cycles */
	uint16_t first;		 /* cycle from issue in which the first result is written */
	uint16_t earlier;	 /* cycles before issue in which a source is needed at most */
	uint16_t address;	 /* of a load: cycles from issue to the access of the cache */
	struct cost_use use;	 /* the first; 0 uses: of no pipe */
	struct cost_write write; /* the first; 0 writes: of a register that nobody reads */
	uint8_t read[2];	 /* enum pesa_register, filled up with one that is always ready */
	uint8_t queue[COST_QUEUES_MAX]; /* numbers; 0 queues: of one that never fills */
	const struct cost_write *all_writes;
	const struct cost_use *all_uses;
	const struct cost_advance *advance;
	const uint8_t *all_reads;
};

struct cost_model;

/*
 * Read the model that `core` names and make the changes, one a line (pesa_mca_model_change()).
 * It lives as long as the process, and so has `core` to.
 */
struct pesa_error *cost_model_create(const struct pesa_core *core, const char *changes,
				     struct cost_model **made);
/* Sets of pipes of which an instruction takes any: their number, and the pipes of one. */
uint32_t cost_model_choices(const struct cost_model *model);
uint32_t cost_model_choice(const struct cost_model *model, uint32_t choice);
/* Issue queues: those of the description, then the model's buffers, then one that never fills. */
uint32_t cost_model_queues(const struct cost_model *model);
/* Entries of a queue; 0: no instruction enters it. */
uint32_t cost_model_queue(const struct cost_model *model, uint32_t queue);

/*
 * The cost of an instruction of a class under a vector type; NULL: out of memory.  Owned by the
 * caller, to be freed with free().
 */
struct cost *cost_create(const struct cost_model *model, const struct pesa_insn *insn,
			 enum pesa_core_class class, enum pesa_mca_lmul lmul, unsigned int sew);
/* Of an instruction that nobody knows. */
struct cost *cost_create_unknown(const struct cost_model *model, enum pesa_core_class class);

#endif
