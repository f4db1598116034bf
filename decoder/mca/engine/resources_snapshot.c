/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The resources' part of a snapshot and of a fingerprint: see snapshot.c. */
#include "decoder/mca/engine/engine.h"

/* Sort busy units by number. */
static void sort_busy(struct mca_resources *resources)
{
	for (unsigned int i = 1; i < resources->busy_count; i++) {
		struct mca_busy busy = resources->busy[i];
		unsigned int j = i;

		for (; j && (resources->busy[j - 1].resource > busy.resource ||
			     (resources->busy[j - 1].resource == busy.resource &&
			      resources->busy[j - 1].unit > busy.unit));
		     j--)
			resources->busy[j] = resources->busy[j - 1];
		resources->busy[j] = busy;
	}
}

unsigned int mca_resources_words(const struct pesa_mca_block *block,
				 const struct mca_resources *resources)
{
	return 3 * (block->unit_count + resources->busy_count + 1);
}

unsigned int mca_resources_snapshot(struct mca_resources *resources,
				    const struct pesa_mca_block *block, uint64_t ignored_parts,
				    uint64_t now, uint64_t *words)
{
	bool units = !(ignored_parts >> MCA_SNAPSHOT_UNITS & 1);
	bool next_units = !(ignored_parts >> MCA_SNAPSHOT_NEXT_UNITS & 1);
	unsigned int count = 0;

	for (unsigned int i = 0; i < block->unit_count; i++) {
		const struct mca_resource_state *state = &resources->state[block->unit[i]];

		if (units)
			words[count++] = state->ready_mask;
		if (next_units) {
			words[count++] = state->choice.next;
			words[count++] = state->choice.removed;
		}
	}
	if (!units)
		return count;
	words[count++] = resources->reserved_groups;
	words[count++] = resources->busy_count;
	sort_busy(resources);
	for (unsigned int i = 0; i < resources->busy_count; i++) {
		const struct mca_busy *busy = &resources->busy[i];

		words[count++] = busy->resource;
		words[count++] = busy->unit;
		words[count++] = busy->until > now ? busy->until - now : 0;
	}
	return count;
}

uint64_t mca_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

uint64_t mca_resources_mix(const struct mca_resources *resources,
			   const struct pesa_mca_block *block, uint64_t hash)
{
	for (unsigned int i = 0; i < block->unit_count; i++) {
		const struct mca_resource_state *state = &resources->state[block->unit[i]];

		hash = mca_mix(hash, state->choice.next ^ state->choice.removed << 32 ^
					     state->ready_mask << 16);
	}
	return hash;
}
