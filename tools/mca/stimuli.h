/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options of `pesa mca` that llvm-mca does not have: what the model does not know, changes of the
 * model, and a comparison of the costs before and after a change.
 */
#ifndef TOOLS_MCA_STIMULI_H
#define TOOLS_MCA_STIMULI_H

#include <stdio.h>

#include "decoder/mca/views/views.h"
#include "pesa/mca.h"

#define MCA_CHANGES_MAX	  32
#define MCA_LATENCIES_MAX 32

struct mca_stimuli_options {
	struct pesa_mca_stimuli stimuli;
	struct pesa_mca_load_latency latency[MCA_LATENCIES_MAX];
	bool any, has_rate, has_penalty;
	const char *set[MCA_CHANGES_MAX], *what_if[MCA_CHANGES_MAX];
	unsigned int sets, what_ifs;
};

/* Take an option, its value not NULL; 0, or 2 after a message on standard error. */
int mca_stimuli_option(struct mca_stimuli_options *options, const char *name, const char *value);
/* Change a model as --set says, and as --what-if says if `what_if`. */
struct pesa_error *mca_stimuli_change(const struct mca_stimuli_options *options,
				      struct pesa_mca_model *model, bool what_if);
/* Fill in what comes from the model; *given is NULL if nothing was given. */
struct pesa_error *mca_stimuli_resolve(struct mca_stimuli_options *options,
				       const struct pesa_mca_model *model,
				       const struct pesa_mca_stimuli **stimuli);

/*
 * Run a block and the same one bound to the changed model, and show the cycle stacks of both side
 * by side: printed, or added to `object` if that is not NULL.
 */
struct pesa_error *mca_what_if(const struct mca_stimuli_options *options,
			       const struct mca_view_context *context,
			       const struct pesa_mca_block *changed,
			       const struct pesa_mca_run_options *run, FILE *output,
			       struct json_object *object);

#endif
