/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options of `pesa mca` that llvm-mca does not have: external stimuli (branches and loads as
 * measured, which a scheduling model does not contain), changes of the model (--set), and a
 * comparison of the costs before and after a change (--what-if).
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

/* Parse an option; its value is not NULL.  Returns 0, or 2 after a message on standard error. */
int mca_stimuli_option(struct mca_stimuli_options *options, const char *name, const char *value);
/* Apply the changes of --set to a model, and those of --what-if if `what_if` is set. */
struct pesa_error *mca_stimuli_change(const struct mca_stimuli_options *options,
				      struct pesa_mca_model *model, bool what_if);
/* Fill in defaults from the model.  *stimuli is NULL if there are no such options. */
struct pesa_error *mca_stimuli_resolve(struct mca_stimuli_options *options,
				       const struct pesa_mca_model *model,
				       const struct pesa_mca_stimuli **stimuli);

/*
 * Run a block with the model and with the changed model, and show both cycle stacks side by side:
 * printed, or added to `object` if that is not NULL.
 */
struct pesa_error *mca_what_if(const struct mca_stimuli_options *options,
			       const struct mca_view_context *context,
			       const struct pesa_mca_block *changed,
			       const struct pesa_mca_run_options *run, FILE *output,
			       struct json_object *object);

#endif
