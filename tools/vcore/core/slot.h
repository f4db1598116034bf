/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A slot of a stage that handles so many a cycle in program order, as one number: the cycle, and in
 * its low bits how many were handled in that cycle before.  So the later one of two is the greater
 * one.
 */
#ifndef TOOLS_VCORE_CORE_SLOT_H
#define TOOLS_VCORE_CORE_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#define SLOT_BITS 8
#define SLOTS_MAX 32u /* of a cycle */

/* From each slot of a cycle to the one after it, and to the first one of the next cycle: where a
 * cycle ends nobody can predict, and a look costs less than a choice without a branch. */
struct slot_steps {
	uint16_t step[2][SLOTS_MAX];
};

static inline struct slot_steps slot_steps_of(uint32_t width)
{
	struct slot_steps steps = {0};

	for (uint32_t slot = 0; slot < width && slot < SLOTS_MAX; slot++) {
		steps.step[1][slot] = (uint16_t)((1u << SLOT_BITS) - slot);
		steps.step[0][slot] = slot + 1 < width ? 1 : steps.step[1][slot];
	}
	return steps;
}

static inline uint64_t slot_cycle(uint64_t slot)
{
	return slot >> SLOT_BITS;
}

/* The first one of a cycle. */
static inline uint64_t slot_of(uint64_t cycle)
{
	return cycle << SLOT_BITS;
}

/* The one after it; `over`: nothing comes after it in its cycle. */
static inline uint64_t slot_after(const struct slot_steps *steps, uint64_t slot, bool over)
{
	return slot + steps->step[over][(uint8_t)slot];
}

#endif
