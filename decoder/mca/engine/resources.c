/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resources: availability of units, and their allocation to instructions. */
#include <stdlib.h>
#include <string.h>

#include "decoder/mca/engine/engine.h"

static unsigned int index_of(uint64_t mask)
{
	return 63 - __builtin_clzll(mask);
}

static struct mca_resource_state *state_of(struct mca_resources *resources, uint64_t mask)
{
	return &resources->state[index_of(mask)];
}

static bool is_ready(const struct mca_resource_state *state, unsigned int units)
{
	if (state->reserved && state->buffer)
		return false;
	if (units == 1)
		return state->ready_mask;
	return !units || (unsigned int)__builtin_popcountll(state->ready_mask) >= units;
}

unsigned int mca_resources_units(const struct pesa_mca_model *model)
{
	unsigned int units = 0;

	for (unsigned int i = 0; i < model->resource_count; i++)
		units += model->resources[i].group ? 1 : model->resources[i].units;
	return units;
}

void mca_resources_init(struct mca_resources *resources, const struct pesa_mca_model *model,
			struct mca_busy *busy)
{
	memset(resources, 0, sizeof(*resources));
	resources->busy = busy;
	resources->available_buffers = ~UINT64_C(0);
	for (unsigned int i = 0; i < model->resource_count; i++) {
		const struct pesa_mca_resource *resource = &model->resources[i];
		uint64_t mask = model->masks[i], own = UINT64_C(1) << index_of(mask);
		struct mca_resource_state *state = state_of(resources, mask);

		state->mask = mask;
		state->group = mask != own;
		mca_choice_init(&state->choice,
				state->group ? mask ^ own : (UINT64_C(1) << resource->units) - 1);
		state->ready_mask = state->choice.all;
		state->buffer = resource->buffer;
		state->slots = resource->buffer > 0 ? resource->buffer : 0;
		if (!state->group)
			resources->unit_mask |= mask;
		for (uint64_t rest = state->group ? mask ^ own : 0; rest; rest &= rest - 1)
			resources->groups_of[__builtin_ctzll(rest)] |= own;
	}
}

static bool has_choice(const struct mca_resource_state *state)
{
	return state->group || state->choice.all & (state->choice.all - 1);
}

/* Select the unit of a resource or group, as (mask of the resource, bit of the unit). */
static void select_pipe(struct mca_resources *resources, uint64_t mask, struct mca_pipe *pipe)
{
	struct mca_resource_state *state = state_of(resources, mask);

	while (state->group) {
		mask = mca_choose(&state->choice, state->ready_mask);
		state = state_of(resources, mask);
	}
	pipe->resource = mask;
	pipe->unit = has_choice(state) ? mca_choose(&state->choice, state->ready_mask)
				       : state->ready_mask;
}

static void use_pipe(struct mca_resources *resources, const struct mca_pipe *pipe)
{
	struct mca_resource_state *state = state_of(resources, pipe->resource);

	state->ready_mask ^= pipe->unit;
	if (has_choice(state))
		mca_choice_used(&state->choice, pipe->unit);
	if (state->ready_mask)
		return;
	for (uint64_t groups = resources->groups_of[index_of(pipe->resource)]; groups;
	     groups &= groups - 1) {
		struct mca_resource_state *group = &resources->state[__builtin_ctzll(groups)];

		group->ready_mask ^= pipe->resource;
		mca_choice_used(&group->choice, pipe->resource);
	}
}

static void release_pipe(struct mca_resources *resources, const struct mca_busy *busy)
{
	struct mca_resource_state *state = state_of(resources, busy->resource);
	bool was_fully_used = !is_ready(state, 1);

	state->ready_mask ^= busy->unit;
	if (!was_fully_used)
		return;
	for (uint64_t groups = resources->groups_of[index_of(busy->resource)]; groups;
	     groups &= groups - 1)
		resources->state[__builtin_ctzll(groups)].ready_mask ^= busy->resource;
}

static void release_resource(struct mca_resources *resources, uint64_t mask)
{
	struct mca_resource_state *state = state_of(resources, mask);
	uint64_t own = UINT64_C(1) << index_of(mask);

	state->reserved = false;
	if (state->group)
		resources->reserved_groups ^= own;
	if (state->buffer == 0)
		resources->reserved_buffers ^= own;
}

