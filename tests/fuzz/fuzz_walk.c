/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any record, branch stack and text: the walk must give away exactly one cycle, on instructions
 * that it was shown. Input: struct pesa_record, one byte: branch entries, the entries, text.
 */
#include <stdlib.h>
#include <string.h>

#include "pesa/riscv.h"
#include "pesa/walk.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE 0x10000

struct input_text {
	const uint8_t *bytes;
	size_t size;
	unsigned int xlen;
};

static struct pesa_isa *isas[2];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (pesa_isa_create("rv32", &isas[0]) || pesa_isa_create("rv64", &isas[1]))
		abort();
	return 0;
}

static enum pesa_text_status read_insn(void *context, uint64_t address, struct pesa_text_insn *read)
{
	const struct input_text *text = context;
	struct pesa_insn insn;
	unsigned int length;

	if (address < BASE || address - BASE >= text->size)
		return address & 0x800 ? PESA_TEXT_MISSING : PESA_TEXT_UNMAPPED;
	length = pesa_insn_decode(isas[text->xlen == 64], text->bytes + (address - BASE),
				  text->size - (address - BASE), &insn);
	if (!length)
		return PESA_TEXT_UNDECODABLE;
	*read = (struct pesa_text_insn){.length = (uint8_t)length,
					.flow = (uint8_t)pesa_insn_flow(&insn)};
	read->has_target = pesa_insn_target(&insn, address, &read->target);
	return PESA_TEXT_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pesa_branch_entry branches[255];
	struct pesa_walk_result result;
	struct pesa_record record;
	struct pesa_error *error = pesa_record_read(data, size, &record);
	struct input_text input;
	struct pesa_text text = {read_insn, &input};
	size_t at = PESA_RECORD_SIZE, count;
	uint64_t total = 0;

	if (error) {
		pesa_error_free(error);
		return 0;
	}
	count = size > at ? data[at++] : 0;
	if (count > (size - at) / sizeof(*branches))
		count = (size - at) / sizeof(*branches);
	memcpy(branches, data + at, count * sizeof(*branches));
	at += count * sizeof(*branches);
	input = (struct input_text){data + at, size - at, record.xlen};
	memset(&result, 0xa5, sizeof(result));
	pesa_walk(&record, &text, branches, count, &result);
	if (result.step_count > PESA_WALK_STEPS_MAX ||
	    result.transfer_count > sizeof(result.transfer) / sizeof(*result.transfer))
		abort();
	for (unsigned int i = 0; i < result.step_count; i++) {
		total += result.step[i].weight;
		if (result.step[i].state > PESA_STATE_UNKNOWN ||
		    result.step[i].role > PESA_ROLE_PLAIN || result.step[i].cause > 0x3ff)
			abort();
	}
	for (unsigned int i = 0; i < PESA_UNATTRIBUTED_REASONS; i++)
		total += result.unattributed[i];
	if (total != PESA_CYCLE)
		abort();
	return 0;
}
