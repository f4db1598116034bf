/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One region of the input of `pesa mca`: runs the model on it, and prints its views or makes their
 * JSON.
 */
#ifndef TOOLS_MCA_REGION_H
#define TOOLS_MCA_REGION_H

#include <stdio.h>

#include <json-c/json.h>

#include "tools/mca/settings.h"
#include "tools/mca/source.h"

/* What the regions of an input have in common.  The threads that analyse them only read it. */
struct mca_analysis {
	const struct mca_settings *settings;
	const struct pesa_mca_model *model;
	const struct pesa_mca_processor *processor;
	const struct mca_source *source;
	FILE *output; /* where the text goes in the end */
};

/* Look up the instructions of a region in the model.  The caller frees *block. */
struct pesa_error *mca_region_bind(const struct mca_analysis *analysis,
				   const struct mca_source_region *region,
				   struct pesa_mca_block **block);

/*
 * Warn of the instructions that the model lacks or has another opinion of, and print the heading of
 * the region, the `number`th from 0 that is shown.  False: no instruction is left, nothing is shown.
 */
bool mca_region_announce(const struct mca_analysis *analysis,
			 const struct mca_source_region *region, const struct pesa_mca_block *block,
			 unsigned int number, FILE *output);

/* Run the block of a region, and print its views to `output` or make their object *json. */
struct pesa_error *mca_region_show(const struct mca_analysis *analysis,
				   const struct mca_source_region *region,
				   const struct pesa_mca_block *block, FILE *output,
				   struct json_object **json);

/* The whole JSON object: parameters, processor, and `regions`, whose ownership it takes. */
struct json_object *mca_report_object(const struct mca_settings *settings,
				      const struct pesa_mca_model *model, const char *processor,
				      struct json_object *regions);

#endif
