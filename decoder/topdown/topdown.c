// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Top-down of a profile: see include/pesa/topdown_profile.h.
 *
 * The width W of the retire stage may be known only at the end.  A sample in which n instructions
 * retired loses W - n slots to one node.  So each node keeps, over its samples, only the sums of 1,
 * n and n squared, from which slots and their squares are computed for any W.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* By default uthash exits the program if out of memory. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "pesa/topdown_profile.h"

/* Samples that lose their slots to one node, weighted by their periods P. */
struct losses {
	uint64_t cycles, retired;		       /* P, P n */
	double squares, retired_squares, both_squares; /* P^2, (P n)^2, P^2 n */
};

struct sums {
	uint64_t samples;
	struct losses lost[PESA_TOPDOWN_NODES_COUNT];
};

struct entry { /* an instruction */
	struct pesa_place place;
	uint64_t retired; /* slots */
	uint32_t first;	  /* in topdown->loss, or NO_LOSS */
	UT_hash_handle hh;
};

/* What an instruction loses to a node: few instructions lose to more than three. */
struct loss {
	uint64_t cycles, retired; /* see struct losses */
	uint32_t node, next;	  /* the next one of the instruction, or NO_LOSS */
};

#define NO_LOSS UINT32_MAX

struct group {
	uint64_t key; /* thread, CPU, or number of the slice */
	uint32_t pid, tid, cpu;
	struct sums sums;
	UT_hash_handle hh;
};

struct pesa_topdown {
	struct pesa_profile_listener listener;
	enum pesa_topdown_by by;
	struct sums sums;
	uint64_t exact_weight; /* of retiring cycles */
	uint64_t silent;       /* cycles of samples without information about slots */
	unsigned int most;     /* maximum number retired in a cycle */
	unsigned int width;
	bool width_known, exact;
	struct entry *entries, **entry;
	size_t count;
	struct loss *loss;
	uint32_t losses, loss_room;
	struct group *groups, **group;
	size_t group_count;
	/* slices */
	unsigned int slices;
	bool begun;
	uint64_t first, length; /* ns */
	struct sums *slice;
	/* the capabilities to which `bits` belongs */
	const struct pesa_capabilities *capabilities;
	struct pesa_topdown_bits bits;
};

/* ---- One sampled cycle ----------------------------------------------------------------------- */

struct cycle {
	unsigned int instret, cause_offset;
	uint16_t cause;
	uint8_t state;
	enum pesa_topdown_node node;
};

/* False: the record has no information about slots. */
static bool read_cycle(struct pesa_topdown *topdown, const struct pesa_record *record,
		       const struct pesa_capabilities *capabilities, struct cycle *cycle)
{
	const struct pesa_details details = pesa_details_unpack(record->details);
	const bool retiring = details.state == PESA_STATE_RETIRING;

	if (!(record->flags & PESA_RECORD_HAS_DETAILS) || retiring != (details.instret != 0) ||
	    details.cause_offset > details.instret + 1u)
		return false;
	if (topdown->capabilities != capabilities) {
		topdown->capabilities = capabilities;
		topdown->bits = pesa_topdown_bits(capabilities);
	}
	cycle->instret = details.instret;
	cycle->state = details.state;
	cycle->cause_offset = details.cause_offset;
	cycle->cause = details.cause_offset ? details.cause : 0;
	cycle->node = pesa_topdown_lost(&topdown->bits, cycle->state, cycle->instret,
					cycle->cause_offset, cycle->cause);
	return true;
}

static void add(struct sums *sums, const struct cycle *cycle, uint64_t samples, uint64_t periods,
		double periods_squared)
{
	struct losses *lost = &sums->lost[cycle->node];
	double n = cycle->instret;

	sums->samples += samples;
	lost->cycles += periods;
	lost->retired += periods * cycle->instret;
	lost->squares += periods_squared;
	lost->retired_squares += periods_squared * n * n;
	lost->both_squares += periods_squared * n;
}

