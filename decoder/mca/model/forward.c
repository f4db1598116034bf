/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions that wait for each other without a register: loads that read the data of an earlier
 * store (store-to-load forwarding), of which the caller specifies the pairs, and instructions that
 * take a unit in program order.
 *
 * The stored data, and whose turn it is at the unit, is modelled as a register, which the first one
 * writes and the second one reads, so that the general rules for registers apply in order, out of
 * order, and across iterations.
 */
#include "decoder/mca/model/block.h"

static const struct mca_register_parts no_parts;

/* The instruction of the block with index `source` in the caller's list; NULL: it was omitted. */
static struct mca_lowered *find_source(struct pesa_mca_block *block, unsigned int source)
{
	unsigned int i = block->count;

	/* None has a smaller index in the list than in the block. */
	if (i > source + 1)
		i = source + 1;
	while (i && block->lowered[i - 1].source > source)
		i--;
	return i && block->lowered[i - 1].source == source ? &block->lowered[i - 1] : NULL;
}

static struct pesa_error *add_write(struct pesa_mca_block *block, struct mca_lowered *writer,
				    unsigned int reg, bool at_retirement, int latency)
{
	struct mca_lowered_write *writes =
		mca_arena_grow(&block->arena, writer->write, writer->writes * sizeof(*writes),
			       (writer->writes + 1) * sizeof(*writes));

	if (!writes)
		return pesa_error_no_memory();
	writes[writer->writes] = (struct mca_lowered_write){
		.reg = (uint16_t)reg,
		.at_retirement = at_retirement,
		.latency = latency,
		.parts = &no_parts,
	};
	writer->write = writes;
	writer->writes++;
	return NULL;
}

#define STORED (MCA_REGISTER_TURN - MCA_REGISTER_MEMORY) /* registers for data of stores */

/*
 * A register for the data of a store, which is read `distance` instructions later at most; NONE: all are
 * in use.  The one that was taken longest ago is taken again: since then as many instructions have read
 * from stores, so that no later one reads from that store, unless some are farther from theirs.
 */
static unsigned int free_register(struct pesa_mca_block *block, unsigned int distance)
{
	block->far_forwards |= distance >= STORED;
	if (block->forwarders >= STORED && block->far_forwards)
		return MCA_REGISTER_NONE;
	return MCA_REGISTER_MEMORY + block->forwarders++ % STORED;
}

/* The register for the data of a store; NONE: all are in use. */
static struct pesa_error *leave(struct pesa_mca_block *block, struct mca_lowered *store,
				bool at_retirement, int latency, unsigned int distance,
				unsigned int *reg)
{
	*reg = MCA_REGISTER_NONE;
	for (unsigned int i = 0; i < store->writes; i++)
		if (store->write[i].reg >= MCA_REGISTER_MEMORY &&
		    store->write[i].at_retirement == at_retirement &&
		    store->write[i].latency == latency)
			*reg = store->write[i].reg;
	if (*reg)
		return NULL;
	*reg = free_register(block, distance);
	return *reg ? add_write(block, store, *reg, at_retirement, latency) : NULL;
}

/* Make an instruction read the data of a store, `early` cycles before it would be a result. */
static struct pesa_error *read_from(struct pesa_mca_block *block, struct mca_lowered *reader,
				    unsigned int reg, int early)
{
	struct mca_advance *advance = mca_arena_take(&block->arena, sizeof(*advance));
	struct mca_lowered_read *reads =
		mca_arena_grow(&block->arena, reader->read, reader->reads * sizeof(*reads),
			       (reader->reads + 1) * sizeof(*reads));

	if (!advance || !reads)
		return pesa_error_no_memory();
	advance->cycles = (int16_t)early;
	reads[reader->reads] = (struct mca_lowered_read){
		.reg = (uint16_t)reg, .advances = 1, .advance = advance, .parts = &no_parts};
	reader->read = reads;
	reader->reads++;
	return NULL;
}

struct pesa_error *mca_forward(struct pesa_mca_block *block, struct mca_lowered *load,
			       const struct pesa_mca_instruction *instruction,
			       const struct pesa_mca_block_options *options)
{
	unsigned int distance = instruction->forwarded_by, reg;
	bool partly = instruction->forwarded_partly;
	struct mca_lowered *store =
		distance <= load->source ? find_source(block, load->source - distance) : NULL;
	struct pesa_error *error;
	int latency, early;

	if (!store || !store->description->store || !load->description->load ||
	    (partly && !options->drain_latency))
		return NULL;
	latency = partly ? (int)options->drain_latency
			 : store->description->latency + (int)options->forward_latency;
	/* The data is needed when the load completes, not when it issues. */
	early = load->description->latency;
	if (instruction->after_store)
		latency = early = 0;
	error = leave(block, store, partly, latency, distance, &reg);
	return error || !reg ? error : read_from(block, load, reg, early);
}

struct pesa_error *mca_wait_for_stores(struct pesa_mca_block *block, struct mca_lowered *barrier,
				       const struct pesa_mca_block_options *options)
{
	struct mca_lowered *store = barrier;
	struct pesa_error *error;
	unsigned int reg;

	while (store > block->lowered && !store[-1].description->store)
		store--;
	if (store == block->lowered)
		return NULL;
	error = leave(block, store - 1, true, (int)options->drain_latency,
		      (unsigned int)(barrier->source - store[-1].source), &reg);
	if (error || !reg)
		return error;
	/* `drain_latency` includes the time of a load that reads from the cache afterwards. */
	return read_from(block, barrier, reg, (int)options->load_latency);
}

static struct pesa_error *take_in_order(struct pesa_mca_block *block, struct mca_lowered *lowered,
					unsigned int reg, bool *taken)
{
	struct pesa_error *error = *taken ? read_from(block, lowered, reg, 0) : NULL;

	*taken = block->turns = true;
	return error ? error : add_write(block, lowered, reg, false, 0);
}

struct pesa_error *mca_take_in_order(struct pesa_mca_block *block, struct mca_lowered *lowered,
				     unsigned int cycles, bool *taken)
{
	const struct mca_description *description = lowered->description;
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; i < description->usages && !error; i++) {
		const struct mca_usage *usage = &description->usage[i];
		unsigned int bit = mca_top_bit(usage->mask);
		const struct pesa_mca_resource *resource =
			&block->model->resources[pesa_mca_model_resource_of(block->model, bit)];

		if (usage->cycles >= cycles && !resource->group && resource->units == 1)
			error = take_in_order(block, lowered, MCA_REGISTER_TURN + bit, &taken[bit]);
	}
	return error;
}
