/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model_tables NAME FILE: parse a processor model and write it as constants in C, as
 * mca_model_table_NAME (decoder/mca/model/table.h).  A program of the build, for the machine that
 * builds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/distinct.h"
#include "decoder/mca/model/table.h"

static struct distinct_bytes names;

/* The offset of a name; 0: NULL. */
static uint32_t offset_of(const char *name)
{
	uint32_t number = name ? distinct_bytes_get(&names, name, strlen(name) + 1) : 0;

	if (number == DISTINCT_NONE) {
		fprintf(stderr, "model_tables: out of memory\n");
		exit(1);
	}
	return (uint32_t)names.piece[number].offset;
}

/* An array begins; one without elements gets an element, since C has no empty arrays. */
static void begin(const char *type, const char *name, unsigned int count)
{
	printf("static const %s %s[] = {\n%s", type, name, count ? "" : "{0},\n");
}

static void end(void)
{
	printf("};\n");
}

static void write_names(void)
{
	printf("static const char names[] =");
	for (uint32_t i = 0; i < names.index.count; i++) {
		size_t size;
		const unsigned char *name = distinct_bytes_at(&names, i, &size);

		printf("\n\t\"");
		for (; *name; name++)
			if (*name < ' ' || *name > '~' || strchr("\"\\?", *name))
				printf("\\%03o", *name);
			else
				putchar(*name);
		printf("\\0\"");
	}
	printf(";\n");
}

/* Also what they list: names of tunings, then indices of members. */
static void write_processors_and_resources(const struct pesa_mca_model *model)
{
	unsigned int listed = 0;

	printf("static const uint32_t list[] = {\n");
	for (unsigned int i = 0; i < model->processor_count; i++)
		for (unsigned int j = 0; j < model->processors[i].tunings; j++)
			printf("%" PRIu32 ",\n", offset_of(model->processors[i].tuning[j]));
	for (unsigned int i = 0; i < model->resource_count; i++)
		for (unsigned int j = 0; j < model->resources[i].members; j++)
			printf("%u,\n", model->resources[i].member[j]);
	printf("0,\n");
	end();
	begin("struct mca_table_processor", "processors", model->processor_count);
	for (unsigned int i = 0; i < model->processor_count; i++) {
		const struct pesa_mca_processor *processor = &model->processors[i];

		printf("{%" PRIu32 ", %" PRIu32 ", %u, %u},\n", offset_of(processor->name),
		       offset_of(processor->isa), listed, processor->tunings);
		listed += processor->tunings;
	}
	end();
	begin("struct mca_table_resource", "resources", model->resource_count);
	for (unsigned int i = 0; i < model->resource_count; i++) {
		const struct pesa_mca_resource *resource = &model->resources[i];

		printf("{%" PRIu32 ", %" PRIu32 ", %d, %u, %d, %u, %u},\n",
		       offset_of(resource->name), offset_of(resource->from), resource->group,
		       resource->units, resource->buffer, listed, resource->members);
		listed += resource->members;
	}
	end();
	begin("int", "super", model->resource_count);
	for (unsigned int i = 0; i < model->resource_count; i++)
		printf("%d,\n", model->super[i]);
	end();
}

static void write_named(const struct pesa_mca_model *model)
{
	begin("struct mca_table_identity", "identities", model->class_count);
	for (unsigned int i = 0; i < model->class_count; i++) {
		const struct mca_identity *identity = &model->identities[i];

		printf("{%" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %u, %u, %u},\n",
		       offset_of(identity->name), offset_of(identity->write),
		       offset_of(identity->from), offset_of(identity->reads), identity->costs,
		       identity->entry, identity->whole);
	}
	end();
	begin("struct mca_table_read", "reads", model->read_count);
	for (unsigned int i = 0; i < model->read_count; i++)
		printf("{%" PRIu32 ", %" PRIu32 "},\n", offset_of(model->reads[i].name),
		       offset_of(model->reads[i].from));
	end();
	begin("struct mca_table_condition", "conditions", model->condition_count);
	for (unsigned int i = 0; i < model->condition_count; i++)
		printf("{%" PRIu32 ", %u, %u},\n", offset_of(model->conditions[i].feature),
		       model->conditions[i].operand, model->conditions[i].reg);
	end();
}

