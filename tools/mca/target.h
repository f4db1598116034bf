/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processor that `pesa mca` analyses for: its model, and the instruction set to decode for.
 */
#ifndef TOOLS_MCA_TARGET_H
#define TOOLS_MCA_TARGET_H

#include "tools/mca/settings.h"

/* An error where the report would be written over something that is read. */
struct pesa_error *mca_target_check_output(const struct mca_settings *settings);

/* The processor's ISA string (NULL: any) with -mattr applied; owned by the caller. NULL: no memory.
 */
char *mca_target_isa(const struct mca_settings *settings, const char *isa,
		     const struct pesa_mca_model *model);

#endif
