/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arbitrary text as a processor model; one that is accepted must also run a block. */
#include <stdlib.h>
#include <string.h>

#include "pesa/mca.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run_block(const struct pesa_mca_model *model)
{
	static const uint32_t code[] = {
		0x00c58533, /* add a0, a1, a2 */
		0x0005b503, /* ld a0, 0(a1) */
		0x00a5b023, /* sd a0, 0(a1) */
		0x02c50533, /* mul a0, a0, a2 */
	};
	const struct pesa_mca_run_options options = {.iterations = 3};
	const struct pesa_mca_block_options block_options = {.skip_unsupported = true};
	struct pesa_mca_instruction instructions[4] = {0};
	struct pesa_mca_block *block;
	struct pesa_error *error;
	struct pesa_isa *isa;
	uint64_t cycles;

	if (pesa_isa_create("rv64gc", &isa))
		abort();
	for (unsigned int i = 0; i < 4; i++) {
		instructions[i].latency = -1;
		if (!pesa_insn_decode(isa, &code[i], 4, &instructions[i].insn))
			abort();
	}
	error = pesa_mca_block_create(model, instructions, 4, &block_options, &block);
	if (!error) {
		for (unsigned int i = 0; i < pesa_mca_block_count(block); i++) {
			struct pesa_mca_information information;

			pesa_mca_block_information(block, i, &information);
		}
		if (pesa_mca_block_count(block))
			error = pesa_mca_run(block, &options, NULL, 0, &cycles);
		pesa_mca_block_free(block);
	}
	pesa_error_free(error);
	pesa_isa_free(isa);
}

/* Change it, in a variation and in itself; what does not apply is an error. */
static void change(struct pesa_mca_model *model)
{
	static const char *const changes[] = {"add.latency=7", "ld.uops=2", "WriteA.latency=3",
					      "ReadA.advance=-1", "mul.ALU=4"};
	struct pesa_mca_model *variation, *second;

	if (pesa_mca_model_vary(model, &variation))
		abort();
	for (unsigned int i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		pesa_error_free(pesa_mca_model_change(variation, changes[i], NULL));
		pesa_error_free(pesa_mca_model_change(model, changes[i], NULL));
	}
	if (pesa_mca_model_vary(variation, &second))
		abort();
	run_block(second);
	pesa_mca_model_free(second);
	run_block(variation);
	pesa_mca_model_free(variation);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pesa_mca_model *model;
	struct pesa_error *error;
	static const char last[] = "\nend\n";
	char text[65536 + sizeof(last)];

	if (size > 65536)
		return 0;
	/* What the input has no last line for gets one: few inputs would be accepted without. */
	memcpy(text, data, size);
	memcpy(text + size, last, sizeof(last) - 1);
	error = pesa_mca_model_parse("fuzz", text, size + sizeof(last) - 1, &model);
	if (error) {
		pesa_error_free(error);
		return 0;
	}
	run_block(model);
	change(model);
	run_block(model);
	pesa_mca_model_free(model);
	return 0;
}
