/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs the model on one region of the input of `pesa mca`, and prints its views or makes their JSON.
 */
#ifndef TOOLS_MCA_REGION_H
#define TOOLS_MCA_REGION_H

#include <stdio.h>

#include <json-c/json.h>

#include "tools/mca/settings.h"
#include "tools/mca/source.h"

/*
 * Print a region to `output`, or add its object to `regions` if that is not NULL.  *shown is
 * incremented if the region has instructions that the model supports.
 */
struct pesa_error *mca_region_analyse(const struct mca_settings *settings,
				      const struct pesa_mca_model *model,
				      const struct pesa_mca_processor *processor,
				      const struct mca_source *source,
				      const struct mca_source_region *region, FILE *output,
				      struct json_object *regions, unsigned int *shown);

/* The whole JSON object: parameters, processor, and `regions`, whose ownership it takes. */
struct json_object *mca_report_object(const struct mca_settings *settings,
				      const struct pesa_mca_model *model, const char *processor,
				      struct json_object *regions);

#endif
