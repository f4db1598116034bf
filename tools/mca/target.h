/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The target of `pesa mca`: the instruction set of the processor with the user's changes.
 */
#ifndef TOOLS_MCA_TARGET_H
#define TOOLS_MCA_TARGET_H

#include "tools/mca/settings.h"

/* Returns an error if the report would overwrite an input file. */
struct pesa_error *mca_target_check_output(const struct mca_settings *settings);

/* A processor's ISA string with -mattr applied, for the caller to free; NULL: out of memory.
 * `isa` NULL: the processor has none; the base ISA is used. */
char *mca_target_isa(const struct mca_settings *settings, const char *isa,
		     const struct pesa_mca_model *model);

#endif