void mca_resources_cycle(struct mca_resources *resources, uint64_t now)
{
	unsigned int kept = 0;

	if (now < resources->earliest_release)
		return;
	resources->earliest_release = UINT64_MAX;
	for (unsigned int i = 0; i < resources->busy_count; i++) {
		struct mca_busy *busy = &resources->busy[i];

		if (busy->until > now) {
			if (busy->until < resources->earliest_release)
				resources->earliest_release = busy->until;
			resources->busy[kept++] = *busy;
			continue;
		}
		if (!(busy->resource & (busy->resource - 1)))
			release_pipe(resources, busy);
		release_resource(resources, busy->resource);
	}
	resources->busy_count = kept;
}

enum mca_buffers mca_buffers_check(const struct mca_resources *resources, uint64_t buffers)
{
	if (buffers & resources->reserved_buffers)
		return MCA_BUFFERS_RESERVED;
	if (buffers & ~resources->available_buffers)
		return MCA_BUFFERS_FULL;
	return MCA_BUFFERS_AVAILABLE;
}

void mca_buffers_reserve(struct mca_resources *resources, uint64_t buffers)
{
	for (; buffers; buffers &= buffers - 1) {
		uint64_t own = buffers & -buffers;
		struct mca_resource_state *state = state_of(resources, own);

		if (state->buffer > 0 && !--state->slots)
			resources->available_buffers ^= own;
		if (state->buffer == 0)
			resources->reserved_buffers ^= own;
	}
}

void mca_buffers_release(struct mca_resources *resources, uint64_t buffers)
{
	resources->available_buffers |= buffers;
	for (; buffers; buffers &= buffers - 1) {
		struct mca_resource_state *state = state_of(resources, buffers & -buffers);

		if (state->buffer > 0)
			state->slots++;
	}
}

/* For groups that share members: whether each can be assigned a different member. */
static uint64_t overlapping_busy(const struct mca_resources *resources,
				 const struct mca_description *description, uint64_t consumed,
				 const uint8_t *taken)
{
	uint8_t units[MCA_RESOURCES_MAX + 1];
	uint64_t known = 0, busy = 0;

	for (unsigned int i = 0; i < description->usages; i++) {
		const struct mca_usage *usage = &description->usage[i];
		unsigned int index = index_of(usage->mask);
		const struct mca_resource_state *state = &resources->state[index];

		if (!state->group) {
			units[index] = taken[index];
			known |= usage->mask;
		}
	}
	for (unsigned int i = 0; i < description->usages; i++) {
		const struct mca_usage *usage = &description->usage[i];
		const struct mca_resource_state *state = &resources->state[index_of(usage->mask)];
		uint64_t ready = state->ready_mask & ~consumed;
		unsigned int index;

		if (usage->reserved || !state->group)
			continue;
		if (!ready) {
			busy |= state->ready_mask;
			continue;
		}
		index = index_of(ready);
		if (!(known >> index & 1)) {
			units[index] = __builtin_popcountll(resources->state[index].ready_mask);
			known |= UINT64_C(1) << index;
		}
		if (!units[index]) {
			busy |= UINT64_C(1) << index;
			continue;
		}
		if (!--units[index])
			consumed |= UINT64_C(1) << index;
	}
	return busy;
}

static uint64_t busy_with_overlapping(const struct mca_resources *resources,
				      const struct mca_description *description)
{
	uint64_t busy = 0, consumed = 0;
	uint8_t left[MCA_RESOURCES_MAX + 1] = {0};

	for (unsigned int i = 0; i < description->usages; i++) {
		const struct mca_usage *usage = &description->usage[i];
		unsigned int index = index_of(usage->mask), units;
		const struct mca_resource_state *state = &resources->state[index];

		units = usage->reserved ? 0 : usage->units;
		if (!is_ready(state, units)) {
			busy |= usage->mask;
			continue;
		}
		if (!state->group) {
			left[index] = __builtin_popcountll(state->ready_mask) - units;
			if (!left[index])
				consumed |= usage->mask;
		}
	}
	busy &= resources->unit_mask;
	if (busy)
		return busy;
	busy = description->groups & resources->reserved_groups;
	if (busy)
		return busy;
	return overlapping_busy(resources, description, consumed, left);
}

