/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plan: properties of a block that are equal in every iteration.  See fast.h. */
#include <string.h>

#include "decoder/mca/fast/fast.h"

/* The last write of a register: instruction number within two iterations, and index of the
 * write. */
struct writer {
	int32_t instruction; /* negative: none yet */
	uint16_t write;
};

struct planner {
	struct mca_fast *fast;
	struct writer last[MCA_REGISTER_COUNT];
	unsigned int sources;
};

/* Upper bound of the number of uses of all kinds. */
static size_t uses_at_most(const struct pesa_mca_block *block)
{
	size_t uses = 0;

	for (unsigned int i = 0; i < block->description_count; i++)
		uses += block->descriptions[i]->usages;
	return uses;
}

/* Upper bound of the number of edges: one for each register of each operand. */
static size_t edges_at_most(const struct pesa_mca_block *block)
{
	size_t edges = 0;

	for (unsigned int i = 0; i < block->count; i++)
		for (unsigned int j = 0; j < block->lowered[i].reads; j++)
			edges += 1 + block->lowered[i].read[j].parts->count;
	return edges;
}

size_t mca_fast_plan_size(struct mca_fast *fast)
{
	const struct pesa_mca_block *block = fast->block;

	fast->edges = edges_at_most(block);
	fast->uses = uses_at_most(block);
	return block->count * sizeof(struct mca_fast_instruction) +
	       2 * fast->edges * sizeof(struct mca_fast_edge) +
	       MCA_FAST_KINDS_MAX * sizeof(struct mca_fast_kind) +
	       fast->uses * sizeof(struct mca_unit_use) +
	       block->description_count * sizeof(struct mca_fast_instruction) +
	       (block->description_count + 7) / 8 * 8;
}

/* ---- Kinds ----------------------------------------------------------------------------------- */

static bool needs_the_same(const struct mca_description *a, const struct mca_description *b)
{
	if (a->usages != b->usages || a->groups != b->groups ||
	    a->overlapping_groups != b->overlapping_groups)
		return false;
	for (unsigned int i = 0; i < a->usages; i++)
		if (a->usage[i].mask != b->usage[i].mask ||
		    a->usage[i].units != b->usage[i].units ||
		    a->usage[i].cycles != b->usage[i].cycles ||
		    a->usage[i].reserved != b->usage[i].reserved)
			return false;
	return true;
}

/* The kind of description `index`: the number of different kinds before it. */
static unsigned int kind_of(const struct pesa_mca_block *block, unsigned int index,
			    const struct mca_description **kinds, unsigned int *count)
{
	const struct mca_description *description = block->descriptions[index];
	unsigned int i = 0;

	while (i < *count && !needs_the_same(kinds[i], description))
		i++;
	if (i == *count && i < MCA_FAST_KINDS_MAX)
		kinds[(*count)++] = description;
	return i;
}

static bool has_few_kinds(const struct pesa_mca_block *block)
{
	const struct mca_description *kinds[MCA_FAST_KINDS_MAX];
	unsigned int kind_count = 0;

	if (block->description_count <= MCA_FAST_KINDS_MAX)
		return true;
	for (unsigned int i = 0; i < block->description_count; i++)
		if (kind_of(block, i, kinds, &kind_count) == MCA_FAST_KINDS_MAX)
			return false;
	return true;
}

bool mca_fast_serves_one_iteration(const struct pesa_mca_block *block,
				   const struct pesa_mca_run_options *options)
{
	const struct pesa_mca_stimuli *given = options->stimuli;

	return options->iterations == 1 && has_few_kinds(block) &&
	       !(options->free_order && options->loads_alias_stores) &&
	       !(given && (given->mispredict_rate > 0 || given->load_latencies));
}

bool mca_fast_serves(const struct pesa_mca_block *block, const struct pesa_mca_run_options *options)
{
	if (!pesa_mca_model_is_out_of_order(block->model))
		return false;
	if (block->barriers && !(options->free_order && options->iterations == 1))
		return false;
	if (options->stimuli || options->free_order || options->store_ports || block->forwarders ||
	    block->turns)
		return mca_fast_serves_one_iteration(block, options);
	return has_few_kinds(block);
}

