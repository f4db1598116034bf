/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Export for compilers and binary optimisers (pesa/pgo.h): makes the control flow of a profile,
 * writes it, and says what had no place in the format.
 */
#ifndef TOOLS_EXPORT_PGO_H
#define TOOLS_EXPORT_PGO_H

#include <stdio.h>

#include "pesa/pgo.h"
#include "tools/ui/profile_input.h"

/* binary: name or path of the only binary to write; NULL: see pesa_pgo_write().  The caller checks
 * `out` for errors. */
struct pesa_error *export_pgo(const struct profile_input *input, enum pesa_pgo_format format,
			      const char *binary, FILE *out, struct pesa_pgo_summary *summary);
/* Name binaries whose code is not at hand: missing, of another build, damaged. */
void export_pgo_say_what_is_unread(const struct profile_input *input);
/* Say in a line each what was left out. */
void export_pgo_complain(const struct profile_input *input, const struct pesa_pgo_summary *summary);
void export_pgo_json(const struct profile_input *input, const struct pesa_pgo_summary *summary,
		     struct ui_json *json);

#endif
