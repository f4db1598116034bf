/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samplers: the samples that different kinds of hardware deliver for a sampled cycle.
 *
 * `shpms` is the extension for which pesa is made.  The others are the samples that hardware with
 * less support, or with none, would have delivered for the same cycles, by the definitions of TIP
 * (MICRO 2021) and TEA (ISCA 2023); Documentation/virtual-core.md describes their models.  Each
 * sampler is an event of its own in the perf.data file.
 */
#ifndef DECODER_CORE_SAMPLERS_H
#define DECODER_CORE_SAMPLERS_H

#include <stdbool.h>

/* clang-format off */
/* SAMPLER(identifier, name, event, what a sample names) */
#define VCORE_SAMPLERS(SAMPLER)                                                                    \
	SAMPLER(SHPMS, "shpms", "pesa/cycles/",                                                     \
		"what retired, or the instruction to blame, with state and causes")                 \
	SAMPLER(LCOFI, "lcofi", "pesa/lcofi/",                                                      \
		"the instruction that an overflow interrupt lands on")                              \
	SAMPLER(LAST_COMMIT, "last-commit", "pesa/last-commit/",                                    \
		"the youngest instruction that has retired")                                        \
	SAMPLER(NEXT_COMMIT, "next-commit", "pesa/next-commit/",                                    \
		"the oldest instruction that is to retire")                                         \
	SAMPLER(DISPATCH, "dispatch", "pesa/dispatch/",                                             \
		"the instruction that is dispatched, with the causes that it meets")

enum vcore_sampler {
#define SAMPLER(id, name, event, summary) VCORE_SAMPLER_##id,
	VCORE_SAMPLERS(SAMPLER)
#undef SAMPLER
	VCORE_SAMPLER_COUNT
};
/* clang-format on */

/* Whether samples carry the control transfer records: those of hardware that freezes them by its
 * interrupt, if the core has any. */
static inline bool vcore_sampler_has_branches(unsigned int sampler)
{
	return sampler == VCORE_SAMPLER_SHPMS || sampler == VCORE_SAMPLER_LCOFI;
}

#define VCORE_SAMPLERS_ALL ((1u << VCORE_SAMPLER_COUNT) - 1)

#endif
