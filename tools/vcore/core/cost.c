// SPDX-License-Identifier: GPL-2.0-or-later
/* The cost of instructions on a processor model.  See cost.h. */
#include "tools/vcore/core/cost.h"

#include <stdlib.h>
#include <string.h>

#include "decoder/mca/model/block.h"
#include "tools/vcore/core/vector_group.h"

struct cost_model {
	const struct pesa_core *core;
	struct pesa_mca_model *model;
	const char *processor; /* of the model */
	uint32_t pipes, buffers;
	uint32_t resource_pipes[MCA_RESOURCES_MAX + 1]; /* by resource of the model: mask of
							 * pipes */
	int8_t buffer_of[MCA_RESOURCES_MAX + 1];	/* by resource; -1: no buffer */
	uint32_t entries[COST_BUFFERS_MAX];
	uint32_t choices, choice[COST_CHOICES_MAX]; /* sets of more than one pipe */
	uint8_t choice_of[MCA_RESOURCES_MAX + 1];
};

/* ---- The model ----------------------------------------------------------------------------- */

static struct pesa_error *number_pipes(struct cost_model *made)
{
	unsigned int count = pesa_mca_model_resources(made->model);

	for (unsigned int i = 0; i < count; i++) {
		const struct pesa_mca_resource *resource = pesa_mca_model_resource(made->model, i);

		if (resource->group)
			continue;
		if (made->pipes + resource->units > COST_PIPES_MAX)
			return pesa_error_create(PESA_ERROR_UNSUPPORTED,
						 "the model %s has more than %u units",
						 made->core->model, COST_PIPES_MAX);
		made->resource_pipes[i] =
			(uint32_t)(((1ull << resource->units) - 1) << made->pipes);
		made->pipes += resource->units;
	}
	for (unsigned int i = 0; i < count; i++) {
		const struct pesa_mca_resource *resource = pesa_mca_model_resource(made->model, i);

		for (unsigned int j = 0; resource->group && j < resource->members; j++)
			made->resource_pipes[i] |= made->resource_pipes[resource->member[j]];
	}
	for (unsigned int i = 0; i < count; i++) {
		uint32_t pipes = made->resource_pipes[i];

		made->choice_of[i] =
			(uint8_t)(pipes ? COST_CHOICE_OF_PIPE(__builtin_ctz(pipes)) : 0);
		if (!(pipes & (pipes - 1)))
			continue;
		if (made->choices == COST_CHOICES_MAX)
			return pesa_error_create(PESA_ERROR_UNSUPPORTED,
						 "the model %s has more than %u groups of units",
						 made->core->model, COST_CHOICES_MAX);
		made->choice_of[i] = (uint8_t)made->choices;
		made->choice[made->choices++] = pipes;
	}
	return NULL;
}

/* An in-order core has no issue queues. */
static struct pesa_error *number_buffers(struct cost_model *made)
{
	unsigned int count = pesa_mca_model_resources(made->model);

	memset(made->buffer_of, -1, sizeof(made->buffer_of));
	for (unsigned int i = 0; made->core->out_of_order && i < count; i++) {
		const struct pesa_mca_resource *resource = pesa_mca_model_resource(made->model, i);

		if (resource->buffer < 0)
			continue;
		if (made->buffers == COST_BUFFERS_MAX)
			return pesa_error_create(PESA_ERROR_UNSUPPORTED,
						 "the model %s has more than %u issue queues",
						 made->core->model, COST_BUFFERS_MAX);
		made->entries[made->buffers] = resource->buffer ? (uint32_t)resource->buffer : 1;
		made->buffer_of[i] = (int8_t)made->buffers++;
	}
	return NULL;
}

struct pesa_error *cost_model_create(const struct pesa_core *core, const char *changes,
				     struct cost_model **made)
{
	struct cost_model *model = calloc(1, sizeof(*model));
	const struct pesa_mca_processor *processor;
	struct pesa_error *error;

