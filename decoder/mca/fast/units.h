/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Units on the fast path.
 *
 * resources.c tracks which unit an instruction gets, because views show it.  Without listeners,
 * equivalent units need only be counted: those of a resource form a pool, and so do all units of a
 * group whose members have no other uses in the block.  Only a group that shares members with other
 * uses chooses a member, by the same rules.
 *
 * A block is plain if its instructions take one unit of each resource that they use, need no two
 * overlapping ones, and wait in buffers until they issue; other blocks use resources.c.
 */
#ifndef PESA_MCA_UNITS_H
#define PESA_MCA_UNITS_H

#include "decoder/mca/model/block.h"
#include "decoder/mca/engine/choice.h"

/* A use of one unit by an instruction. */
struct mca_unit_use {
	uint64_t pools; /* bit mask; more than one: `group` chooses */
	uint32_t cycles;
	uint8_t pool, group; /* bit numbers */
};

struct mca_unit_busy {
	uint64_t until;
	uint8_t pool;
};

struct mca_units {
	bool plain;
	uint64_t free;			      /* bit mask of pools with a free unit */
	uint64_t groups;		      /* bit mask of groups that choose */
	uint16_t left[MCA_RESOURCES_MAX + 1]; /* free units by pool */
	uint64_t groups_of[MCA_RESOURCES_MAX + 1];
	struct mca_choice choice[MCA_RESOURCES_MAX + 1]; /* by group */
	uint8_t *once;		    /* pools of units taken for the current cycle only */
	struct mca_unit_busy *busy; /* units taken for longer */
	unsigned int once_count, busy_count;
	uint64_t earliest_release; /* first cycle in which one of these becomes free */
};

/* Size of a block's units in bytes, a multiple of 8. */
size_t mca_units_size(const struct pesa_mca_block *block);
/* `identified`: it matters which unit an instruction gets; then no block is plain. */
void mca_units_init(struct mca_units *units, const struct pesa_mca_block *block, bool identified,
		    void *memory);
/* Set the uses of an instruction of a plain block, one for each usage of its description. */
void mca_units_describe(const struct mca_units *units, const struct mca_description *description,
			struct mca_unit_use *uses);

/* Parts of a snapshot and of a fingerprint, like mca_resources_words() and _mix(). */
unsigned int mca_units_snapshot(const struct mca_units *units, uint64_t ignored_parts, uint64_t now,
				uint64_t *words);
uint64_t mca_units_mix(const struct mca_units *units, uint64_t hash);

/* Free the units whose time is over. */
void mca_units_release(struct mca_units *units, uint64_t now);
static inline void mca_units_cycle(struct mca_units *units, uint64_t now)
{
	while (units->once_count) {
		unsigned int pool = units->once[--units->once_count];

		units->left[pool]++;
		units->free |= UINT64_C(1) << pool;
	}
	if (now >= units->earliest_release)
		mca_units_release(units, now);
}

static inline bool mca_units_are_free(const struct mca_units *units,
				      const struct mca_unit_use *uses, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (!(uses[i].pools & units->free))
			return false;
	return true;
}

/* Take the units, which are free. */
static inline void mca_units_take(struct mca_units *units, uint64_t now,
				  const struct mca_unit_use *uses, unsigned int count)
{
	for (const struct mca_unit_use *use = uses; use != uses + count; use++) {
		unsigned int pool = use->pool;

		if (use->group)
			pool = __builtin_ctzll(
				mca_choose(&units->choice[use->group], use->pools & units->free));
		if (!--units->left[pool]) {
			units->free ^= UINT64_C(1) << pool;
			for (uint64_t rest = units->groups_of[pool]; rest; rest &= rest - 1)
				mca_choice_used(&units->choice[__builtin_ctzll(rest)],
						UINT64_C(1) << pool);
		}
		if (use->cycles <= 1) {
			units->once[units->once_count++] = pool;
			continue;
		}
		units->busy[units->busy_count++] = (struct mca_unit_busy){now + use->cycles, pool};
		if (now + use->cycles < units->earliest_release)
			units->earliest_release = now + use->cycles;
	}
}

#endif
