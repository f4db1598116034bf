/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pesa compare --format exegesis: the numbers that opcodes show, as benchmarks in the YAML that
 * llvm-exegesis --mode=analysis reads (LLVM's CommandGuide, llvm-exegesis, "analysis mode"), which
 * sets them against the scheduling classes that they are of.
 */
#include <inttypes.h>
#include <string.h>

#include "tools/compare/llvm.h"

/* The measurement of llvm-exegesis that has this number; NULL: none. */
static const char *mode_of(enum pesa_compare_change kind)
{
	return kind == PESA_COMPARE_LATENCY				   ? "latency"
	       : kind == PESA_COMPARE_CYCLES || kind == PESA_COMPARE_ISSUE ? "inverse_throughput"
									   : NULL;
}

/* LLVM's name of a register; f0 has several, by size. */
static void write_register(const struct pesa_opcode *opcode, int64_t number, FILE *out)
{
	size_t length = strlen(opcode->name);
	char size = length > 2 && opcode->name[length - 2] == '_' ? opcode->name[length - 1] : 'D';

	if (number < PESA_REGISTER_F0)
		fprintf(out, " X%" PRId64, number);
	else if (number < PESA_REGISTER_V0)
		fprintf(out, " F%" PRId64 "_%c", number - PESA_REGISTER_F0,
			size == 'S'   ? 'F'
			: size == 'H' ? 'H'
				      : 'D');
}

static void write_instruction(const struct pesa_insn *insn, FILE *out)
{
	const struct pesa_opcode *opcode = pesa_opcode_get(insn->opcode);

	fprintf(out, "%s", opcode->name);
	for (unsigned int i = 0; i < insn->operands; i++) {
		const struct pesa_operand *operand = &insn->operand[i];

		if (operand->kind == PESA_OPERAND_REGISTER)
			write_register(opcode, operand->value, out);
		else
			fprintf(out, " i_0x%" PRIx64, (uint64_t)operand->value);
	}
}

/* An instruction with this opcode: the first one in the hottest region that has any. */
static const struct pesa_insn *find_instruction(const struct comparison *comparison,
						const char *opcode)
{
	for (size_t i = 0; i < pesa_compare_region_count(comparison->compare); i++) {
		const struct pesa_compare_region *region =
			pesa_compare_region(comparison->compare, i);

		for (size_t j = 0; j < region->count; j++) {
			const struct pesa_compare_instruction *one =
				pesa_compare_instruction(comparison->compare, region, j);

			if (!strcmp(pesa_opcode_get(one->insn.opcode)->name, opcode))
				return &one->insn;
		}
	}
	return NULL;
}

static void write_benchmark(const struct comparison *comparison, const struct pesa_insn *insn,
			    const char *mode, double value, FILE *out)
{
	const char *isa = comparison->processor->isa;

	fprintf(out, "---\nmode:            %s\nkey:\n  instructions:\n    - '", mode);
	write_instruction(insn, out);
	fprintf(out,
		"'\n  config:          ''\n  register_initial_values: []\n"
		"cpu_name:        %s\nllvm_triple:     %s-unknown-linux-gnu\n"
		"min_instructions: 1\nmeasurements:\n"
		"  - { key: %s, value: %.2f, per_snippet_value: %.2f, validation_counters: {} }\n"
		"error:           ''\ninfo:            'pesa compare'\nassembled_snippet: ",
		comparison->processor->name,
		isa && !strncmp(isa, "rv32", 4) ? "riscv32" : "riscv64", mode, value, value);
	for (unsigned int i = 0; i < insn->length; i++)
		fprintf(out, "%02X", (unsigned int)(insn->bits >> (8 * i)) & 0xff);
	fputs("\n...\n", out);
}

struct pesa_error *compare_write_exegesis(const struct comparison *comparison, FILE *out,
					  size_t *count)
{
	*count = 0;
	for (unsigned int i = 0; i < pesa_compare_finding_count(comparison->compare); i++) {
		const char *mode = mode_of(pesa_compare_finding(comparison->compare, i)->kind);

		for (unsigned int j = 0;
		     mode && j < pesa_compare_opcode_count(comparison->compare, i); j++) {
			const struct pesa_compare_opcode *opcode =
				pesa_compare_opcode(comparison->compare, i, j);
			const struct pesa_insn *insn =
				opcode->estimate.enough ? find_instruction(comparison, opcode->name)
							: NULL;
			bool vector = opcode->write && strstr(opcode->write, "WriteV");

			/* llvm-exegesis has a pseudo-instruction of a vector instruction for each
			 * LMUL. */
			if (insn && vector)
				profile_complain("compare",
						 "%s is left out: llvm-exegesis knows vector "
						 "instructions by other names",
						 opcode->name);
			if (!insn || vector)
				continue;
			write_benchmark(comparison, insn, mode, opcode->estimate.value, out);
			++*count;
		}
	}
	return NULL;
}
