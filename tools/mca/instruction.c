// SPDX-License-Identifier: GPL-2.0-or-later
/* Instructions of an assembly source, for all assemblers.  See reader.h. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/terminal_text.h"
#include "pesa/assemble.h"
#include "tools/mca/reader.h"

#define LABEL "__pesa_mca_"

void mca_marker_label(unsigned int marker, char *text)
{
	snprintf(text, 64, LABEL "%u", marker);
}

int mca_marker_of_label(const char *label)
{
	unsigned int number;

	if (strncmp(label, LABEL, strlen(LABEL)))
		return -1;
	return sscanf(label, LABEL "%u", &number) == 1 && number <= INT_MAX ? (int)number : INT_MAX;
}

struct pesa_error *mca_reader_add(struct mca_reader *reader, size_t section, uint64_t offset,
				  const struct pesa_mca_instruction *instruction, const char *text,
				  const char *comment)
{
	struct mca_source *source = reader->source;
	unsigned int count = source->count;

	if (!(count & (count - 1))) {
		size_t size = count ? 2 * (size_t)count : 1;
		void *instructions, *texts, *comments, *offsets;

		instructions = realloc(source->instructions, size * sizeof(*instruction));
		if (instructions)
			source->instructions = instructions;
		texts = realloc(source->text, size * sizeof(*source->text));
		if (texts)
			source->text = texts;
		comments = realloc(source->comment, size * sizeof(*source->comment));
		if (comments)
			source->comment = comments;
		offsets = realloc(reader->offsets, size * sizeof(*reader->offsets));
		if (offsets)
			reader->offsets = offsets;
		if (!instructions || !texts || !comments || !offsets)
			return pesa_error_no_memory();
	}
	source->instructions[count] = *instruction;
	source->text[count] = strdup(text);
	source->comment[count] = comment ? strdup(comment) : NULL;
	if (!source->text[count] || (comment && !source->comment[count])) {
		free(source->text[count]);
		free(source->comment[count]);
		return pesa_error_no_memory();
	}
	reader->offsets[count] = (uint64_t)section << 48 | offset;
	source->count++;
	return NULL;
}

void mca_name_target(char *text, size_t size, const char *label)
{
	char *last = strrchr(text, ' ');

	if (!last)
		last = strchr(text, '\t');
	if (last) {
		snprintf(last + 1, size - (last + 1 - text), "%s", label);
		terminal_text_in_place(last + 1, size - (last + 1 - text));
	}
}

void mca_clear_target(const struct pesa_isa *isa, struct pesa_insn *insn)
{
	struct pesa_insn unlinked = *insn;

	if (pesa_assembly_set_target(isa, &unlinked, 0) && unlinked.length == insn->length)
		insn->bits = unlinked.bits;
}

bool mca_fuse_call(struct pesa_mca_instruction *instruction, const struct pesa_insn *jump,
		   const char *target, char *text, size_t size)
{
	static const char *const links[] = {"zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2"};
	int64_t base, link;

	if (strcmp(pesa_opcode_get(jump->opcode)->name, "JALR"))
		return false;
	base = instruction->insn.operand[0].value;
	link = jump->operand[0].value;
	if (link == base) {
		instruction->pseudo = link == 1 ? "PseudoCALL" : "PseudoCALLReg";
		if (link == 1)
			snprintf(text, size, "call\t%s", target);
		else
			snprintf(text, size, "call\t%s, %s", links[link & 7], target);
	} else if (!link) {
		instruction->pseudo = base == 6 ? "PseudoTAIL" : "PseudoJump";
		if (base == 6)
			snprintf(text, size, "tail\t%s", target);
		else
			snprintf(text, size, "jump\t%s, %s", target, links[base & 7]);
	} else {
		return false;
	}
	/* The operands of LLVM's pseudo instruction: a register for two of them, and the target. */
	if (!strcmp(instruction->pseudo, "PseudoCALLReg") ||
	    !strcmp(instruction->pseudo, "PseudoJump")) {
		instruction->insn.operands = 2;
		instruction->insn.operand[1] =
			(struct pesa_operand){.kind = PESA_OPERAND_IMMEDIATE};
	} else {
		instruction->insn.operands = 1;
		instruction->insn.operand[0] =
			(struct pesa_operand){.kind = PESA_OPERAND_IMMEDIATE};
	}
	instruction->insn.length = 8;
	return true;
}

void mca_reader_clear(struct mca_reader *reader)
{
	for (unsigned int i = 0; i < reader->source->count; i++) {
		free(reader->source->text[i]);
		free(reader->source->comment[i]);
	}
	free(reader->source->text);
	free(reader->source->comment);
	free(reader->source->instructions);
	free(reader->offsets);
	reader->source->text = NULL;
	reader->source->comment = NULL;
	reader->source->instructions = NULL;
	reader->offsets = NULL;
	reader->source->count = 0;
}