static void make_kinds(struct mca_fast *fast, struct mca_unit_use *use, uint8_t *of_description)
{
	const struct pesa_mca_block *block = fast->block;
	const struct mca_description *kinds[MCA_FAST_KINDS_MAX];

	for (unsigned int i = 0; i < block->description_count; i++)
		of_description[i] = kind_of(block, i, kinds, &fast->kind_count);
	for (unsigned int i = 0; i < fast->kind_count; i++) {
		fast->kinds[i] = (struct mca_fast_kind){
			.description = kinds[i],
			.use = use,
			.uses = kinds[i]->usages,
			.first = MCA_FAST_NONE,
			.last = MCA_FAST_NONE,
		};
		if (fast->units.plain)
			mca_units_describe(&fast->units, kinds[i], use);
		use += kinds[i]->usages;
	}
}

/* ---- Edges ----------------------------------------------------------------------------------- */

static void add_source(struct planner *planner, uint32_t number, uint16_t index,
		       const struct mca_lowered_read *read, struct writer last)
{
	struct mca_fast *fast = planner->fast;
	const struct pesa_mca_block *block = fast->block;
	uint32_t writer = (uint32_t)last.instruction, position;
	const struct mca_lowered_write *write;
	int advance;

	position = writer < block->count ? writer : writer - block->count;
	write = &block->lowered[position].write[last.write];
	advance = read->advances ? mca_advance(read, write->name) : 0;
	fast->plan[position].users++;
	fast->sources[planner->sources++] = (struct mca_fast_edge){
		.distance = number - writer,
		.delay = write->latency - advance,
		.advance = (int16_t)advance,
		.read = index,
		.write = last.write,
		.at_retirement = write->at_retirement,
	};
	if (-advance > fast->latest)
		fast->latest = -advance;
}

/* The results that one operand reads, each once, as the register file of the engine finds them. */
static void add_sources(struct planner *planner, uint32_t number, uint16_t index,
			const struct mca_lowered_read *read)
{
	struct writer found[1 + MCA_SUBREGISTERS_MAX], last = planner->last[read->reg];
	unsigned int edges = 0;

	if (last.instruction >= 0)
		add_source(planner, number, index, read, found[edges++] = last);
	for (unsigned int i = 0; i < read->parts->count; i++) {
		unsigned int known = 0;

		last = planner->last[read->parts->part[i]];
		if (last.instruction < 0)
			continue;
		while (known < edges && (found[known].instruction != last.instruction ||
					 found[known].write != last.write))
			known++;
		if (known == edges)
			add_source(planner, number, index, read, found[edges++] = last);
	}
}

static void enter_writes(struct planner *planner, uint32_t number,
			 const struct mca_lowered *lowered)
{
	for (unsigned int i = 0; i < lowered->writes; i++) {
		const struct mca_lowered_write *write = &lowered->write[i];
		struct writer entry = {number, i}, other = planner->last[write->reg];

		/* If one instruction writes a register twice, the slower result is used. */
		if (other.instruction == entry.instruction &&
		    lowered->write[other.write].latency > write->latency)
			continue;
		planner->last[write->reg] = entry;
		for (unsigned int j = 0; j < write->parts->count; j++)
			planner->last[write->parts->part[j]] = entry;
	}
}

/* The position of the instruction `distance` before `position`, in this iteration or an earlier one. */
static unsigned int position_before(unsigned int position, uint32_t distance, unsigned int count)
{
	return distance <= position ? position - distance
				    : (position + count - distance % count) % count;
}

/* A nearer reader, or an earlier result for the same one: results that come at retirement come in order. */
static bool comes_before(const struct mca_fast_edge *a, const struct mca_fast_edge *b)
{
	return a->distance < b->distance || (a->distance == b->distance && a->write < b->write);
}

/* The same edges sorted by writer, nearest reader first. */
static void sort_by_writer(struct mca_fast *fast)
{
	unsigned int count = fast->block->count, next = 0;

	for (unsigned int i = 0; i < count; i++) {
		struct mca_fast_instruction *plan = &fast->plan[i];

		plan->first_user = next;
		next += plan->users;
		plan->users = 0;
	}
	for (unsigned int i = 0; i < count; i++) {
		const struct mca_fast_edge *edge = &fast->sources[fast->plan[i].first_source];
		const struct mca_fast_edge *end = edge + fast->plan[i].sources;

		for (; edge < end; edge++) {
			struct mca_fast_instruction *writer =
				&fast->plan[position_before(i, edge->distance, count)];
			struct mca_fast_edge *users = &fast->users[writer->first_user];
			unsigned int place = writer->users++;

			writer->leaves_later |= edge->at_retirement;
			for (; place && comes_before(edge, &users[place - 1]); place--)
				users[place] = users[place - 1];
			users[place] = *edge;
		}
	}
}

