/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Candidates: single changes of the model, and how much of the residuals each of them explains.
 *
 * compare_fit() estimates which part (theta) of a candidate's predicted effect is present in the
 * residuals, with a standard error.  Residuals exist for each instruction and for each basic block.
 */
#ifndef DECODER_COMPARE_FIT_H
#define DECODER_COMPARE_FIT_H

#include "decoder/compare/inside.h"

/* The effect of a change on an instruction: cycles, over all its executions. */
struct compare_effect {
	uint32_t node;
	double cycles;
};

/* Most opcodes that a finding is narrowed to. */
#define COMPARE_OPCODES_MAX 24

struct compare_candidate {
	enum pesa_compare_change kind;
	unsigned int class; /* of the model: the first that it changes; unused for units */
	bool several;	    /* it changes several SchedWrites */
	bool narrow;	    /* it changes one SchedWrite, not a whole line `class` */
	/* The opcodes (pesa/riscv.h) that it changes; none listed: all opcodes of the entry. */
	uint16_t only[COMPARE_OPCODES_MAX];
	unsigned int opcodes;  /* how many there are */
	unsigned int resource; /* for cycles and units */
	/* For a smaller latency: the resource that is occupied for as many cycles; -1: none */
	int unpipelined;
	bool only_smaller;	       /* numbers above the model's are another candidate's */
	int model_value;	       /* including the findings so far */
	int base_value;		       /* without findings */
	unsigned int finding;	       /* its number; COMPARE_NONE: not a finding */
	int value;		       /* the value tried last */
	struct compare_effect *effect; /* by node: all nodes of the affected blocks */
	uint32_t example[PESA_COMPARE_EXAMPLES]; /* nodes with the largest effect */
	unsigned int examples;
	uint32_t effects;
	double theta, error; /* part of the effect that was measured, and its standard error */
	double ratio;	     /* differences / effect, each summed with the sign of the effect */
	double direct;	     /* the same for the instructions that it makes slower */
	double gain;	     /* weighted squares explained by the part theta of the effect */
	double whole;	     /* weighted squares explained by the whole effect */
	/* The same, if the effect were predicted without error and the misfit were that of the
	 * present model: comparable between values of one candidate. */
	double exact;
	double misfit; /* relative misfit of regions, after the measured part is subtracted */
	unsigned int generation; /* generation of the model from which the effect was determined */
	bool screened;		 /* the effect was determined on a few paths only (effect.c) */
	bool closed;	/* not tried again: its only step is taken, or a finding excludes it */
	bool refused;	/* in this round: not selected, because closed or not significant */
	bool settled;	/* in this round: its value is chosen */
	double moved;	/* change of the program's cycles */
	double shifted; /* sum of the absolute changes of all instructions */
	/* parts explained of instructions and blocks, with all findings in the model */
	double beside, beside_blocks;
	/* Of a finding: by how much it makes the differences likelier beside the others; twice the logarithm. */
	double likelier;
	bool postponed; /* not selected for the present: another beginning is tried (selection.c) */
	bool enough_beside; /* there is evidence for it beside all others, which are right together */
	bool stays;	    /* explains all beside the others, of which some were removed */
};

/* Residual of an instruction. */
struct compare_residual {
	double value;	 /* measured - predicted, cycles */
	double variance; /* of its part in the block, cycles^2; 0: not compared */
	uint32_t block;
};

/* Residual of a basic block: misfit shifts time between its instructions, not out of it. */
struct compare_block {
	double value;	 /* sum over its instructions */
	double sampling; /* variance of the sum due to sampling */
	double own;	 /* the same, and due to events and ordering */
	double variance; /* variance of the sum, without misfit */
	double shift;	 /* sum of the variances of its instructions */
	double scale;	 /* predicted cycles: misfit is relative to them */
	uint32_t region;
};

struct compare_residuals {
	struct compare_residual *node;
	struct compare_block *block;
	uint32_t regions;
	double misfit; /* of regions, relative, on the present model */
};

/* Whether the change is to fewer cycles. */
static inline bool compare_makes_faster(const struct compare_candidate *candidate)
{
	return candidate->kind != PESA_COMPARE_UNITS && candidate->kind != PESA_COMPARE_ADVANCE &&
	       candidate->value < candidate->model_value;
}

/* `value`, clipped to [-limit, limit]. */
static inline double compare_clip(double value, double limit)
{
	return value > limit ? limit : value < -limit ? -limit : value;
}

/* Estimate how much of the candidate's effect is in the residuals, using the candidate's misfit.
 * Sets theta, error, ratio, direct, gain, whole and exact. */
bool compare_fit(const struct compare_residuals *residuals, struct compare_candidate *candidate);

/* Twice the log-likelihood of all residuals, without the terms that are equal for all models.
 * `blocks` is the number of basic blocks; `misfit` is relative. */
double compare_likelihood(const struct compare_residuals *residuals, uint32_t nodes,
			  uint32_t blocks, double misfit);

#endif