	if (!model)
		return pesa_error_no_memory();
	model->core = core;
	error = pesa_mca_model_open(core->model, &model->model, &processor);
	model->processor = error ? NULL : processor->name;
	if (!error)
		error = mca_model_change_each(model->model, changes);
	if (!error)
		error = number_pipes(model);
	if (!error)
		error = number_buffers(model);
	if (error) {
		pesa_mca_model_free(model->model);
		free(model);
		return error;
	}
	*made = model;
	return NULL;
}

uint32_t cost_model_choices(const struct cost_model *model)
{
	return model->choices;
}

uint32_t cost_model_choice(const struct cost_model *model, uint32_t choice)
{
	return model->choice[choice];
}

uint32_t cost_model_queues(const struct cost_model *model)
{
	return PESA_CORE_QUEUE_COUNT + model->buffers + 1;
}

uint32_t cost_model_queue(const struct cost_model *model, uint32_t queue)
{
	if (queue < PESA_CORE_QUEUE_COUNT)
		return model->core->queue_entries[queue];
	queue -= PESA_CORE_QUEUE_COUNT;
	return queue < model->buffers ? model->entries[queue] : UINT32_MAX;
}

/* ---- Instructions -------------------------------------------------------------------------- */

/* Map a register to include/pesa/riscv.h; views of part of a register map to the register. */
static uint8_t register_of(unsigned int reg)
{
	static const struct {
		uint16_t begin, end;
		uint8_t first, step;
	} files[] = {
		{MCA_REGISTER_X, MCA_REGISTER_X_WORD, PESA_REGISTER_X0, 1},
		{MCA_REGISTER_X_WORD, MCA_REGISTER_X_HALF, PESA_REGISTER_X0, 1},
		{MCA_REGISTER_X_HALF, MCA_REGISTER_X_PAIR, PESA_REGISTER_X0, 1},
		{MCA_REGISTER_X_PAIR, MCA_REGISTER_F_QUAD, PESA_REGISTER_X0, 2},
		{MCA_REGISTER_F_QUAD, MCA_REGISTER_F_DOUBLE, PESA_REGISTER_F0, 1},
		{MCA_REGISTER_F_DOUBLE, MCA_REGISTER_F_SINGLE, PESA_REGISTER_F0, 1},
		{MCA_REGISTER_F_SINGLE, MCA_REGISTER_F_HALF, PESA_REGISTER_F0, 1},
		{MCA_REGISTER_F_HALF, MCA_REGISTER_V, PESA_REGISTER_F0, 1},
		{MCA_REGISTER_V, MCA_REGISTER_V2, PESA_REGISTER_V0, 1},
		{MCA_REGISTER_V2, MCA_REGISTER_V4, PESA_REGISTER_V0, 2},
		{MCA_REGISTER_V4, MCA_REGISTER_V8, PESA_REGISTER_V0, 4},
		{MCA_REGISTER_V8, MCA_REGISTER_T, PESA_REGISTER_V0, 8},
		{MCA_REGISTER_T, MCA_REGISTER_SPECIAL, PESA_REGISTER_T0, 1},
		{MCA_REGISTER_SPECIAL, MCA_REGISTER_COUNT, PESA_REGISTER_FFLAGS, 1},
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (reg >= files[i].begin && reg < files[i].end)
			return (uint8_t)(files[i].first + (reg - files[i].begin) * files[i].step);
	return PESA_REGISTER_X0;
}

static const uint8_t class_queue[PESA_CORE_CLASS_COUNT] = {
	[PESA_CORE_CLASS_LOAD] = PESA_CORE_QUEUE_MEMORY,
	[PESA_CORE_CLASS_STORE] = PESA_CORE_QUEUE_MEMORY,
	[PESA_CORE_CLASS_ATOMIC] = PESA_CORE_QUEUE_MEMORY,
	[PESA_CORE_CLASS_FENCE] = PESA_CORE_QUEUE_MEMORY,
	[PESA_CORE_CLASS_FADD] = PESA_CORE_QUEUE_FLOAT,
	[PESA_CORE_CLASS_FMUL] = PESA_CORE_QUEUE_FLOAT,
	[PESA_CORE_CLASS_FMA] = PESA_CORE_QUEUE_FLOAT,
	[PESA_CORE_CLASS_FDIV_S] = PESA_CORE_QUEUE_FLOAT,
	[PESA_CORE_CLASS_FDIV_D] = PESA_CORE_QUEUE_FLOAT,
	[PESA_CORE_CLASS_FSQRT_S] = PESA_CORE_QUEUE_FLOAT,
	[PESA_CORE_CLASS_FSQRT_D] = PESA_CORE_QUEUE_FLOAT,
	[PESA_CORE_CLASS_FCONVERT] = PESA_CORE_QUEUE_FLOAT,
	[PESA_CORE_CLASS_FMOVE] = PESA_CORE_QUEUE_FLOAT,
	[PESA_CORE_CLASS_FTRANSFER] = PESA_CORE_QUEUE_FLOAT,
	[PESA_CORE_CLASS_VECTOR_ALU] = PESA_CORE_QUEUE_FLOAT,
	[PESA_CORE_CLASS_VECTOR_MUL] = PESA_CORE_QUEUE_FLOAT,
	[PESA_CORE_CLASS_VECTOR_DIV] = PESA_CORE_QUEUE_FLOAT,
	[PESA_CORE_CLASS_VECTOR_FLOAT] = PESA_CORE_QUEUE_FLOAT,
	[PESA_CORE_CLASS_VECTOR_PERMUTE] = PESA_CORE_QUEUE_FLOAT,
	[PESA_CORE_CLASS_VECTOR_LOAD] = PESA_CORE_QUEUE_MEMORY,
	[PESA_CORE_CLASS_VECTOR_STORE] = PESA_CORE_QUEUE_MEMORY,
};

static const struct cost_write no_write = {.reg = COST_REGISTER_UNREAD};

/* `buffers`: of the model, by resource. */
static void fill_queues(const struct cost_model *model, struct cost *cost,
			enum pesa_core_class class, uint64_t buffers)
{
	if (model->core->queue_entries[class_queue[class]])
		cost->queue[cost->queues++] = class_queue[class];
	for (uint64_t rest = buffers; rest; rest &= rest - 1) {
		int number = model->buffer_of[model->model->of_bit[__builtin_ctzll(rest)]];

		if (number >= 0)
			cost->queue[cost->queues++] = (uint8_t)(PESA_CORE_QUEUE_COUNT + number);
	}
	if (!cost->queues)
		cost->queue[0] = (uint8_t)(cost_model_queues(model) - 1);
}

/* Copy the first use and write into the struct, and set COST_ONE_USE and COST_PLAIN. */
static void fill_firsts(struct cost *cost)
{
	cost->write = cost->writes ? cost->all_writes[0] : no_write;
	if (cost->uses)
		cost->use = cost->all_uses[0];
	for (unsigned int i = 0; i < 2; i++)
		cost->read[i] = i < cost->reads ? cost->all_reads[i] : COST_REGISTER_READY;
	if (cost->uses == 1 && cost->use.cycles == 1 && !cost->use.all)
		cost->flags |= COST_ONE_USE;
	if (!(cost->flags & (COST_BEGIN_GROUP | COST_END_GROUP)) && cost->micro_ops == 1 &&
	    cost->writes <= 1 && cost->queues <= 1)
		cost->flags |= COST_PLAIN;
}

struct cost *cost_create_unknown(const struct cost_model *model, enum pesa_core_class class)
{
	struct cost *cost = calloc(1, sizeof(*cost));

	if (!cost)
		return NULL;
	cost->micro_ops = 1;
	cost->latency = 1;
	cost->first = 1;
	cost->flags = COST_UNKNOWN;
	fill_queues(model, cost, class, 0);
	fill_firsts(cost);
	return cost;
}

static uint16_t clamp(int value)
{
	return (uint16_t)(value < 0 ? 0 : value > UINT16_MAX ? UINT16_MAX : value);
}

/* Replace the busy cycles of the longest use by the interval of the core description. */
static void set_interval(struct cost_use *use, unsigned int uses, uint32_t interval)
{
	unsigned int longest = 0;

	for (unsigned int i = 1; i < uses; i++)
		if (use[i].cycles > use[longest].cycles)
			longest = i;
	if (uses && interval)
		use[longest].cycles = (uint16_t)interval;
}

/* The number of registers of an operand that begins with `reg`. */
static unsigned int group_of(const struct pesa_mca_instruction *instruction, uint8_t reg)
{
	if (reg < PESA_REGISTER_V0 || reg >= PESA_REGISTER_V0 + 32)
		return 1;
	return vector_group_size(&instruction->insn, instruction->lmul, instruction->sew,
				 reg - PESA_REGISTER_V0);
}

static void fill_writes(struct cost *cost, const struct mca_lowered *lowered,
			const struct pesa_mca_instruction *instruction, struct cost_write *write)
{
	for (unsigned int i = 0; i < lowered->writes; i++) {
		const struct mca_lowered_write *from = &lowered->write[i];
		uint8_t reg = register_of(from->reg);
		unsigned int group = group_of(instruction, reg);
		uint16_t latency = clamp(from->latency);

		for (unsigned int j = 0; j < group; j++)
			write[cost->writes++] =
				(struct cost_write){latency, from->name, (uint8_t)(reg + j)};
		if (latency < cost->first)
			cost->first = latency;
		if (reg < PESA_REGISTER_F0)
			cost->integer_results++;
		else if (reg < PESA_REGISTER_FFLAGS)
			cost->float_results++;
	}
	cost->all_writes = write;
}

/* Add a register that is read, with the read-advances of its operand. */
static void fill_read(struct cost *cost, const struct mca_lowered_read *from, uint8_t reg,
		      uint8_t *read, struct cost_advance *advance)
{
	for (unsigned int j = 0; j < from->advances && cost->advances < UINT8_MAX; j++) {
		int cycles = from->advance[j].cycles;

		advance[cost->advances++] =
			(struct cost_advance){cost->reads, from->advance[j].write, (int16_t)cycles};
		if (-cycles > cost->earlier)
			cost->earlier = clamp(-cycles);
	}
	read[cost->reads++] = reg;
}

static void fill_reads(struct cost *cost, const struct mca_lowered *lowered,
		       const struct pesa_mca_instruction *instruction, uint8_t *read,
		       struct cost_advance *advance)
{
	for (unsigned int i = 0; i < lowered->reads; i++) {
		uint8_t reg = register_of(lowered->read[i].reg);
		unsigned int group = group_of(instruction, reg);

		for (unsigned int j = 0; j < group; j++)
			fill_read(cost, &lowered->read[i], (uint8_t)(reg + j), read, advance);
	}
	cost->all_reads = read;
	cost->advance = advance;
	if (cost->advances)
		cost->flags |= COST_ADVANCES;
}

static void fill_uses(const struct cost_model *model, struct cost *cost,
		      const struct mca_description *description, struct cost_use *use)
{
	const struct pesa_mca_model *mca = model->model;

	for (unsigned int i = 0; i < description->usages; i++) {
		const struct mca_usage *usage = &description->usage[i];
		unsigned int bit = 63 - (unsigned int)__builtin_clzll(usage->mask);

		use[i] = (struct cost_use){model->resource_pipes[mca->of_bit[bit]],
					   clamp((int)usage->cycles), usage->reserved,
					   model->choice_of[mca->of_bit[bit]]};
	}
	cost->all_uses = use;
	cost->uses = (uint8_t)description->usages;
}

static uint8_t flags_of(const struct mca_description *description)
{
	uint8_t flags = 0;

	if (description->flags & MCA_CLASS_BEGIN_GROUP)
		flags |= COST_BEGIN_GROUP;
	if (description->flags & MCA_CLASS_END_GROUP)
		flags |= COST_END_GROUP;
	if (description->flags & MCA_CLASS_RETIRE_OUT_OF_ORDER)
		flags |= COST_WRITE_OUT_OF_ORDER;
	return flags;
}

/* Lengths of the lists. */
struct lengths {
	unsigned int reads, writes, advances;
};

static struct lengths lengths_of(const struct mca_lowered *lowered,
				 const struct pesa_mca_instruction *instruction)
{
	struct lengths lengths = {0};

	for (unsigned int i = 0; i < lowered->writes; i++)
		lengths.writes += group_of(instruction, register_of(lowered->write[i].reg));
	for (unsigned int i = 0; i < lowered->reads; i++) {
		const struct mca_lowered_read *read = &lowered->read[i];
		unsigned int group = group_of(instruction, register_of(read->reg));

		lengths.reads += group;
		lengths.advances += group * read->advances;
	}
	return lengths;
}

static struct cost *flatten(const struct cost_model *model, const struct pesa_mca_block *block,
			    const struct pesa_mca_instruction *instruction,
			    enum pesa_core_class class)
{
	const struct mca_lowered *lowered = &block->lowered[0];
	const struct mca_description *description = lowered->description;
	const struct pesa_core *core = model->core;
	struct lengths lengths = lengths_of(lowered, instruction);
	struct cost_advance *advance;
	struct cost_write *write;
	struct cost_use *use;
	struct cost *cost;

	/* One allocation, so that the lists are close in memory. */
	cost = calloc(1, sizeof(*cost) + description->usages * sizeof(*use) +
				 lengths.writes * sizeof(*write) +
				 lengths.advances * sizeof(*advance) + lengths.reads);
	if (!cost)
		return NULL;
	use = (struct cost_use *)(cost + 1);
	write = (struct cost_write *)(use + description->usages);
	advance = (struct cost_advance *)(write + lengths.writes);
	cost->flags = flags_of(description);
	cost->micro_ops = clamp((int)description->micro_ops);
	cost->latency = clamp(description->latency);
	cost->first = cost->latency;
	cost->address = cost->latency > core->dcache.latency
				? (int16_t)(cost->latency - core->dcache.latency)
				: 0;
	fill_writes(cost, lowered, instruction, write);
	fill_reads(cost, lowered, instruction, (uint8_t *)(advance + lengths.advances), advance);
	fill_uses(model, cost, description, use);
	set_interval(use, cost->uses, core->interval[class]);
	fill_queues(model, cost, class, description->buffers);
	fill_firsts(cost);
	return cost;
}

struct cost *cost_create(const struct cost_model *model, const struct pesa_mca_instruction *bound,
			 enum pesa_core_class class)
{
	const struct pesa_mca_block_options options = {
		.processor = model->processor,
		.follow_calls = true,
		.skip_unsupported = true,
	};
	struct pesa_mca_instruction instruction = *bound;
	struct pesa_mca_block *block;
	struct pesa_error *error;
	struct cost *cost;

	if (instruction.latency < 0 && model->core->latency[class])
		instruction.latency = (int)model->core->latency[class];
	error = pesa_mca_block_create(model->model, &instruction, 1, &options, &block);
	if (error) {
		/* The instruction has operands that the model's tables do not expect. */
		bool memory = error->code == PESA_ERROR_NO_MEMORY;

		pesa_error_free(error);
		return memory ? NULL : cost_create_unknown(model, class);
	}
	cost = block->count ? flatten(model, block, &instruction, class)
			    : cost_create_unknown(model, class);
	pesa_mca_block_free(block);
	/* A load hits in the latency that it is bound with, also one shorter than the cache's. */
	if (cost && bound->latency >= 0)
		cost->address = (int16_t)(bound->latency - (int)model->core->dcache.latency);
	return cost;
}