static void merge(struct sums *sums, const struct sums *other)
{
	sums->samples += other->samples;
	for (unsigned int i = 0; i < PESA_TOPDOWN_NODES_COUNT; i++) {
		struct losses *to = &sums->lost[i];
		const struct losses *from = &other->lost[i];

		to->cycles += from->cycles;
		to->retired += from->retired;
		to->squares += from->squares;
		to->retired_squares += from->retired_squares;
		to->both_squares += from->both_squares;
	}
}

/* ---- Instructions ---------------------------------------------------------------------------- */

/* The entry of an instruction, which is added if it is new.  NULL: out of memory. */
static struct entry *entry_of(struct pesa_topdown *topdown, const struct pesa_place *place)
{
	struct entry *entry, *added;
	struct pesa_place key;

	memset(&key, 0, sizeof(key)); /* padding is part of the key */
	key.dso = place->dso;
	key.address = place->address;
	HASH_FIND(hh, topdown->entries, &key, sizeof(key), entry);
	if (entry)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	memcpy(&entry->place, &key, sizeof(key));
	entry->first = NO_LOSS;
	HASH_ADD(hh, topdown->entries, place, sizeof(key), entry);
	HASH_FIND(hh, topdown->entries, &key, sizeof(key), added);
	if (added != entry) { /* out of memory in uthash */
		free(entry);
		return NULL;
	}
	topdown->count++;
	return entry;
}

/* Add what an instruction loses to a node. */
static struct pesa_error *add_loss(struct pesa_topdown *topdown, struct entry *entry,
				   enum pesa_topdown_node node, uint64_t cycles, uint64_t retired)
{
	uint32_t at = entry->first;

	while (at != NO_LOSS && topdown->loss[at].node != node)
		at = topdown->loss[at].next;
	if (at == NO_LOSS) {
		if (topdown->losses == topdown->loss_room) {
			uint32_t room = topdown->loss_room ? 2 * topdown->loss_room : 1024;
			struct loss *grown =
				room > topdown->loss_room
					? reallocarray(topdown->loss, room, sizeof(*grown))
					: NULL;

			if (!grown)
				return pesa_error_no_memory();
			topdown->loss = grown;
			topdown->loss_room = room;
		}
		at = topdown->losses++;
		topdown->loss[at] = (struct loss){.node = node, .next = entry->first};
		entry->first = at;
	}
	topdown->loss[at].cycles += cycles;
	topdown->loss[at].retired += retired;
	return NULL;
}

/* The step to which the lost slots are attributed; UINT_MAX: unknown. */
static unsigned int blamed_step(const struct pesa_walk_result *result, const struct cycle *cycle)
{
	unsigned int last = UINT32_MAX;

	for (unsigned int i = 0; i < result->step_count; i++) {
		const struct pesa_step *step = &result->step[i];

		if (step->role == PESA_ROLE_PLAIN)
			continue;
		if (cycle->state != PESA_STATE_RETIRING)
			return i;
		if (step->role == PESA_ROLE_BLAMED)
			return i;
		if (cycle->cause && cycle->cause_offset <= cycle->instret &&
		    step->cause == cycle->cause)
			return i;
		last = i;
	}
	/* The record names another instruction, which the walk did not find. */
	return cycle->cause_offset ? UINT32_MAX : last;
}

static struct pesa_error *walked(void *context, const struct pesa_walked_record *walked)
{
	struct pesa_topdown *topdown = context;
	const struct pesa_walk_result *result = walked->result;
	struct cycle cycle;
	unsigned int blamed;
	struct entry *entry;

	if (!read_cycle(topdown, walked->record, walked->capabilities, &cycle)) {
		topdown->silent += walked->periods;
		return NULL;
	}
	if (cycle.instret > topdown->most)
		topdown->most = cycle.instret;
	add(&topdown->sums, &cycle, walked->samples, walked->periods, walked->periods_squared);
	for (unsigned int i = 0; i < result->step_count; i++) {
		if (result->step[i].role != PESA_ROLE_RETIRED)
			continue;
		entry = entry_of(topdown, &walked->place[i]);
		if (!entry)
			return pesa_error_no_memory();
		entry->retired += walked->periods;
	}
	blamed = blamed_step(result, &cycle);
	if (blamed == UINT32_MAX)
		return NULL;
	entry = entry_of(topdown, &walked->place[blamed]);
	if (!entry)
		return pesa_error_no_memory();
	return add_loss(topdown, entry, cycle.node, walked->periods,
			walked->periods * cycle.instret);
}

