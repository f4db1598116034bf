/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that choose from a store of pesad, and the input of a command that may be one. */
#ifndef TOOLS_STORE_OPTIONS_H
#define TOOLS_STORE_OPTIONS_H

#include "tools/store/store.h"
#include "tools/ui/profile_options.h"

/* The argp children of a command that reads a profile or a store.  The input of the first one is a
 * struct profile_input_options, as of profile_input_children, that of the second one a struct
 * store_wanted. */
extern const struct argp_child store_input_children[];

/* Where the input is a store, let `input` name the merged recording of what is wanted of it.  It is an
 * error to choose from what is no store. */
struct pesa_error *store_choose(struct profile_input_options *input,
				const struct store_wanted *wanted);

#endif
