/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Binding decoded instructions to a model, for the engine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/mca/model/block.h"
#include "decoder/mca/model/operands.h"

#define CALL_LATENCY 100

/* Typical arena size of a block. */
#define BYTES		      1024
#define BYTES_PER_INSTRUCTION 320

#define OPCODES_REMEMBERED 64 /* powers of two */
#define SHARED_LISTS	   64

/* An opcode of the decoder that was looked up by name among the model's. */
struct found_opcode {
	const char *name; /* NULL: none */
	int opcode;
};

#define OF_ONE_BLOCK 512 /* instructions of a block that are remembered as they were bound */
#define PLACES	     4	 /* so many of these may be of the same instruction */

#define MADE_MOST 16384 /* instructions that a binder has memory for, with several models */

/* An instruction as it was bound, before what depends on its place in the block. */
struct bound {
	uint16_t opcode, sew; /* with the bits and costs, what it was bound from */
	enum pesa_mca_lmul lmul;
	struct pesa_digest costs;
	struct mca_description *description; /* that of `lowered` */
	struct mca_lowered lowered;
	enum pesa_flow flow;
};

/* The registers contained in a register; and of these, those that matter (simplify_registers()). */
struct register_use {
	struct mca_register_parts all, kept;
};

struct mca_binder {
	struct mca_arena arena; /* memory of all that blocks share, including this struct */
	const struct pesa_mca_model *model;
	const struct pesa_mca_processor *processor;
	const struct pesa_mca_block_options *options;
	unsigned int call_latency;
	struct pesa_mca_block *block; /* being made */
	unsigned int blocks;	      /* made so far */
	unsigned int made;	      /* instructions bound, and not as a remembered one */
	/* descriptions that later instances may share, by the low bits of their opcode */
	struct mca_description *shared[SHARED_LISTS];
	struct register_use *registers[MCA_REGISTER_COUNT]; /* used in a block */
	uint16_t used[MCA_REGISTER_COUNT];		    /* which these are */
	unsigned int used_count;
	struct found_opcode found[OPCODES_REMEMBERED]; /* by the low bits of its number */
	bool taken[MCA_RESOURCES_MAX + 1];	       /* by bit: see mca_take_in_order() */
	unsigned int remembered; /* elements of the following, a power of two */
	uint32_t *bits;		 /* of those bound, by places_of(); 0: none */
	struct bound *bound;	 /* not set where there are no bits */
};

