/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All regions of the input of `pesa mca`, each processor analysing some of them.
 *
 * Regions do not depend on each other.  Each thread takes the next one and analyses it into memory, not
 * far ahead of what is printed; they are printed in their order.  So the output is that of one thread,
 * and memory is bounded.
 */
#ifndef TOOLS_MCA_REGIONS_H
#define TOOLS_MCA_REGIONS_H

#include "tools/mca/region.h"

/*
 * Print all regions that have instructions, or add their objects to `list` if settings->json.
 * *shown: how many had instructions that the model supports.  Those before one with an error are
 * printed.
 */
struct pesa_error *mca_regions_analyse(const struct mca_analysis *analysis,
				       struct json_object *list, unsigned int *shown);

#endif
