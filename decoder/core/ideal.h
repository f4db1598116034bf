/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ideal places: instructions that the virtual core executes better than its core description says.
 *
 * `pesa record --ideal KIND[@ADDRESS]` makes such a place, to see what that would save: what
 * `pesa annotate --what-if` (pesa/why.h) estimates, made true.
 */
#ifndef DECODER_CORE_IDEAL_H
#define DECODER_CORE_IDEAL_H

#include <stdbool.h>
#include <stdint.h>

/* In the order of enum pesa_why_change, whose names they have. */
enum pesa_core_ideal {
	PESA_CORE_IDEAL_HIT,	 /* the lines and pages that it loads are there already */
	PESA_CORE_IDEAL_PREDICT, /* it is always predicted */
	PESA_CORE_IDEAL_LATENCY, /* its results are there after one cycle */
	PESA_CORE_IDEAL_UNIT,	 /* it occupies no unit, and waits for none */
	PESA_CORE_IDEAL_COUNT
};

#define PESA_CORE_IDEALS_MAX	 32u
#define PESA_CORE_IDEAL_ANYWHERE UINT64_MAX

struct pesa_core_ideal_place {
	uint64_t address; /* at run time, or PESA_CORE_IDEAL_ANYWHERE */
	uint32_t kind;	  /* enum pesa_core_ideal */
};

struct pesa_core_ideal_places {
	struct pesa_core_ideal_place place[PESA_CORE_IDEALS_MAX];
	uint32_t count;
};

/* Whether an address is such a place. */
static inline bool pesa_core_is_ideal(const struct pesa_core_ideal_places *places,
				      enum pesa_core_ideal kind, uint64_t address)
{
	for (uint32_t i = 0; i < places->count; i++)
		if (places->place[i].kind == kind &&
		    (places->place[i].address == address ||
		     places->place[i].address == PESA_CORE_IDEAL_ANYWHERE))
			return true;
	return false;
}

#endif
