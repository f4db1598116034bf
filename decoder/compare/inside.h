/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Comparison of measured with predicted cycles: data shared by its parts.
 *
 * 	code.c       the hot code, decoded: nodes
 * 	order.c      fences and other ordering instructions
 * 	ordering.c   whether this core drains at them
 * 	path.c       paths through it, along the measured control flow
 * 	memory.c     store-to-load forwarding along a path
 * 	predict.c    executes the paths on the model
 * 	alternatives.h  predictions in several ways, of which the nearest is taken
 * 	chosen.h     what was chosen among them, saved and taken back
 * 	misses.c     loads that miss, as measured
 * 	waits.h      loads that wait for stores that the code does not name
 * 	stability.c  whether a disturbance changes what is predicted
 * 	region.c     loops and functions, and their differences
 * 	redirect.c   what redirects of the front end cost, and stalls after mispredicts in order
 * 	variance.c   variance of measured and predicted cycles due to sampling
 * 	misfit.c     residual error of a correct model
 * 	compare.c    runs the steps above; instructions, regions and totals
 * 	search.h     infers which entries of the model are wrong
 *
 * The name of an array is singular, that of its number of elements plural: result, results.
 */
#ifndef DECODER_COMPARE_INSIDE_H
#define DECODER_COMPARE_INSIDE_H

#include "decoder/compare/predict.h"
#include "decoder/compare/region.h"
#include "decoder/compare/stability.h"
#include "decoder/mca/model/model.h"

/* The opcodes of a finding, those with most executions first. */
struct compare_opcodes {
	struct pesa_compare_opcode *one; /* array */
	unsigned int count;
};

/* Models that may be right if what is chosen for the paths is chosen with them. */
#define COMPARE_HYPOTHESES 8

struct compare_hypotheses {
	struct compare_hypothesis {
		struct pesa_mca_model *model; /* owned */
		double penalties;	      /* of its changes, see compare_score() */
	} one[COMPARE_HYPOTHESES];
	unsigned int count;
};

struct pesa_compare {
	const struct pesa_profile *profile;
	const struct pesa_mca_model *base; /* as given by the caller */
	struct pesa_compare_options options;
	struct pesa_mca_model
		*model; /* with the core's known parameters; later with the findings */
	struct compare_code code;
	struct compare_regions regions;
	struct compare_kinds kinds;
	struct compare_paths paths;
	struct compare_predictor predictor;
	struct compare_predicted *predicted; /* by step of a path */
	struct compare_stability stability;  /* of the model as it is */
	struct pesa_compare_totals totals;
	struct pesa_compare_region *result; /* most cycles first */
	size_t results;
	struct pesa_compare_finding *finding;
	unsigned int findings;
	struct compare_opcodes *opcodes; /* by finding */
	struct pesa_compare_unexplained unexplained;
	struct pesa_compare_redirect redirect[4 * PESA_COMPARE_REDIRECTS];
	unsigned int redirects;
	/* With findings of which some had too little evidence; NULL: all had enough. */
	struct pesa_mca_model *tentative;
	struct compare_hypotheses hypotheses; /* of the search's outcome */
	double score;			      /* its compare_score() */
	bool far;			      /* not explained, and compare_is_far() */
	bool ended_early;		      /* see compare_is_exhausted() */
	uint64_t apart, apart_from;	      /* instructions; see compare_begin_apart() */
	double progress;		      /* share done, as last reported */
	double *variance;		      /* by result: sampling variance of its difference */
	struct pesa_compare_instruction *instruction; /* of all results; see `first` of each */
};

/* The longest latency of a class, cycles; -1: it has no results. */
static inline int compare_latency_of(const struct pesa_mca_model *model, unsigned int class)
{
	const struct mca_class *costs = &model->classes[class];
	int longest = -1;

	for (unsigned int i = 0; i < costs->writes; i++)
		if (model->writes[costs->write + i].latency > longest)
			longest = model->writes[costs->write + i].latency;
	return longest;
}

static inline void compare_add_time(struct pesa_compare_time *sum,
				    const struct pesa_compare_time *time)
{
	sum->core += time->core;
	sum->retiring += time->retiring;
	sum->event += time->event;
	sum->flushed += time->flushed;
	sum->drained += time->drained;
	sum->unknown += time->unknown;
}

static inline double compare_time_sum(const struct pesa_compare_time *time)
{
	return time->core + time->event + time->flushed + time->drained + time->unknown;
}

/* Report the share done to the caller; a share below the last one is not reported. */
static inline void compare_report_progress(struct pesa_compare *compare, double share)
{
	if (!compare->options.progress || share < compare->progress)
		return;
	compare->progress = share;
	compare->options.progress(compare->options.progress_context, share);
}
/* All instructions of a basic block execute equally often: replace their estimated executions by the
 * mean, and set compare_node.retires. */
struct pesa_error *compare_pool_executions(struct pesa_compare *compare);
/* Sampling variance of an instruction's measured core time minus its predicted core time, which is
 * `predicted` cycles for each execution; cycles squared. */
double compare_sampling_variance(const struct pesa_compare *compare,
				 const struct compare_node *node, double predicted);
/* Sums over instructions of one basic block, as the variance of its difference needs them: cycles. */
struct compare_block_sum {
	double stalled;
	double off;	/* retiring, minus all predicted ones */
	double retired; /* in which instructions of it retire */
};

/* Add an instruction whose prediction is `predicted` cycles for each execution. */
void compare_block_add(struct compare_block_sum *sum, const struct compare_node *node,
		       double predicted);
/* Sampling variance of the measured minus the predicted core time of these instructions together.
 * Their executions are one estimate, so the variances of each do not add up to it. */
double compare_block_variance(const struct pesa_compare *compare,
			      const struct compare_block_sum *sum);
/* Estimate the predictor's redirect_stall from the profile, and add it to the predictions. */
struct pesa_error *compare_learn_redirect_stall(struct pesa_compare *compare);
/* Build the paths and their predictions, or build them again. */
struct pesa_error *compare_predict_all(struct pesa_compare *compare,
				       const struct compare_path_options *options);
/* Determine which loads wait for stores that the code does not name (waits.h), and predict. */
struct pesa_error *compare_learn_waits(struct pesa_compare *compare,
				       const struct compare_path_options *options);
/*
 * Determine which loads miss, how often, and how long it takes; predictions change with it.  `longer`: by
 * node, how long it would take if misses that are hidden are as long as their stalls say; *any: that may
 * be nearer to the measurement.
 */
struct pesa_error *compare_learn_misses(struct pesa_compare *compare,
					const struct compare_path_options *options, double *longer,
					bool *any);
/* Predict, and choose what waits at ordering instructions on this core (order.h). */
struct pesa_error *compare_predict_ordered(struct pesa_compare *compare,
					   struct compare_path_options *options);
/* Fill the table of redirects.  Requires the misprediction estimates. */
void compare_sum_redirects(struct pesa_compare *compare);
/* Compute the totals, with the present prediction as the model's. */
void compare_add_up(struct pesa_compare *compare);
/* Free findings, and the opcodes of each; these may be NULL. */
void compare_findings_free(struct pesa_compare_finding *finding, struct compare_opcodes *opcodes,
			   unsigned int findings);
void compare_hypotheses_free(struct compare_hypotheses *hypotheses);
/* Infer findings.  Afterwards the prediction is that of the corrected model.  What was chosen for the
 * predictions may be chosen again (find.c). */
struct pesa_error *compare_find(struct pesa_compare *compare, struct compare_path_options *options);

#endif
