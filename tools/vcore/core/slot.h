/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A slot of a stage that handles a fixed number of instructions per cycle in program order.
 *
 * A slot is one number: the cycle, and in the low SLOT_BITS bits the index within the cycle.  So
 * slots compare in program order.
 */
#ifndef TOOLS_VCORE_CORE_SLOT_H
#define TOOLS_VCORE_CORE_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#define SLOT_BITS 8
#define SLOTS_MAX 32u /* per cycle */

/*
 * The distance from each slot to the next one in its cycle, [0], and to the first slot of the next
 * cycle, [1].  A table lookup is cheaper than a branch that cannot be predicted.
 */
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

/* The first slot of a cycle. */
static inline uint64_t slot_of(uint64_t cycle)
{
	return cycle << SLOT_BITS;
}

/* The next slot; `over`: the next slot is in the next cycle in any case. */
static inline uint64_t slot_after(const struct slot_steps *steps, uint64_t slot, bool over)
{
	return slot + steps->step[over][(uint8_t)slot];
}

#endif
