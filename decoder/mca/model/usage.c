/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The resources that an instruction of a class uses, as the engine counts them: see block.h. */
#include <stdlib.h>

#include "decoder/mca/model/block.h"

static int compare_usages(const void *a, const void *b)
{
	const struct mca_usage *left = a, *right = b;
	int bits = __builtin_popcountll(left->mask) - __builtin_popcountll(right->mask);

	if (bits)
		return bits;
	return left->mask < right->mask ? -1 : left->mask > right->mask;
}

struct pesa_error *mca_describe_usage(struct mca_arena *arena, const struct pesa_mca_model *model,
				      struct mca_description *description)
{
	const struct mca_class *class = &model->classes[description->class];
	const struct pesa_mca_use *use = &model->uses[class->use];
	struct mca_usage *work = mca_arena_take(arena, (class->uses + 1) * sizeof(*work));
	unsigned int through_super[MCA_RESOURCES_MAX + 1] = {0}; /* cycles, by bit */
	uint64_t has_super = 0, units_of_groups = 0;
	bool all_in_order = true, hazard = false;
	unsigned int count = 0;

	if (!work)
		return pesa_error_no_memory();
	for (unsigned int i = 0; i < class->uses; i++, use++) {
		int buffer = model->resources[use->resource].buffer;
		uint64_t mask = model->masks[use->resource];
		int super = model->super[use->resource];

		if (!use->release)
			continue;
		if (buffer < 0) {
			all_in_order = false;
		} else {
			description->buffers |= UINT64_C(1) << mca_top_bit(mask);
			hazard |= buffer == 0;
			all_in_order &= buffer <= 1;
		}
		work[count++] =
			(struct mca_usage){.mask = mask, .cycles = use->release, .units = 1};
		if (super >= 0) {
			unsigned int bit = mca_top_bit(model->masks[super]);

			has_super |= UINT64_C(1) << bit;
			through_super[bit] += use->release;
		}
	}
	description->must_issue_immediately = all_in_order && hazard;
	qsort(work, count, sizeof(*work), compare_usages);
	description->usage = work;
	for (unsigned int i = 0; i < count; i++) {
		struct mca_usage *usage = &work[i];
		uint64_t own = UINT64_C(1) << mca_top_bit(usage->mask), members = usage->mask;

		if (!usage->cycles) {
			description->groups |= own;
			continue;
		}
		if (members != own) {
			members ^= own;
			description->overlapping_groups |= (units_of_groups & members) != 0;
			units_of_groups |= members;
			description->groups |= own;
		}
		for (unsigned int j = i + 1; j < count; j++) {
			struct mca_usage *larger = &work[j];
			unsigned int bit = mca_top_bit(usage->mask);
			int share;

			if ((members & larger->mask) != members)
				continue;
			has_super |= UINT64_C(1) << bit;
			share = (int)usage->cycles - (int)through_super[bit];
			larger->cycles = share < (int)larger->cycles ? larger->cycles - share : 0;
			if (larger->mask & (larger->mask - 1))
				larger->units++;
		}
	}
	for (unsigned int i = 0; i < count; i++) {
		struct mca_usage usage = work[i];
		unsigned int members = __builtin_popcountll(usage.mask) - 1;

		if (!usage.cycles)
			continue;
		if (members && usage.units > members) {
			usage.reserved = true;
			usage.units = members;
		}
		work[description->usages++] = usage;
	}
	for (unsigned int bit = 0; bit < model->resource_count; bit++) {
		uint64_t mask = UINT64_C(1) << bit;

		if (!(has_super & mask))
			continue;
		mask = model->masks[model->of_bit[bit]];
		for (unsigned int i = 0; i < model->resource_count; i++)
			if (model->resources[i].buffer != -1 && model->masks[i] != mask &&
			    (model->masks[i] & mask) == mask)
				description->buffers |= UINT64_C(1) << mca_top_bit(model->masks[i]);
	}
	return NULL;
}