/* ---- Groups of samples ----------------------------------------------------------------------- */

/* The slice of a time.  The length of all slices is doubled until there is one for it. */
static struct sums *slice_of(struct pesa_topdown *topdown, uint64_t time)
{
	uint64_t since;

	if (!topdown->begun) {
		topdown->begun = true;
		topdown->first = time;
		topdown->length = 1;
	}
	since = time > topdown->first ? time - topdown->first : 0;
	while (since / topdown->length >= topdown->slices) {
		for (unsigned int i = 0; i < topdown->slices; i++) {
			struct sums sum = topdown->slice[i];

			memset(&topdown->slice[i], 0, sizeof(sum));
			merge(&topdown->slice[i / 2], &sum);
		}
		topdown->length *= 2;
	}
	return &topdown->slice[since / topdown->length];
}

/* The sums of a sample's group, which is added if it is new.  NULL: out of memory. */
static struct sums *group_of(struct pesa_topdown *topdown, const struct pesa_profile_sample *sample)
{
	uint64_t key = topdown->by == PESA_TOPDOWN_BY_CPU
			       ? sample->cpu
			       : (uint64_t)sample->pid << 32 | sample->tid;
	struct group *group, *added;

	if (topdown->by == PESA_TOPDOWN_BY_TIME)
		return slice_of(topdown, sample->time);
	HASH_FIND(hh, topdown->groups, &key, sizeof(key), group);
	if (group)
		return &group->sums;
	group = calloc(1, sizeof(*group));
	if (!group)
		return NULL;
	*group = (struct group){
		.key = key, .pid = sample->pid, .tid = sample->tid, .cpu = sample->cpu};
	HASH_ADD(hh, topdown->groups, key, sizeof(key), group);
	HASH_FIND(hh, topdown->groups, &key, sizeof(key), added);
	if (added != group) { /* out of memory in uthash */
		free(group);
		return NULL;
	}
	topdown->group_count++;
	return &group->sums;
}

static struct pesa_error *sampled(void *context, const struct pesa_profile_sample *sample)
{
	struct pesa_topdown *topdown = context;
	struct cycle cycle;
	struct sums *sums;

	if (!read_cycle(topdown, sample->record, sample->capabilities, &cycle))
		return NULL;
	sums = group_of(topdown, sample);
	if (!sums)
		return pesa_error_no_memory();
	add(sums, &cycle, sample->samples, sample->period, sample->periods_squared);
	return NULL;
}

/* ---- The profile as a whole ------------------------------------------------------------------ */

struct pesa_topdown *pesa_topdown_create(enum pesa_topdown_by by, unsigned int slices)
{
	struct pesa_topdown *topdown = calloc(1, sizeof(*topdown));

	if (!topdown)
		return NULL;
	topdown->by = by;
	topdown->listener.walked = walked;
	topdown->listener.sample = by == PESA_TOPDOWN_BY_NOTHING ? NULL : sampled;
	topdown->listener.context = topdown;
	if (by == PESA_TOPDOWN_BY_TIME) {
		topdown->slices = slices;
		topdown->slice = calloc(slices, sizeof(*topdown->slice));
		if (!topdown->slice) {
			free(topdown);
			return NULL;
		}
	}
	return topdown;
}

void pesa_topdown_free(struct pesa_topdown *topdown)
{
	struct entry *entry, *next;
	struct group *group, *next_group;

	if (!topdown)
		return;
	HASH_ITER(hh, topdown->entries, entry, next)
	{
		HASH_DEL(topdown->entries, entry);
		free(entry);
	}
	HASH_ITER(hh, topdown->groups, group, next_group)
	{
		HASH_DEL(topdown->groups, group);
		free(group);
	}
	free(topdown->entry);
	free(topdown->loss);
	free(topdown->group);
	free(topdown->slice);
	free(topdown);
}

const struct pesa_profile_listener *pesa_topdown_listener(const struct pesa_topdown *topdown)
{
	return &topdown->listener;
}

