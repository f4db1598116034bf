/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Candidates: single changes of the model, and how well each explains what is left of the
 * differences.
 */
#ifndef DECODER_COMPARE_FIT_H
#define DECODER_COMPARE_FIT_H

#include "decoder/compare/inside.h"

/* The effect of a change on an instruction, in cycles over all executions. */
struct compare_effect {
	uint32_t node;
	double cycles;
};

struct compare_candidate {
	enum pesa_compare_change kind;
	unsigned int class;			 /* of the model; not for units */
	unsigned int resource;			 /* for cycles and units */
	int model_value;			 /* with the findings so far */
	int base_value;				 /* before any */
	unsigned int finding;			 /* its number, COMPARE_NONE: not found yet */
	int value;				 /* that was tried */
	struct compare_effect *effect;		 /* by node: all of the pieces that it touches */
	uint32_t example[PESA_COMPARE_EXAMPLES]; /* nodes where it is largest */
	unsigned int examples;
	uint32_t effects;
	double theta, error; /* how much of the effect was measured, and its standard error */
	double ratio;	     /* of the differences to the effect, each summed in its direction */
	double direct;	     /* likewise, of the instructions that it makes slower */
	double gain;	     /* what of the weighted squares that part of it explains */
	double whole;	     /* what of them all of it explains */
	double misfit;	     /* relative, of regions: with what of it is measured */
	unsigned int generation; /* of the model that the effect is of */
	bool closed;		 /* there is nothing more to change */
	bool refused, settled;	 /* in this round */
	double moved;		 /* cycles by which it changes the program */
	double shifted;		 /* the changes of all instructions, absolute, together */
};

/* Of an instruction: what is left of its difference. */
struct compare_residual {
	double value;	 /* measured - predicted, cycles */
	double variance; /* of where in its piece the time is counted, cycles^2; 0: not compared */
	uint32_t piece;
};

/* Of a straight piece of code, whose instructions change time with each other. */
struct compare_piece {
	double value;	 /* the sum of its instructions */
	double variance; /* of the sum, without misfit */
	double shift;	 /* the sum of the variances of its instructions */
	double scale;	 /* cycles that are predicted: misfit is a share of them */
	uint32_t region;
};

struct compare_residuals {
	struct compare_residual *node;
	struct compare_piece *piece;
	uint32_t regions;
};

/* `value`, or as far in its direction as the limit. */
static inline double compare_clip(double value, double limit)
{
	return value > limit ? limit : value < -limit ? -limit : value;
}

/* How much of the candidate's effect the residuals show, whose misfit is the candidate's: fills in
 * theta, error, ratio, direct, gain and whole. */
bool compare_fit(const struct compare_residuals *residuals, struct compare_candidate *candidate);

/* Twice the logarithm of the likelihood of what is left of all differences, but for what is the
 * same of all models; `pieces` of which regions have a relative misfit. */
double compare_likelihood(const struct compare_residuals *residuals, uint32_t nodes,
			  uint32_t pieces, double misfit);

#endif