uint64_t mca_resources_busy(const struct mca_resources *resources,
			    const struct mca_description *description)
{
	uint64_t busy = 0;

	if (description->overlapping_groups)
		return busy_with_overlapping(resources, description);
	for (unsigned int i = 0; i < description->usages; i++) {
		const struct mca_usage *usage = &description->usage[i];

		if (!is_ready(&resources->state[index_of(usage->mask)],
			      usage->reserved ? 0 : usage->units))
			busy |= usage->mask;
	}
	busy &= resources->unit_mask;
	return busy ? busy : description->groups & resources->reserved_groups;
}

static void occupy(struct mca_resources *resources, uint64_t now, uint64_t resource, uint64_t unit,
		   unsigned int cycles)
{
	if (resources->earliest_release > now)
		resources->earliest_release = now + 1;
	for (unsigned int i = 0; i < resources->busy_count; i++)
		if (resources->busy[i].resource == resource && resources->busy[i].unit == unit) {
			resources->busy[i].until += cycles;
			return;
		}
	resources->busy[resources->busy_count++] = (struct mca_busy){resource, unit, now + cycles};
}

static void take(struct mca_resources *resources, uint64_t now, const struct mca_usage *usage,
		 struct mca_pipe *pipe)
{
	select_pipe(resources, usage->mask, pipe);
	use_pipe(resources, pipe);
	occupy(resources, now, pipe->resource, pipe->unit, usage->cycles);
	pipe->cycles = usage->cycles;
}

static void reserve_group(struct mca_resources *resources, uint64_t now,
			  const struct mca_usage *usage)
{
	state_of(resources, usage->mask)->reserved = true;
	resources->reserved_groups ^= UINT64_C(1) << index_of(usage->mask);
	occupy(resources, now, usage->mask, usage->mask, usage->cycles);
}

static unsigned int ready_units(const struct mca_resources *resources,
				const struct mca_usage *usage)
{
	return __builtin_popcountll(resources->state[index_of(usage->mask)].ready_mask);
}

/* The remaining usage whose group has the fewest free members. */
static unsigned int scarcest(const struct mca_resources *resources,
			     const struct mca_usage *const *work, unsigned int count)
{
	unsigned int best = 0;

	for (unsigned int i = 1; i < count; i++) {
		unsigned int mine = ready_units(resources, work[i]);
		unsigned int least = ready_units(resources, work[best]);

		if (mine < least || (mine == least && work[i]->mask < work[best]->mask))
			best = i;
	}
	return best;
}

/* For groups that share members: groups with the fewest free members choose first. */
static unsigned int issue_overlapping(struct mca_resources *resources, uint64_t now,
				      const struct mca_description *description,
				      struct mca_pipe *pipes)
{
	const struct mca_usage *work[MCA_PIPES_MAX];
	unsigned int left = 0, count = 0;

	for (unsigned int i = 0; i < description->usages; i++) {
		const struct mca_usage *usage = &description->usage[i];

		if (usage->reserved)
			reserve_group(resources, now, usage);
		else if (state_of(resources, usage->mask)->group &&
			 ready_units(resources, usage) > 1)
			work[left++] = usage;
		else
			take(resources, now, usage, &pipes[count++]);
	}
	while (left) {
		const struct mca_usage *sorted[MCA_PIPES_MAX];
		unsigned int kept = 0, total = left;

		for (unsigned int i = 0; i < total; i++) {
			unsigned int next = scarcest(resources, work, left);

			sorted[i] = work[next];
			work[next] = work[--left];
		}
		for (unsigned int i = 0; i < total; i++) {
			if (i == 0 || ready_units(resources, sorted[i]) == 1)
				take(resources, now, sorted[i], &pipes[count++]);
			else
				work[kept++] = sorted[i];
		}
		left = kept;
	}
	return count;
}

unsigned int mca_resources_issue(struct mca_resources *resources, uint64_t now,
				 const struct mca_description *description, struct mca_pipe *pipes)
{
	unsigned int count = 0;

	if (description->overlapping_groups)
		return issue_overlapping(resources, now, description, pipes);
	for (unsigned int i = 0; i < description->usages; i++) {
		if (description->usage[i].reserved)
			reserve_group(resources, now, &description->usage[i]);
		else
			take(resources, now, &description->usage[i], &pipes[count++]);
	}
	return count;
}