static uint64_t cycles_of_sums(const struct sums *sums)
{
	uint64_t cycles = 0;

	for (unsigned int i = 0; i < PESA_TOPDOWN_NODES_COUNT; i++)
		cycles += sums->lost[i].cycles;
	return cycles;
}

static int most_cycles_first(const void *left, const void *right)
{
	const struct group *a = *(struct group *const *)left, *b = *(struct group *const *)right;
	uint64_t cycles_a = cycles_of_sums(&a->sums), cycles_b = cycles_of_sums(&b->sums);

	if (cycles_a != cycles_b)
		return cycles_a > cycles_b ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

/* An exact profile has the number of instructions retired together, but not which instruction left
 * slots of these cycles empty: these slots are not attributed. */
static struct pesa_error *add_exact(struct pesa_topdown *topdown,
				    const struct pesa_profile *profile,
				    const struct pesa_instruction *instruction)
{
	const struct pesa_place place = {instruction->dso, instruction->address};
	struct entry *entry = entry_of(topdown, &place);
	struct pesa_error *error;
	uint64_t retiring = 0;

	if (!entry)
		return pesa_error_no_memory();
	topdown->bits = pesa_topdown_bits(pesa_profile_capabilities(profile));
	for (unsigned int i = 0; i < instruction->buckets; i++) {
		const struct pesa_bucket *bucket = &instruction->bucket[i];
		uint64_t cycles = bucket->weight / PESA_CYCLE;
		enum pesa_topdown_node node;

		for (unsigned int j = 0; j < bucket->shares; j++)
			if (bucket->share[j].group > topdown->most)
				topdown->most = bucket->share[j].group;
		if (bucket->state == PESA_STATE_RETIRING) {
			retiring += bucket->weight;
			continue;
		}
		node = pesa_topdown_lost(&topdown->bits, bucket->state, 0, 1, bucket->cause);
		error = add_loss(topdown, entry, node, cycles, 0);
		if (error)
			return error;
		topdown->sums.lost[node].cycles += cycles;
	}
	entry->retired += instruction->executions;
	topdown->exact_weight += retiring;
	topdown->sums.lost[PESA_TOPDOWN_SLOTS].retired += instruction->executions;
	return NULL;
}

static struct pesa_error *finish_exact(struct pesa_topdown *topdown,
				       const struct pesa_profile *profile)
{
	for (size_t i = 0; i < pesa_profile_instruction_count(profile); i++) {
		struct pesa_error *error =
			add_exact(topdown, profile, pesa_profile_instruction(profile, i));

		if (error)
			return error;
	}
	topdown->exact = true;
	topdown->sums.lost[PESA_TOPDOWN_SLOTS].cycles = topdown->exact_weight / PESA_CYCLE;
	return NULL;
}

struct pesa_error *pesa_topdown_finish(struct pesa_topdown *topdown,
				       const struct pesa_profile *profile)
{
	const struct pesa_capabilities *capabilities = pesa_profile_capabilities(profile);
	struct pesa_error *error = NULL;
	size_t kept = 0, groups = 0;
	struct entry *entry;
	struct group *group;

	if (pesa_profile_totals(profile)->exact)
		error = finish_exact(topdown, profile);
	if (error)
		return error;
	/* A stated width below the maximum that retired in a cycle is wrong, and ignored. */
	topdown->width_known =
		capabilities->retire_width && capabilities->retire_width >= topdown->most;
	topdown->width = topdown->width_known ? capabilities->retire_width : topdown->most;
	topdown->entry = calloc(topdown->count + 1, sizeof(struct entry *));
	topdown->group = calloc(topdown->group_count + 1, sizeof(struct group *));
	if (!topdown->entry || !topdown->group)
		return pesa_error_no_memory();
	for (entry = topdown->entries; entry; entry = entry->hh.next) {
		if (!topdown->exact)
			entry->place.dso = pesa_profile_dso_of_number(profile, entry->place.dso);
		if (entry->place.dso != UINT32_MAX)
			topdown->entry[kept++] = entry;
	}
	topdown->count = kept;
	for (group = topdown->groups; group; group = group->hh.next)
		topdown->group[groups++] = group;
	qsort(topdown->group, groups, sizeof(*topdown->group), most_cycles_first);
	/* Drop slices after the last sample. */
	while (topdown->slices && !topdown->slice[topdown->slices - 1].samples)
		topdown->slices--;
	if (topdown->by == PESA_TOPDOWN_BY_TIME)
		topdown->group_count = topdown->slices;
	return NULL;
}

unsigned int pesa_topdown_width(const struct pesa_topdown *topdown, bool *known)
{
	if (known)
		*known = topdown->width_known;
	return topdown->width;
}

uint64_t pesa_topdown_cycles(const struct pesa_topdown *topdown, uint64_t *silent)
{
	if (silent)
		*silent = topdown->silent;
	return cycles_of_sums(&topdown->sums);
}

/* ---- Slots and shares ------------------------------------------------------------------------ */

static bool is_below(enum pesa_topdown_node node, enum pesa_topdown_node above)
{
	while (node != above && node != PESA_TOPDOWN_SLOTS)
		node = pesa_topdown_nodes[node].parent;
	return node == above;
}

/* Each node is the sum of the nodes below it. */
static void sum_up(uint64_t slots[PESA_TOPDOWN_NODES_COUNT])
{
	for (unsigned int i = PESA_TOPDOWN_NODES_COUNT - 1; i > PESA_TOPDOWN_SLOTS; i--)
		slots[pesa_topdown_nodes[i].parent] += slots[i];
}

static void slots_of(const struct sums *sums, unsigned int width,
		     uint64_t slots[PESA_TOPDOWN_NODES_COUNT])
{
	memset(slots, 0, PESA_TOPDOWN_NODES_COUNT * sizeof(*slots));
	for (unsigned int i = 0; i < PESA_TOPDOWN_NODES_COUNT; i++) {
		slots[i] += sums->lost[i].cycles * width - sums->lost[i].retired;
		slots[PESA_TOPDOWN_RETIRING] += sums->lost[i].retired;
	}
	sum_up(slots);
}

uint64_t pesa_topdown_slots(const struct pesa_topdown *topdown, enum pesa_topdown_node node)
{
	uint64_t slots[PESA_TOPDOWN_NODES_COUNT];

	slots_of(&topdown->sums, topdown->width, slots);
	return slots[node];
}

/*
 * `share` is the mean over cycles of a fraction f of their slots, `squares` the sum of (P f)^2,
 * `periods_squared` the sum of P^2, and `cycles` the sum of P.  The interval is Wilson's, for the
 * number of binary samples with the same variance; see Documentation/topdown.md.
 */
static struct pesa_estimate share_of(double share, double squares, double crossed,
				     double periods_squared, double cycles, uint64_t samples,
				     double confidence)
{
	double equal, variance, extreme = share > 0.5 ? share : 1 - share;
	struct pesa_estimate estimate;

	if (!(periods_squared > 0)) /* exact */
		return (struct pesa_estimate){share, share, share, true};
	/* Sum of P^2 (f - share)^2, over the square of the sum of P. */
	variance = (squares - 2 * share * crossed + share * share * periods_squared) /
		   (cycles * cycles);
	equal = cycles * cycles / periods_squared;
	variance = (variance > 0 ? variance : 0) + extreme * extreme / (equal * equal);
	if (share > 0 && share < 1)
		equal = share * (1 - share) / variance;
	estimate = pesa_estimate_share(share, equal > 1 ? (uint64_t)(equal + 0.5) : 1, confidence);
	estimate.enough = samples >= PESA_ESTIMATE_SAMPLES_MIN;
	return estimate;
}

static struct pesa_estimate share_of_sums(const struct sums *sums, unsigned int width,
					  enum pesa_topdown_node node, double confidence)
{
	double squares = 0, crossed = 0, periods_squared = 0, cycles = 0, slots = 0, w = width;

	for (unsigned int i = 0; i < PESA_TOPDOWN_NODES_COUNT; i++) {
		const struct losses *lost = &sums->lost[i];
		double own_squares, own_crossed, own;

		cycles += (double)lost->cycles;
		periods_squared += lost->squares;
		if (node == PESA_TOPDOWN_RETIRING || node == PESA_TOPDOWN_SLOTS) {
			own = (double)lost->retired;
			own_squares = lost->retired_squares;
			own_crossed = lost->both_squares;
		} else if (is_below((enum pesa_topdown_node)i, node)) {
			own = w * (double)lost->cycles - (double)lost->retired;
			own_squares = w * w * lost->squares - 2 * w * lost->both_squares +
				      lost->retired_squares;
			own_crossed = w * lost->squares - lost->both_squares;
		} else {
			continue;
		}
		slots += own;
		squares += own_squares;
		crossed += own_crossed;
	}
	if (!(cycles > 0) || !width)
		return (struct pesa_estimate){0};
	if (node == PESA_TOPDOWN_SLOTS)
		return (struct pesa_estimate){1, 1, 1, true};
	return share_of(slots / (w * cycles), squares / (w * w), crossed / w, periods_squared,
			cycles, sums->samples, confidence);
}

struct pesa_estimate pesa_topdown_share(const struct pesa_topdown *topdown,
					enum pesa_topdown_node node, double confidence)
{
	struct pesa_estimate estimate =
		share_of_sums(&topdown->sums, topdown->width, node, confidence);

	if (topdown->exact)
		estimate = (struct pesa_estimate){estimate.value, estimate.value, estimate.value,
						  true};
	return estimate;
}

struct pesa_estimate pesa_topdown_part(const struct pesa_topdown *topdown, uint64_t slots,
				       uint64_t all, double confidence)
{
	double cycles = (double)cycles_of_sums(&topdown->sums), width = topdown->width;
	double share = all && width > 0 ? (double)slots / (width * (double)all) : 0;
	double samples = cycles > 0 ? (double)topdown->sums.samples * (double)all / cycles : 0;
	struct pesa_estimate estimate = {0};

	if (share > 1)
		share = 1;
	if (topdown->exact)
		return (struct pesa_estimate){share, share, share, true};
	if (samples < 1)
		return estimate;
	estimate = pesa_estimate_share(share, (uint64_t)(samples + 0.5), confidence);
	estimate.enough = samples >= PESA_ESTIMATE_SAMPLES_MIN;
	return estimate;
}

size_t pesa_topdown_instruction_count(const struct pesa_topdown *topdown)
{
	return topdown->count;
}

void pesa_topdown_instruction(const struct pesa_topdown *topdown, size_t index,
			      struct pesa_topdown_instruction *instruction)
{
	const struct entry *entry = topdown->entry[index];

	*instruction = (struct pesa_topdown_instruction){.dso = entry->place.dso,
							 .address = entry->place.address};
	for (uint32_t at = entry->first; at != NO_LOSS; at = topdown->loss[at].next)
		instruction->slots[topdown->loss[at].node] =
			topdown->loss[at].cycles * topdown->width - topdown->loss[at].retired;
	instruction->slots[PESA_TOPDOWN_RETIRING] += entry->retired;
	sum_up(instruction->slots);
}

size_t pesa_topdown_group_count(const struct pesa_topdown *topdown)
{
	return topdown->group_count;
}

static const struct sums *sums_of_group(const struct pesa_topdown *topdown, size_t index)
{
	return topdown->by == PESA_TOPDOWN_BY_TIME ? &topdown->slice[index]
						   : &topdown->group[index]->sums;
}

void pesa_topdown_group(const struct pesa_topdown *topdown, size_t index,
			struct pesa_topdown_group *group)
{
	const struct sums *sums = sums_of_group(topdown, index);

	*group = (struct pesa_topdown_group){.samples = sums->samples,
					     .cycles = cycles_of_sums(sums)};
	if (topdown->by == PESA_TOPDOWN_BY_TIME) {
		group->start = index * topdown->length;
		group->end = group->start + topdown->length;
	} else {
		group->pid = topdown->group[index]->pid;
		group->tid = topdown->group[index]->tid;
		group->cpu = topdown->group[index]->cpu;
	}
	slots_of(sums, topdown->width, group->slots);
}

struct pesa_estimate pesa_topdown_group_share(const struct pesa_topdown *topdown, size_t index,
					      enum pesa_topdown_node node, double confidence)
{
	return share_of_sums(sums_of_group(topdown, index), topdown->width, node, confidence);
}
