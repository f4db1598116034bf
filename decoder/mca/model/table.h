/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A processor model as constants of the program.
 *
 * The text of a built-in model is parsed when pesa is built: tools/gen/model_tables.c writes the
 * result as a C file.  A process maps it with the program and parses nothing; there is no file that
 * could be damaged, missing or of another build.  Names are offsets into one array of characters,
 * since pointers would need relocation at every start.  Offset 0 is no name (NULL).
 */
#ifndef DECODER_MCA_MODEL_TABLE_H
#define DECODER_MCA_MODEL_TABLE_H

#include "decoder/mca/model/model.h"

struct mca_model_table {
	const char *names; /* each ends with a NUL */
	uint32_t name;
	unsigned int issue_width, micro_op_buffer, load_latency, mispredict_penalty;
	unsigned int reorder_buffer, retire_width, load_queue, store_queue;
	unsigned int write_name_count;
	uint64_t masks[MCA_RESOURCES_MAX + 1];
	uint8_t of_bit[MCA_RESOURCES_MAX + 1];

	const struct mca_table_processor {
		uint32_t name, isa;
		uint32_t tuning, tunings; /* the first one in `list`, and their number */
	} * processors;
	const struct mca_table_resource {
		uint32_t name, from;
		uint32_t group, units;
		int32_t buffer;
		uint32_t member, members; /* the first one in `list`, and their number */
	} * resources;
	const uint32_t *list; /* names of tunings, and indices of members */
	const struct mca_table_identity {
		uint32_t name, write, from, reads;
		uint32_t costs, entry, whole;
	} * identities;
	const struct mca_table_read {
		uint32_t name, from;
	} * reads;
	const struct mca_table_condition {
		uint32_t feature;
		uint8_t operand;
		uint16_t reg;
	} * conditions;

	/* As they are in struct pesa_mca_model. */
	const struct mca_class *classes;
	const struct mca_write *writes;
	const struct pesa_mca_use *uses;
	const struct mca_advance *advances;
	const struct mca_variant *variants;
	const struct mca_alternative *alternatives;
	const int *super;
	const uint16_t *opcode_class, *vector_row;
	const mca_vector_classes *vector_class;
	unsigned int processor_count, resource_count, read_count, condition_count;
	unsigned int class_count, write_count, use_count, advance_count, variant_count;
	unsigned int alternative_count, vector_rows;
};

/* Owned by the caller. */
struct pesa_error *mca_model_from_table(const struct mca_model_table *table,
					struct pesa_mca_model **model);
/* Before a change: give a model that shares the constants of a table arrays of its own. */
struct pesa_error *mca_model_own_constants(struct pesa_mca_model *model);

#endif
