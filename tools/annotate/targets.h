/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that pesa annotate shows: those that a name means, or the hottest.
 *
 * A name is what users type, or paste from what pesa printed: the name of a function as
 * tools/names/match.h has it, an address, a line of source as FILE:LINE, or a place in a binary without
 * symbols as BINARY+0xADDRESS.
 */
#ifndef TOOLS_ANNOTATE_TARGETS_H
#define TOOLS_ANNOTATE_TARGETS_H

#include "tools/groups/groups.h"
#include "tools/ui/profile_input.h"

#define TARGETS_MAX 64

struct target {
	uint32_t dso;
	const struct pesa_symbol *symbol; /* NULL: code without symbols */
	uint64_t weight;
};

struct targets {
	const struct profile_input *input;
	const struct profile_groups *functions; /* by dso and symbol */
	const char *dso;			/* names of binaries, with commas; NULL: all */
	struct target target[TARGETS_MAX];	/* the hottest first */
	size_t count;
};

/* Choose the functions.  `name` NULL: the hottest. */
struct pesa_error *targets_choose(struct targets *targets, const char *name);

#endif
