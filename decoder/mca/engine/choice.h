/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Choice of a unit among several equal units, or of a member of a group.
 *
 * Units are chosen round robin, from the highest bit down.  A unit that was used out of turn is
 * skipped in the next round.  The rule is LLVM's; the chosen unit is part of the results.
 */
#ifndef PESA_MCA_CHOICE_H
#define PESA_MCA_CHOICE_H

#include <stdint.h>

struct mca_choice {
	uint64_t all, next, removed; /* bit masks; next: the rest of this round */
};

static inline void mca_choice_init(struct mca_choice *choice, uint64_t all)
{
	*choice = (struct mca_choice){.all = all, .next = all};
}

/* Choose one of the ready units, of which there is at least one. */
static inline uint64_t mca_choose(struct mca_choice *choice, uint64_t ready)
{
	uint64_t chosen;

	if (!(ready & choice->next)) {
		choice->next = choice->all ^ choice->removed;
		choice->removed = 0;
	}
	if (!(ready & choice->next))
		choice->next = choice->all;
	chosen = UINT64_C(1) << (63 - __builtin_clzll(ready & choice->next));
	choice->next &= chosen | (chosen - 1);
	return chosen;
}

/* Note that a unit is in use, also if it was chosen otherwise. */
static inline void mca_choice_used(struct mca_choice *choice, uint64_t unit)
{
	if (unit > choice->next) {
		choice->removed |= unit;
		return;
	}
	choice->next &= ~unit;
	if (choice->next)
		return;
	choice->next = choice->all ^ choice->removed;
	choice->removed = 0;
}

#endif