/* ---- The plan -------------------------------------------------------------------------------- */

/* What all instructions of a description have in common. */
static struct mca_fast_instruction describe(struct mca_fast *fast,
					    const struct mca_description *description, uint8_t kind)
{
	uint32_t entries = pesa_mca_model_reorder_buffer(fast->model);
	uint32_t slots = description->micro_ops < entries ? description->micro_ops : entries;

	slots = slots ? slots : 1;
	if ((int32_t)slots > fast->most_slots)
		fast->most_slots = (int32_t)slots;
	return (struct mca_fast_instruction){
		.description = description,
		.buffers = description->buffers,
		.latency = (uint32_t)description->latency,
		.micro_ops = (uint16_t)description->micro_ops,
		.slots = (uint16_t)slots,
		.kind = kind,
		.load = description->load,
		.store = description->store,
		.begin_group = description->flags & MCA_CLASS_BEGIN_GROUP,
		.end_group = description->flags & MCA_CLASS_END_GROUP,
		.must_issue = mca_description_must_issue(description),
	};
}

static void enter(struct mca_fast *fast, unsigned int index,
		  const struct mca_fast_instruction *described)
{
	const struct mca_lowered *lowered = &fast->block->lowered[index];
	const uint16_t writes[MCA_FAST_REGISTERS] = {(uint16_t)lowered->writes, lowered->integers,
						     lowered->floats};
	struct mca_fast_instruction *plan = &fast->plan[index];

	*plan = described[lowered->description->number];
	plan->barrier = lowered->barrier;
	plan->taken = lowered->taken;
	for (unsigned int i = 0; i < MCA_FAST_REGISTERS; i++) {
		plan->writes[i] = writes[i];
		if (writes[i] > fast->registers[i].most)
			fast->registers[i].most = writes[i];
	}
}

void mca_fast_plan(struct mca_fast *fast, void *memory)
{
	const struct pesa_mca_block *block = fast->block;
	unsigned int before = fast->once ? 0 : block->count; /* of the iteration before */
	/* In order nothing is ready before others, and operands look for their writers. */
	bool out_of_order = pesa_mca_model_is_out_of_order(fast->model);
	struct planner planner = {.fast = fast};
	struct mca_fast_instruction *described;
	struct mca_unit_use *use;
	uint8_t *of_description;

	memset(planner.last, 0xff, sizeof(planner.last));
	fast->plan = memory;
	fast->kinds = (struct mca_fast_kind *)(fast->plan + block->count);
	fast->sources = (struct mca_fast_edge *)(fast->kinds + MCA_FAST_KINDS_MAX);
	fast->users = fast->sources + fast->edges;
	use = (struct mca_unit_use *)(fast->users + fast->edges);
	described = (struct mca_fast_instruction *)(use + fast->uses);
	of_description = (uint8_t *)(described + block->description_count);
	if (out_of_order)
		make_kinds(fast, use, of_description);
	for (unsigned int i = 0; i < block->description_count; i++)
		described[i] = describe(fast, block->descriptions[i],
					out_of_order ? of_description[i] : 0);
	for (unsigned int i = 0; i < block->count; i++)
		enter(fast, i, described);
	for (unsigned int i = 0; i < before; i++)
		enter_writes(&planner, i, &block->lowered[i]);
	for (unsigned int i = 0; i < block->count; i++) {
		const struct mca_lowered *lowered = &block->lowered[i];

		fast->plan[i].first_source = planner.sources;
		for (unsigned int j = 0; j < lowered->reads; j++)
			add_sources(&planner, before + i, j, &lowered->read[j]);
		fast->plan[i].sources = planner.sources - fast->plan[i].first_source;
		enter_writes(&planner, before + i, lowered);
	}
	if (out_of_order)
		sort_by_writer(fast);
}
