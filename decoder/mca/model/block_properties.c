// SPDX-License-Identifier: GPL-2.0-or-later
/* Properties of a block that need no run: see include/pesa/mca.h. */
#include "decoder/mca/model/block.h"

unsigned int pesa_mca_block_count(const struct pesa_mca_block *block)
{
	return block->count;
}

unsigned int pesa_mca_block_source(const struct pesa_mca_block *block, unsigned int index)
{
	return block->lowered[index].source;
}

const struct pesa_mca_model *pesa_mca_block_model(const struct pesa_mca_block *block)
{
	return block->model;
}

static double reciprocal_throughput(const struct pesa_mca_model *model,
				    const struct mca_class *class)
{
	const struct pesa_mca_use *use = &model->uses[class->use];
	double lowest = 0;

	for (unsigned int i = 0; i < class->uses; i++, use++) {
		double throughput;

		if (!use->release || use->release == use->acquire)
			continue;
		throughput = (double)model->resources[use->resource].units /
			     (use->release - use->acquire);
		if (!lowest || throughput < lowest)
			lowest = throughput;
	}
	return lowest ? 1.0 / lowest : (double)class->micro_ops / model->issue_width;
}

void pesa_mca_block_information(const struct pesa_mca_block *block, unsigned int index,
				struct pesa_mca_information *information)
{
	const struct pesa_mca_model *model = block->model;
	const struct mca_lowered *lowered = &block->lowered[index];
	const struct mca_description *description = lowered->description;
	static const struct mca_class none = {.micro_ops = 1};
	const struct mca_class *class = description->class == MCA_CLASS_UNSUPPORTED
						? &none
						: &model->classes[description->class];
	const struct mca_advance *advance = &model->advances[class->advance];
	int latency = 0, forwarding = 0, bypass = 0;
	unsigned int slowest = 0;

	for (unsigned int i = 0; i < class->writes; i++) {
		const struct mca_write *write = &model->writes[class->write + i];

		if (write->latency > latency) {
			latency = write->latency;
			slowest = write->name;
		}
	}
	for (unsigned int i = 0; i < class->advances; i++)
		if (!advance[i].write && advance[i].cycles < forwarding)
			forwarding = advance[i].cycles;
	for (unsigned int i = 0; i < class->advances; i++)
		if (advance[i].write == slowest) {
			bypass = advance[i].cycles;
			break;
		}
	*information = (struct pesa_mca_information){
		.opcode = mca_opcodes[description->opcode].name,
		.micro_ops = class->micro_ops,
		.latency = latency - forwarding,
		.bypass_latency = latency - bypass > 0 ? latency - bypass : 0,
		.reciprocal_throughput = reciprocal_throughput(model, class),
		.load = description->load,
		.store = description->store,
		.side_effects = description->side_effects,
		.call = lowered->call,
		.return_ = lowered->return_,
		.uses = class->uses,
		.use = &model->uses[class->use],
	};
}

unsigned int pesa_mca_block_demands(const struct pesa_mca_block *block, unsigned int index,
				    struct pesa_mca_demand *demands, unsigned int size)
{
	const struct mca_description *description = block->lowered[index].description;

	for (unsigned int i = 0; i < description->usages && i < size; i++) {
		demands[i].resource = block->model->of_bit[mca_top_bit(description->usage[i].mask)];
		demands[i].cycles = description->usage[i].cycles;
	}
	return description->usages;
}

double pesa_mca_block_throughput(const struct pesa_mca_block *block, unsigned int dispatch_width)
{
	const struct pesa_mca_model *model = block->model;
	unsigned int width = dispatch_width ? dispatch_width : model->issue_width;
	uint64_t cycles[MCA_RESOURCES_MAX + 1] = {0}, micro_ops = 0;
	double most;

	for (unsigned int i = 0; i < block->count; i++) {
		const struct mca_description *description = block->lowered[i].description;

		micro_ops += description->micro_ops;
		for (unsigned int j = 0; j < description->usages; j++)
			cycles[mca_top_bit(description->usage[j].mask)] +=
				description->usage[j].cycles;
	}
	most = (double)micro_ops / width;
	for (unsigned int bit = 0; bit < model->resource_count; bit++) {
		double needed = (double)cycles[bit] / model->resources[model->of_bit[bit]].units;

		if (cycles[bit] && needed > most)
			most = needed;
	}
	return most;
}