/* How many of `count` advances are of operands before `operand`; they are in the order of operands. */
static unsigned int advances_before(const struct mca_advance *advance, unsigned int count,
				    unsigned int operand)
{
	unsigned int low = 0, high = count;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (advance[middle].operand < operand)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Find the read-advances of one operand.  They are copied: the next blocks may have another model. */
static bool find_advances(struct mca_binder *binder, uint16_t class, unsigned int use,
			  struct mca_lowered_read *read)
{
	const struct mca_class *costs = &binder->model->classes[class];
	const struct mca_advance *advance = &binder->model->advances[costs->advance];
	unsigned int first = advances_before(advance, costs->advances, use);
	struct mca_advance *copy;

	read->advances =
		(uint16_t)(advances_before(advance + first, costs->advances - first, use + 1));
	if (!read->advances)
		return true;
	copy = mca_arena_take_raw(&binder->arena, read->advances * sizeof(*copy));
	if (!copy)
		return false;
	memcpy(copy, advance + first, read->advances * sizeof(*copy));
	for (unsigned int i = 0; i < read->advances && !read->late; i++)
		read->late = copy[i].cycles < 0;
	read->advance = copy;
	return true;
}

static bool feature_is_on(const struct mca_binder *binder, const char *feature)
{
	bool on = false;

	for (unsigned int i = 0; i < binder->processor->tunings; i++)
		on |= !strcmp(binder->processor->tuning[i], feature);
	for (unsigned int i = 0; i < binder->options->feature_count; i++) {
		const char *name = binder->options->features[i];
		bool off = *name == '-';

		if (!strcmp(name + (off || *name == '+'), feature))
			on = !off;
	}
	return on;
}

/* Resolve the variants of an instruction's class; MCA_CLASS_UNSUPPORTED if it has none. */
static uint16_t resolve_class(const struct mca_binder *binder, uint16_t class,
			      const struct mca_operands *operands)
{
	const struct pesa_mca_model *model = binder->model;
	const struct mca_variant *variant;

	if (class == MCA_CLASS_UNSUPPORTED || !(class & MCA_CLASS_VARIANT))
		return class;
	variant = &model->variants[class & ~MCA_CLASS_VARIANT];
	for (unsigned int i = 0; i < variant->alternatives; i++) {
		const struct mca_alternative *alternative =
			&model->alternatives[variant->alternative + i];
		bool holds = true;

		for (unsigned int j = 0; j < alternative->conditions; j++) {
			const struct mca_condition *condition =
				&model->conditions[alternative->condition + j];

			if (condition->feature)
				holds &= feature_is_on(binder, condition->feature);
			else
				holds &= condition->operand < operands->count &&
					 operands->reg[condition->operand] == condition->reg;
		}
		if (holds)
			return alternative->class;
	}
	return MCA_CLASS_UNSUPPORTED;
}

/* ---- Descriptions ---------------------------------------------------------------------------- */

static void describe_writes(const struct mca_binder *binder, struct mca_description *description,
			    const struct mca_operands *operands)
{
	const struct mca_class *class = &binder->model->classes[description->class];
	const struct mca_write *latencies = &binder->model->writes[class->write];
	uint16_t implicit[MCA_IMPLICIT_MAX];
	unsigned int implicits =
		mca_implicit_registers(operands->opcode->implicit_outputs, implicit);

	for (unsigned int i = 0; i < operands->outputs + implicits; i++) {
		struct mca_write_description *write = &description->write[description->writes++];

		if (i < operands->outputs && mca_register_is_constant(operands->reg[i]))
			continue; /* constant, see block.h */
		write->operand = i < operands->outputs ? (int)i : -1 - (int)(i - operands->outputs);
		write->reg = i < operands->outputs ? 0 : implicit[i - operands->outputs];
		write->latency = i < class->writes ? latencies[i].latency : description->latency;
		write->name = i < class->writes ? latencies[i].name : 0;
	}
}

static void delay_load(struct mca_description *description, int least)
{
	int later = least - description->latency;

	if (later <= 0)
		return;
	description->latency = least;
	for (unsigned int i = 0; i < description->writes; i++)
		description->write[i].latency += later;
}

static void describe_reads(struct mca_description *description, const struct mca_operands *operands)
{
	uint16_t implicit[MCA_IMPLICIT_MAX];
	unsigned int implicits =
		mca_implicit_registers(operands->opcode->implicit_inputs, implicit);

	for (unsigned int i = operands->outputs; i < operands->count; i++) {
		if (!operands->is_register[i] || mca_register_is_constant(operands->reg[i]))
			continue;
		description->read[description->reads++] = (struct mca_read_description){
			.operand = i,
			.use = i - operands->outputs,
		};
	}
	for (unsigned int i = 0; i < implicits; i++)
		description->read[description->reads++] = (struct mca_read_description){
			.operand = -1 - (int)i,
			.use = operands->count - operands->outputs + i,
			.reg = implicit[i],
		};
}

static struct pesa_error *describe(struct mca_binder *binder, const struct mca_operands *operands,
				   uint16_t class, struct mca_description *description)
{
	const struct pesa_mca_model *model = binder->model;
	const struct mca_class *costs = &model->classes[class];
	const char *flags = operands->opcode->flags;
	struct mca_arena *arena = &binder->arena;
	uint16_t implicit[MCA_IMPLICIT_MAX];
	unsigned int implicit_outputs =
		mca_implicit_registers(operands->opcode->implicit_outputs, implicit);
	unsigned int implicit_inputs =
		mca_implicit_registers(operands->opcode->implicit_inputs, implicit);

	description->class = class;
	description->micro_ops = costs->micro_ops;
	description->flags = costs->flags;
	description->load = strchr(flags, 'L');
	description->store = strchr(flags, 'S');
	description->side_effects = strchr(flags, 'U');
	for (unsigned int i = 0; i < costs->writes; i++)
		if (model->writes[costs->write + i].latency > description->latency)
			description->latency = model->writes[costs->write + i].latency;
	if (mca_is_call(operands) && !binder->options->follow_calls)
		description->latency = binder->call_latency;
	description->write = mca_arena_take(arena, (operands->outputs + implicit_outputs) *
							   sizeof(*description->write));
	description->read =
		mca_arena_take(arena, (operands->count - operands->outputs + implicit_inputs) *
					      sizeof(*description->read));
	if (!description->write || !description->read)
		return pesa_error_no_memory();
	describe_writes(binder, description, operands);
	/* A conditional store looks its line up, too. */
	if (description->load || !strncmp(operands->opcode->name, "SC_", 3))
		delay_load(description, (int)binder->options->load_latency);
	describe_reads(description, operands);
	return mca_describe_usage(arena, model, description);
}

/* Bit mask of operands that are x0, where instances that differ in them have separate
 * descriptions. */
static uint32_t constants_of(const struct mca_binder *binder, const struct mca_operands *operands)
{
	uint32_t constants = 0;

	for (unsigned int i = 0; binder->options->own_operands && i < operands->count; i++)
		if (operands->is_register[i] && mca_register_is_constant(operands->reg[i]))
			constants |= 1u << i;
	return constants;
}

/* Find the description of an instruction, or make it.  NULL in *result: not supported. */
static struct pesa_error *find_description(struct mca_binder *binder,
					   const struct pesa_mca_instruction *instruction,
					   const struct pesa_digest *costs, int opcode,
					   const struct mca_operands *operands,
					   struct mca_description **result)
{
	uint16_t class =
		mca_model_class(binder->model, opcode, instruction->lmul, instruction->sew);
	bool variant = class != MCA_CLASS_UNSUPPORTED && (class & MCA_CLASS_VARIANT);
	bool shared = !variant && instruction->latency < 0 && !instruction->no_units;
	char scheduling_class =
		mca_scheduling_classes[operands->opcode->scheduling]
				      [mca_vector_place(instruction->lmul, instruction->sew)];
	uint32_t constants = constants_of(binder, operands);
	struct mca_description *description,
		**list = &binder->shared[(unsigned int)opcode % SHARED_LISTS];
	struct pesa_error *error;

	class = resolve_class(binder, class, operands);
	*result = NULL;
	if (class == MCA_CLASS_UNSUPPORTED)
		return NULL;
	for (description = shared ? *list : NULL; description;
	     description = description->next_shared) {
		if (description->opcode == (unsigned int)opcode && description->class == class &&
		    description->scheduling_class == scheduling_class &&
		    description->constants == constants &&
		    pesa_digest_equal(&description->costs, costs)) {
			*result = description;
			return NULL;
		}
	}
	description = mca_arena_take(&binder->arena, sizeof(*description));
	if (!description)
		return pesa_error_no_memory();
	description->opcode = opcode;
	description->scheduling_class = scheduling_class;
	if (shared) {
		description->next_shared = *list;
		*list = description;
	}
	description->constants = constants;
	description->costs = *costs;
	error = describe(binder, operands, class, description);
	if (error)
		return error;
	if (instruction->latency >= 0) {
		description->latency = instruction->latency;
		for (unsigned int i = 0; i < description->writes; i++)
			description->write[i].latency = instruction->latency;
	}
	if (instruction->no_units) {
		description->usages = 0;
		description->groups = 0;
	}
	*result = description;
	return NULL;
}

/* The registers contained in a register, computed once; NULL: out of memory. */
static const struct mca_register_parts *parts_of(struct mca_binder *binder, unsigned int reg)
{
	struct register_use **use = &binder->registers[reg];

	if (!*use) {
		*use = mca_arena_take_raw(&binder->arena, sizeof(**use));
		if (!*use)
			return NULL;
		mca_register_parts(reg, &(*use)->all);
		binder->used[binder->used_count++] = (uint16_t)reg;
	}
	return &(*use)->kept;
}

static struct pesa_error *lower(struct mca_binder *binder, const struct mca_operands *operands,
				struct mca_lowered *lowered)
{
	struct mca_arena *arena = &binder->arena;
	const struct mca_description *description = lowered->description;

	lowered->call = mca_is_call(operands);
	lowered->return_ = mca_is_return(operands);
	lowered->write = mca_arena_take_raw(arena, description->writes * sizeof(*lowered->write));
	lowered->read = mca_arena_take_raw(arena, description->reads * sizeof(*lowered->read));
	if (!lowered->write || !lowered->read)
		return pesa_error_no_memory();
	for (unsigned int i = 0; i < description->reads; i++) {
		const struct mca_read_description *read = &description->read[i];
		unsigned int reg = read->operand < 0 ? read->reg : operands->reg[read->operand];
		struct mca_lowered_read *result = &lowered->read[lowered->reads];

		if (!reg)
			continue;
		*result = (struct mca_lowered_read){.reg = reg};
		result->parts = parts_of(binder, reg);
		if (!result->parts || !find_advances(binder, description->class, read->use, result))
			return pesa_error_no_memory();
		lowered->reads++;
	}
	for (unsigned int i = 0; i < description->writes; i++) {
		const struct mca_write_description *write = &description->write[i];
		unsigned int reg = write->operand < 0 ? write->reg : operands->reg[write->operand];
		struct mca_lowered_write *result = &lowered->write[lowered->writes];

		if (!reg || mca_register_is_constant(reg))
			continue;
		*result = (struct mca_lowered_write){
			.reg = reg, .name = write->name, .latency = write->latency};
		result->parts = parts_of(binder, reg);
		if (!result->parts)
			return pesa_error_no_memory();
		lowered->writes++;
		lowered->integers += mca_register_is_integer(reg);
		lowered->floats += mca_register_is_float(reg);
	}
	return NULL;
}

/* A barrier that the model does not have: one micro-op of one cycle, without resources. */
static struct pesa_error *bind_unknown_barrier(struct mca_binder *binder,
					       struct mca_lowered *lowered)
{
	struct pesa_mca_block *block = binder->block;
	struct mca_description *description = mca_arena_take(&block->arena, sizeof(*description));

	if (!description)
		return pesa_error_no_memory();
	*description = (struct mca_description){
		.class = MCA_CLASS_UNSUPPORTED,
		.latency = 1,
		.micro_ops = 1,
		.number = block->description_count,
	};
	block->descriptions[block->description_count++] = description;
	lowered->description = description;
	return NULL;
}

static struct pesa_error *unsupported(const struct mca_binder *binder,
				      const struct pesa_mca_instruction *instruction,
				      unsigned int index)
{
	const char *name = instruction->pseudo
				   ? instruction->pseudo
				   : pesa_opcode_get(instruction->insn.opcode)->mnemonic;

	return pesa_error_create(PESA_ERROR_UNSUPPORTED,
				 "instruction %u (%s) is not supported by the model of %s; "
				 "-skip-unsupported-instructions=lack-sched leaves it out, a class "
				 "that lists %s would have it",
				 index, name, binder->processor->name,
				 instruction->pseudo
					 ? instruction->pseudo
					 : pesa_opcode_get(instruction->insn.opcode)->name);
}

static enum pesa_flow flow_of(const struct pesa_mca_instruction *instruction)
{
	return instruction->pseudo ? PESA_FLOW_CALL : pesa_insn_flow(&instruction->insn);
}

/* Set the properties used for external stimuli (stimuli.c) that each instance has. */
static void describe_flow(const struct pesa_mca_instruction *instruction, enum pesa_flow flow,
			  struct mca_lowered *lowered)
{
	uint32_t properties = pesa_opcode_get(instruction->insn.opcode)->properties;

	lowered->predicted = flow == PESA_FLOW_BRANCH || flow == PESA_FLOW_INDIRECT ||
			     flow == PESA_FLOW_INDIRECT_CALL || flow == PESA_FLOW_COROUTINE;
	lowered->scalar_load =
		properties & PESA_OPCODE_LOAD &&
		!(properties & (PESA_OPCODE_STORE | PESA_OPCODE_VECTOR | PESA_OPCODE_ATOMIC));
}

/* Set the properties of this instance. */
static void describe_instance(const struct pesa_mca_instruction *instruction, enum pesa_flow flow,
			      struct mca_lowered *lowered)
{
	lowered->taken = flow == PESA_FLOW_BRANCH
				 ? instruction->taken
				 : flow != PESA_FLOW_NEXT && flow != PESA_FLOW_TRAP;
	lowered->mispredicted = instruction->mispredicted;
	lowered->begins_block = instruction->begins_block;
	lowered->late = instruction->late;
}

/* Names of opcodes are constants, so equal pointers are equal names. */
static int find_opcode(struct mca_binder *binder, const char *name)
{
	struct found_opcode *found = &binder->found[((uintptr_t)name >> 3) % OPCODES_REMEMBERED];

	if (found->name != name)
		*found = (struct found_opcode){name, mca_opcode_find(name, strlen(name))};
	return found->opcode;
}

/* Those with a latency of their own have a description of their own, and are not bound alike. */
static bool may_be_remembered(const struct pesa_mca_instruction *instruction)
{
	return instruction->insn.bits && !instruction->pseudo && instruction->latency < 0 &&
	       !instruction->no_units && instruction->sew <= UINT16_MAX;
}

static void remember(struct mca_binder *binder, const struct pesa_mca_instruction *instruction,
		     const struct pesa_digest *costs, unsigned int place)
{
	struct bound *bound = &binder->bound[place];

	if (!may_be_remembered(instruction))
		return;
	binder->bits[place] = instruction->insn.bits;
	bound->costs = *costs;
	bound->opcode = instruction->insn.opcode;
	bound->lmul = instruction->lmul;
	bound->sew = (uint16_t)instruction->sew;
}

/* Bind an instruction, without what depends on its place.  No description: it is not supported. */
static struct pesa_error *bind_anywhere(struct mca_binder *binder,
					const struct pesa_mca_instruction *instruction,
					const struct pesa_digest *costs, unsigned int place)
{
	const char *name = instruction->pseudo ? instruction->pseudo
					       : pesa_opcode_get(instruction->insn.opcode)->name;
	int opcode = find_opcode(binder, name);
	struct bound *bound = &binder->bound[place];
	struct mca_operands operands = {0};
	struct pesa_error *error;

	binder->bits[place] = 0;
	binder->made++;
	*bound = (struct bound){.flow = flow_of(instruction)};
	describe_flow(instruction, bound->flow, &bound->lowered);
	if (opcode < 0)
		return NULL;
	error = mca_read_operands(instruction, opcode, &operands);
	if (!error)
		error = find_description(binder, instruction, costs, opcode, &operands,
					 &bound->description);
	bound->lowered.description = bound->description;
	if (!error && bound->description)
		error = lower(binder, &operands, &bound->lowered);
	if (!error)
		remember(binder, instruction, costs, place);
	return error;
}

/* The first of the places where an instruction may be remembered. */
static unsigned int places_of(const struct mca_binder *binder,
			      const struct pesa_mca_instruction *instruction)
{
	uint64_t hash = (instruction->insn.bits ^ (uint64_t)instruction->insn.opcode << 32) *
			UINT64_C(0x9e3779b97f4a7c15);

	return (unsigned int)(hash >> 32) & (binder->remembered - PLACES);
}

/* Whether an instruction that may be remembered is bound as the one of this place. */
static bool is_bound_alike(const struct mca_binder *binder, unsigned int place,
			   const struct pesa_mca_instruction *instruction,
			   const struct pesa_digest *costs)
{
	const struct bound *bound = &binder->bound[place];

	return binder->bits[place] == instruction->insn.bits &&
	       bound->opcode == instruction->insn.opcode && bound->lmul == instruction->lmul &&
	       bound->sew == instruction->sew && pesa_digest_equal(&bound->costs, costs);
}

/* Where an instruction is remembered; if it is not (*known), where it shall be: in an empty place, or in
 * turns. */
static unsigned int find_place(const struct mca_binder *binder,
			       const struct pesa_mca_instruction *instruction,
			       const struct pesa_digest *costs, bool *known)
{
	unsigned int first = places_of(binder, instruction), empty = first + binder->made % PLACES;

	*known = may_be_remembered(instruction);
	for (unsigned int place = first; place < first + PLACES; place++) {
		if (*known && is_bound_alike(binder, place, instruction, costs))
			return place;
		if (!binder->bits[place])
			empty = place;
	}
	*known = false;
	return empty;
}

/* The description is the next one of the block, unless the block has it. */
static void enter_description(struct mca_binder *binder, struct mca_description *description)
{
	struct pesa_mca_block *block = binder->block;

	if (description->block == binder->blocks)
		return;
	description->block = binder->blocks;
	description->number = block->description_count;
	block->descriptions[block->description_count++] = description;
}

static struct pesa_error *bind(struct mca_binder *binder,
			       const struct pesa_mca_instruction *instruction,
			       const struct pesa_digest *costs, unsigned int index)
{
	struct pesa_mca_block *block = binder->block;
	struct mca_lowered *lowered = &block->lowered[block->count];
	bool known;
	unsigned int place = find_place(binder, instruction, costs, &known);
	const struct bound *bound = &binder->bound[place];
	struct pesa_error *error = NULL;

	/* Where all instances of an opcode have the operands of the first one, so has this one. */
	if (!binder->options->own_operands || !known)
		error = bind_anywhere(binder, instruction, costs, place);
	if (error)
		return error;
	if (!bound->lowered.description && !instruction->barrier)
		return binder->options->skip_unsupported ? NULL
							 : unsupported(binder, instruction, index);
	*lowered = bound->lowered;
	lowered->source = index;
	describe_instance(instruction, bound->flow, lowered);
	if (bound->description)
		enter_description(binder, bound->description);
	else
		error = bind_unknown_barrier(binder, lowered);
	block->count++; /* from here on freed with the block */
	if (!error && instruction->barrier) {
		lowered->barrier = block->barriers = true;
		error = mca_wait_for_stores(block, lowered, binder->options);
	}
	if (!error && binder->options->ordered_cycles)
		error = mca_take_in_order(block, lowered, binder->options->ordered_cycles,
					  binder->taken);
	return error || !instruction->forwarded_by
		       ? error
		       : mca_forward(block, lowered, instruction, binder->options);
}

/*
 * Omit parts of a register that no other register of the block contains: they are always written
 * and read together with the register.
 */
static void simplify_registers(struct mca_binder *binder)
{
	uint8_t containing[MCA_REGISTER_COUNT] = {0};

	for (unsigned int n = 0; n < binder->used_count; n++) {
		unsigned int reg = binder->used[n];
		const struct register_use *use = binder->registers[reg];

		containing[reg]++;
		for (unsigned int i = 0; i < use->all.count; i++)
			containing[use->all.part[i]]++;
	}
	for (unsigned int n = 0; n < binder->used_count; n++) {
		struct register_use *use = binder->registers[binder->used[n]];
		unsigned int kept = 0;

		for (unsigned int i = 0; i < use->all.count; i++)
			if (containing[use->all.part[i]] > 1)
				use->kept.part[kept++] = use->all.part[i];
		use->kept.count = kept;
	}
}

/* ---- Blocks of one binder -------------------------------------------------------------------- */

struct pesa_error *mca_binder_create(const struct pesa_mca_model *model,
				     const struct pesa_mca_block_options *options,
				     unsigned int remembered, struct mca_binder **result)
{
	const struct pesa_mca_processor *processor =
		pesa_mca_model_processor(model, options->processor);
	struct mca_binder *binder;
	struct mca_arena arena;

	if (!processor)
		return pesa_error_create(PESA_ERROR_NOT_FOUND, "the model %s has no processor %s",
					 model->name, options->processor);
	/* The struct itself is allocated in its arena. */
	mca_arena_init(&arena,
		       sizeof(*binder) +
			       remembered * (sizeof(*binder->bits) + sizeof(*binder->bound)) +
			       BYTES);
	binder = mca_arena_take(&arena, sizeof(*binder));
	if (!binder)
		return pesa_error_no_memory();
	binder->remembered = remembered;
	binder->bits = mca_arena_take(&arena, remembered * sizeof(*binder->bits));
	binder->bound = mca_arena_take_raw(&arena, remembered * sizeof(*binder->bound));
	if (!binder->bits || !binder->bound) {
		mca_arena_free(&arena);
		return pesa_error_no_memory();
	}
	binder->arena = arena;
	binder->model = model;
	binder->processor = processor;
	binder->options = options;
	binder->call_latency = options->call_latency ? options->call_latency : CALL_LATENCY;
	*result = binder;
	return NULL;
}

void mca_binder_free(struct mca_binder *binder)
{
	struct mca_arena arena;

	if (!binder)
		return;
	arena = binder->arena;
	mca_arena_free(&arena);
}

static struct pesa_mca_block *new_block(const struct pesa_mca_model *model, unsigned int count)
{
	struct pesa_mca_block *block;
	struct mca_arena arena;

	mca_arena_init(&arena, sizeof(*block) + BYTES + count * BYTES_PER_INSTRUCTION);
	block = mca_arena_take(&arena, sizeof(*block));
	if (!block)
		return NULL;
	block->arena = arena;
	block->model = model;
	block->descriptions =
		mca_arena_take_raw(&block->arena, count * sizeof(*block->descriptions));
	block->lowered = mca_arena_take_raw(&block->arena, count * sizeof(*block->lowered));
	if (block->descriptions && block->lowered)
		return block;
	pesa_mca_block_free(block);
	return NULL;
}

void mca_binder_set_model(struct mca_binder *binder, const struct pesa_mca_model *model)
{
	binder->model = model;
	binder->processor = pesa_mca_model_processor(model, binder->options->processor);
}

bool mca_binder_is_full(const struct mca_binder *binder)
{
	return binder->made > MADE_MOST;
}

struct pesa_error *mca_binder_bind(struct mca_binder *binder,
				   const struct pesa_mca_instruction *instructions,
				   const struct pesa_digest *costs, unsigned int count,
				   struct pesa_mca_block **result)
{
	static const struct pesa_digest one_model;
	struct pesa_mca_block *block = new_block(binder->model, count);
	struct pesa_error *error = NULL;

	if (!block)
		return pesa_error_no_memory();
	binder->block = block;
	binder->blocks++;
	memset(binder->taken, 0, sizeof(binder->taken));
	for (unsigned int i = 0; i < count && !error; i++)
		error = bind(binder, &instructions[i], costs ? &costs[i] : &one_model, i);
	simplify_registers(binder);
	if (!error && !mca_find_touched(block))
		error = pesa_error_no_memory();
	if (error) {
		pesa_mca_block_free(block);
		return error;
	}
	/* The first instruction of the next iteration follows the last one. */
	if (block->count)
		block->lowered[block->count - 1].taken |=
			block->lowered[block->count - 1].predicted;
	mca_find_units(block);
	*result = block;
	return NULL;
}

struct pesa_error *pesa_mca_block_create(const struct pesa_mca_model *model,
					 const struct pesa_mca_instruction *instructions,
					 unsigned int count,
					 const struct pesa_mca_block_options *options,
					 struct pesa_mca_block **block)
{
	struct mca_binder *binder;
	struct pesa_error *error = mca_binder_create(model, options, OF_ONE_BLOCK, &binder);

	if (!error) {
		error = mca_binder_bind(binder, instructions, NULL, count, block);
		if (error)
			mca_binder_free(binder);
		else
			(*block)->binder = binder;
	}
	return error;
}

void pesa_mca_block_free(struct pesa_mca_block *block)
{
	struct mca_arena arena;

	if (!block)
		return;
	mca_binder_free(block->binder);
	arena = block->arena;
	mca_arena_free(&arena);
}
