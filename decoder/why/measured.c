/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stalls on misses, and shares of misses, as the profile has them. */
#include <string.h>

#include "decoder/why/inside.h"
#include "pesa/record.h"

/* The CAUSE bits of an event that the core tracks under this name. */
static uint16_t bits_of(const struct pesa_capabilities *capabilities, const char *name)
{
	uint16_t bits = 0;

	for (unsigned int bit = 0; bit < PESA_CAUSE_COUNT; bit++)
		if (capabilities->cause_mask >> bit & 1 &&
		    !strcmp(capabilities->cause_names[bit], name))
			bits |= (uint16_t)(1u << bit);
	return bits;
}

uint16_t why_data_misses(const struct pesa_capabilities *capabilities)
{
	return PESA_CAUSE_DCACHE_MISS | PESA_CAUSE_DTLB_MISS | bits_of(capabilities, "l2-miss") |
	       bits_of(capabilities, "llc-miss") | bits_of(capabilities, "page-walk");
}

struct why_stalls why_measured_stalls(uint16_t misses, const struct pesa_instruction *measured)
{
	struct why_stalls stalls = {0};

	for (unsigned int i = 0; i < measured->buckets; i++) {
		const struct pesa_bucket *bucket = &measured->bucket[i];
		double cycles = (double)bucket->weight / PESA_CYCLE;

		if (bucket->state == PESA_STATE_STALLED)
			*(bucket->cause & misses ? &stalls.missed : &stalls.other) += cycles;
	}
	return stalls;
}

/*
 * Share of the retirements that met one of the causes; negative: not known.  They may not be tracked.
 * And a sample names the cause of one instruction only: one that stalls on them, but is never named
 * when it retires, retires while a younger one is named.
 */
static double share_of(const struct pesa_instruction *measured, uint16_t causes)
{
	double met = 0;
	bool stalled = false;

	if (!causes || !measured->retired_samples)
		return -1;
	for (unsigned int i = 0; i < measured->buckets; i++) {
		const struct pesa_bucket *bucket = &measured->bucket[i];

		if (bucket->state == PESA_STATE_RETIRING && bucket->cause & causes)
			met += (double)bucket->samples;
		stalled |= bucket->state == PESA_STATE_STALLED && bucket->cause & causes;
	}
	return !(met > 0) && stalled ? -1 : met / (double)measured->retired_samples;
}

struct pesa_why_misses pesa_why_misses(const struct pesa_why *why,
				       const struct pesa_compare_place *place)
{
	const struct pesa_capabilities *capabilities = pesa_profile_capabilities(why->profile);
	const struct pesa_instruction *measured =
		pesa_profile_find(why->profile, place->dso, place->address);
	uint16_t tracked = capabilities->cause_mask;

	if (!measured)
		return (struct pesa_why_misses){-1, -1, -1, -1};
	return (struct pesa_why_misses){
		.l1d = share_of(measured, PESA_CAUSE_DCACHE_MISS & tracked),
		.l2 = share_of(measured, bits_of(capabilities, "l2-miss")),
		.llc = share_of(measured, bits_of(capabilities, "llc-miss")),
		.dtlb = share_of(measured, PESA_CAUSE_DTLB_MISS & tracked),
	};
}
