/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hot code of a profile: its decoded instructions, as nodes with the measured data of each.
 *
 * A node also has what the later steps of the comparison add: its successors and basic block, the
 * state of following paths (path.h), and the predicted cycles (predict.h).
 */
#ifndef DECODER_COMPARE_CODE_H
#define DECODER_COMPARE_CODE_H

#include "decoder/profile/isas.h"
#include "pesa/compare.h"
#include "pesa/riscv.h"

#define COMPARE_NONE UINT32_MAX

struct compare_node {
	uint32_t dso;
	uint64_t address;
	const struct pesa_instruction *measured; /* NULL: no samples */
	struct pesa_insn insn;
	uint8_t flow; /* enum pesa_flow */
	/* The vector type at it, as the code before it in its function sets: LMUL (enum
	 * pesa_mca_lmul) and SEW; PESA_MCA_LMUL_NONE if that is not known. */
	uint8_t lmul, sew;
	bool decoded;
	bool leader;	 /* target of a transfer, or the previous node is not adjacent */
	uint32_t next;	 /* node of the next instruction, or COMPARE_NONE */
	uint32_t target; /* target of a direct transfer, or COMPARE_NONE */
	uint32_t region;
	uint32_t group;	   /* basic block */
	double executions; /* of its basic block */
	/* Cycles an execution of its basic block in which one of its instructions retires, at
	 * least 1. */
	double retires;
	struct pesa_compare_time time;
	double mispredicts[2]; /* per execution: not taken, taken */
	uint8_t waits;	       /* of a load: enum compare_waits (waits.h) */
	bool wide;	       /* of a load: it reads more bytes than the newest store writes */
	double waits_part;     /* of its executions, in which it waits */
	/* Its opcode may take longer, or a load of its basic block waits for a store: both explain
	 * the measurement. */
	bool ambiguous;
	double misses; /* of a load, per execution */
	double late;   /* cycles that a miss takes longer than the model's latency */
	uint8_t kind;  /* of instructions that order others (order.h) */
	/* State while following paths. */
	uint64_t visits, taken;
	double mispredicts_due[2]; /* mispredicts due: not taken, taken */
	double misses_due, waits_due;
	bool waits_now;	     /* of a load: it waits in this execution */
	uint32_t waits_path; /* the number of the path for which waits_now was set last */
	/* Prediction: sums over the occurrences in the counted part of paths. */
	double occurrences, retiring, stalled, event;
	double repeated;  /* of the occurrences, those right after its own basic block */
	double uncertain; /* cycles an execution by which ordering may change the prediction */
	bool on_path;	  /* at least one path contains it */
	int32_t class;	  /* scheduling class in the model; -1: unsupported, or on no path */
};

struct compare_code {
	struct compare_node *node; /* sorted by dso and address */
	uint32_t count, room;
	/* A load issues after the newest store of its set, whatever address that has: so predicts a core
	 * that knows loads and stores by their places in the program (waits.h). */
	bool in_sets;
	/* By node: another one of its set, or itself.  Loads and stores are of one set of which one reads what
	 * another one stored, on the paths that were made last without in_sets.  NULL: before them. */
	uint32_t *set;
	struct profile_isas isas;
};

struct pesa_error *compare_code_create(const struct pesa_profile *profile,
				       struct compare_code *code);
/* Add a node at the end, which is not decoded; NULL: no memory.  The caller keeps the order. */
struct compare_node *compare_code_add(struct compare_code *code, uint32_t dso, uint64_t address);
/* Decode the instruction of a node; false: its text is not at hand, or no instruction. */
bool compare_code_decode(const struct compare_code *code, const struct pesa_profile *profile,
			 struct compare_node *node);
/*
 * Set the vector type at each node of functions with vector instructions: that of the last instruction
 * before it, by address, that sets one.  It may have been executed once, before a loop, so that no path
 * has it.
 */
struct pesa_error *compare_code_set_vector_types(struct compare_code *code,
						 const struct pesa_profile *profile,
						 struct pesa_symbols *symbols);
void compare_code_free(struct compare_code *code);
/* Samples in which an instruction retired and was mispredicted; of an exact profile, executions. */
double compare_marked_mispredicts(const struct compare_node *node);
/* The node at an address, or COMPARE_NONE. */
uint32_t compare_code_find(const struct compare_code *code, uint32_t dso, uint64_t address);

#endif