static void write_costs(const struct pesa_mca_model *model)
{
	begin("struct mca_class", "classes", model->class_count);
	for (unsigned int i = 0; i < model->class_count; i++) {
		const struct mca_class *class = &model->classes[i];

		printf("{%u, %u, %u, %u, %u, %" PRIu32 ", %" PRIu32 ", %" PRIu32 "},\n",
		       class->micro_ops, class->flags, class->writes, class->uses, class->advances,
		       class->write, class->use, class->advance);
	}
	end();
	begin("struct mca_write", "writes", model->write_count);
	for (unsigned int i = 0; i < model->write_count; i++)
		printf("{%u, %u},\n", model->writes[i].latency, model->writes[i].name);
	end();
	begin("struct pesa_mca_use", "uses", model->use_count);
	for (unsigned int i = 0; i < model->use_count; i++)
		printf("{%u, %u, %u},\n", model->uses[i].resource, model->uses[i].acquire,
		       model->uses[i].release);
	end();
	begin("struct mca_advance", "advances", model->advance_count);
	for (unsigned int i = 0; i < model->advance_count; i++)
		printf("{%u, %u, %d},\n", model->advances[i].operand, model->advances[i].write,
		       model->advances[i].cycles);
	end();
	begin("struct mca_variant", "variants", model->variant_count);
	for (unsigned int i = 0; i < model->variant_count; i++)
		printf("{%" PRIu32 ", %" PRIu32 "},\n", model->variants[i].alternative,
		       model->variants[i].alternatives);
	end();
	begin("struct mca_alternative", "alternatives", model->alternative_count);
	for (unsigned int i = 0; i < model->alternative_count; i++)
		printf("{%u, %u, %" PRIu32 "},\n", model->alternatives[i].class,
		       model->alternatives[i].conditions, model->alternatives[i].condition);
	end();
}

static void write_opcodes(const struct pesa_mca_model *model)
{
	begin("uint16_t", "opcode_class", mca_opcode_count);
	for (unsigned int i = 0; i < mca_opcode_count; i++)
		printf("%u,\n", model->opcode_class[i]);
	end();
	begin("uint16_t", "vector_row", mca_opcode_count);
	for (unsigned int i = 0; i < mca_opcode_count; i++)
		printf("%u,\n", model->vector_row[i]);
	end();
	begin("mca_vector_classes", "vector_class", model->vector_rows);
	for (unsigned int i = 0; i < model->vector_rows; i++) {
		printf("{");
		for (unsigned int j = 0; j < MCA_LMULS * MCA_SEWS; j++)
			printf("%u,", model->vector_class[i][j]);
		printf("},\n");
	}
	end();
}

static void write_table(const struct pesa_mca_model *model, const char *name)
{
	static const char *const arrays[] = {
		"processors",	"resources",	"list",	  "identities", "reads",
		"conditions",	"classes",	"writes", "uses",	"advances",
		"variants",	"alternatives", "super",  "names",	"vector_row",
		"vector_class", "opcode_class"};

	printf("const struct mca_model_table mca_model_table_%s = {\n", name);
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		printf(".%s = %s,\n", arrays[i], arrays[i]);
#define NUMBER(member) printf(".%s = %u,\n", #member, model->member)
	NUMBER(issue_width);
	NUMBER(micro_op_buffer);
	NUMBER(load_latency);
	NUMBER(mispredict_penalty);
	NUMBER(reorder_buffer);
	NUMBER(retire_width);
	NUMBER(load_queue);
	NUMBER(store_queue);
	NUMBER(write_name_count);
	NUMBER(processor_count);
	NUMBER(resource_count);
	NUMBER(read_count);
	NUMBER(condition_count);
	NUMBER(class_count);
	NUMBER(write_count);
	NUMBER(use_count);
	NUMBER(advance_count);
	NUMBER(variant_count);
	NUMBER(alternative_count);
	NUMBER(vector_rows);
#undef NUMBER
	printf(".name = %" PRIu32 ",\n", offset_of(model->name));
	printf(".masks = {");
	for (size_t i = 0; i < sizeof(model->masks) / sizeof(model->masks[0]); i++)
		printf("UINT64_C(%" PRIu64 "), ", model->masks[i]);
	printf("},\n.of_bit = {");
	for (size_t i = 0; i < sizeof(model->of_bit); i++)
		printf("%u, ", model->of_bit[i]);
	printf("},\n};\n");
}

int main(int argc, char **argv)
{
	struct pesa_mca_model *model;
	struct pesa_error *error;

	if (argc != 3) {
		fprintf(stderr, "usage: model_tables NAME FILE\n");
		return 2;
	}
	error = pesa_mca_model_load(argv[2], &model);
	if (error) {
		fprintf(stderr, "model_tables: %s\n", error->message);
		pesa_error_free(error);
		return 1;
	}
	offset_of(""); /* offset 0 is no name */
	printf("/* Written by tools/gen/model_tables.c from %s; not kept under version control. */\n"
	       "#include \"decoder/mca/model/table.h\"\n",
	       argv[2]);
	offset_of(model->name);
	write_processors_and_resources(model);
	write_named(model);
	write_costs(model);
	write_opcodes(model);
	write_names();
	write_table(model, argv[1]);
	pesa_mca_model_free(model);
	distinct_bytes_free(&names);
	if (fflush(stdout) || ferror(stdout)) {
		perror("model_tables: standard output");
		return 1;
	}
	return 0;
}
