/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of several equal units, or members of a group, is taken next.
 *
 * They are taken in turn, from the highest bit down; one that was taken out of turn is left out of
 * the next round.  LLVM does the same, and which unit an instruction gets is part of the result.
 */
#ifndef PESA_MCA_CHOICE_H
#define PESA_MCA_CHOICE_H

#include <stdint.h>

struct mca_choice {
	uint64_t all, next, removed; /* by bit; next: the rest of this round */
};

static inline void mca_choice_init(struct mca_choice *choice, uint64_t all)
{
	*choice = (struct mca_choice){.all = all, .next = all};
}

/* One of those that are ready, of which there is at least one. */
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

/* It is in use now, whoever has chosen it. */
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
