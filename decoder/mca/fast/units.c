/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Units on the fast path: see units.h. */
#include <string.h>

#include "decoder/mca/engine/engine.h"
#include "decoder/mca/fast/units.h"

static unsigned int index_of(uint64_t mask)
{
	return 63 - __builtin_clzll(mask);
}

/* The resources from which a use takes one unit: the members of a group, or the resource itself. */
static uint64_t members_of(uint64_t mask)
{
	uint64_t own = UINT64_C(1) << index_of(mask);

	return mask == own ? own : mask ^ own;
}

size_t mca_units_size(const struct pesa_mca_block *block)
{
	size_t units = mca_resources_units(block->model);

	return units * sizeof(struct mca_unit_busy) + (units + 7) / 8 * 8;
}

/* ---- Pools ----------------------------------------------------------------------------------- */

struct uses {
	uint64_t used;	  /* bit masks: resources and groups with uses of their own */
	uint64_t shared;  /* resources with more than one kind of use */
	uint64_t members; /* members of everything used */
	uint64_t buffers;
};

static bool find_uses(const struct pesa_mca_block *block, struct uses *uses)
{
	for (unsigned int i = 0; i < block->description_count; i++) {
		const struct mca_description *description = block->descriptions[i];

		if (description->overlapping_groups)
			return false;
		uses->buffers |= description->buffers;
		for (unsigned int j = 0; j < description->usages; j++) {
			const struct mca_usage *usage = &description->usage[j];
			uint64_t own = UINT64_C(1) << index_of(usage->mask);

			if (usage->units != 1 || usage->reserved)
				return false;
			if (uses->used & own)
				continue;
			uses->shared |= uses->members & members_of(usage->mask);
			uses->members |= members_of(usage->mask);
			uses->used |= own;
		}
	}
	return true;
}

/* Add a used group: a pool of its own if it shares no member, otherwise one that chooses. */
static void add_group(struct mca_units *units, uint64_t mask, bool shares)
{
	unsigned int group = index_of(mask);

	if (!shares) {
		for (uint64_t rest = members_of(mask); rest; rest &= rest - 1)
			units->left[group] += units->left[__builtin_ctzll(rest)];
		units->free |= UINT64_C(1) << group;
		return;
	}
	units->groups |= UINT64_C(1) << group;
	mca_choice_init(&units->choice[group], members_of(mask));
	for (uint64_t rest = members_of(mask); rest; rest &= rest - 1)
		units->groups_of[__builtin_ctzll(rest)] |= UINT64_C(1) << group;
}

void mca_units_init(struct mca_units *units, const struct pesa_mca_block *block, bool identified,
		    void *memory)
{
	const struct pesa_mca_model *model = block->model;
	struct uses uses = {0};

	*units = (struct mca_units){.earliest_release = UINT64_MAX, .busy = memory};
	units->once = (uint8_t *)(units->busy + mca_resources_units(model));
	units->plain = find_uses(block, &uses) && !identified;
	for (unsigned int i = 0; i < model->resource_count; i++) {
		unsigned int pool = index_of(model->masks[i]);
		uint64_t touched = uses.used | uses.members | uses.buffers;

		/* The entry of such a buffer is occupied until a unit is free. */
		units->plain &= !(touched >> pool & 1) || model->resources[i].buffer != 0;
		if (model->resources[i].group) {
			/* In a group of groups the choice has more than one step. */
			units->plain &= !(uses.members >> pool & 1);
			continue;
		}
		units->left[pool] = model->resources[i].units;
		units->free |= UINT64_C(1) << pool;
	}
	for (unsigned int i = 0; i < model->resource_count; i++)
		if (model->resources[i].group && uses.used >> index_of(model->masks[i]) & 1)
			add_group(units, model->masks[i],
				  uses.shared & members_of(model->masks[i]));
}

void mca_units_describe(const struct mca_units *units, const struct mca_description *description,
			struct mca_unit_use *uses)
{
	for (unsigned int i = 0; i < description->usages; i++) {
		const struct mca_usage *usage = &description->usage[i];
		unsigned int index = index_of(usage->mask);
		bool chooses = units->groups >> index & 1;

		uses[i] = (struct mca_unit_use){
			.pools = chooses ? members_of(usage->mask) : UINT64_C(1) << index,
			.cycles = usage->cycles,
			.pool = index,
			.group = chooses ? index : 0,
		};
	}
}

/* ---- Time ------------------------------------------------------------------------------------ */

void mca_units_release(struct mca_units *units, uint64_t now)
{
	unsigned int kept = 0;

	units->earliest_release = UINT64_MAX;
	for (unsigned int i = 0; i < units->busy_count; i++) {
		struct mca_unit_busy busy = units->busy[i];

		if (busy.until > now) {
			if (busy.until < units->earliest_release)
				units->earliest_release = busy.until;
			units->busy[kept++] = busy;
			continue;
		}
		units->left[busy.pool]++;
		units->free |= UINT64_C(1) << busy.pool;
	}
	units->busy_count = kept;
}

/* ---- Snapshots ------------------------------------------------------------------------------- */

/* State before a cycle: units that become free in it need no word. */
unsigned int mca_units_snapshot(const struct mca_units *units, uint64_t ignored_parts, uint64_t now,
				uint64_t *words)
{
	unsigned int count = 0, first;

	for (uint64_t rest = units->groups; rest && !(ignored_parts >> MCA_SNAPSHOT_NEXT_UNITS & 1);
	     rest &= rest - 1) {
		const struct mca_choice *choice = &units->choice[__builtin_ctzll(rest)];

		words[count++] = choice->next;
		words[count++] = choice->removed;
	}
	first = count;
	for (unsigned int i = 0;
	     i < units->busy_count && !(ignored_parts >> MCA_SNAPSHOT_UNITS & 1); i++) {
		const struct mca_unit_busy *busy = &units->busy[i];
		uint64_t word = (uint64_t)busy->pool << 32 | (busy->until - now);
		unsigned int place = count;

		if (busy->until <= now)
			continue;
		/* Sorted, because the units of a pool are equivalent. */
		for (; place > first && words[place - 1] > word; place--)
			words[place] = words[place - 1];
		words[place] = word;
		count++;
	}
	return count;
}

uint64_t mca_units_mix(const struct mca_units *units, uint64_t hash)
{
	for (uint64_t rest = units->groups; rest; rest &= rest - 1) {
		const struct mca_choice *choice = &units->choice[__builtin_ctzll(rest)];

		hash = mca_mix(hash, choice->next ^ choice->removed << 32);
	}
	return hash;
}
