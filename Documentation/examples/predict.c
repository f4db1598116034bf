/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a processor model predicts for a block of assembly: cycles of an iteration.
 *
 *   cc predict.c $(pkg-config --cflags --libs libpesa) -o predict
 *   printf 'mul a0, a0, a1\nadd a2, a2, a0\n' | ./predict sifive-p670
 */
#include <inttypes.h>
#include <pesa/assemble.h>
#include <pesa/mca.h>
#include <stdio.h>
#include <string.h>

#define INSTRUCTIONS_MAX 1000
#define ITERATIONS	 100

/* Standard input, a line an instruction; a comment begins with #. */
static struct pesa_error *read_block(const struct pesa_isa *isa, struct pesa_mca_instruction *block,
				     unsigned int *count)
{
	char line[256];

	for (unsigned int number = 1; fgets(line, sizeof(line), stdin); number++) {
		struct pesa_assembly assembly;
		size_t length;

		line[strcspn(line, "#\n")] = 0;
		length = strlen(line);
		if (strspn(line, " \t") == length)
			continue;
		if (!pesa_assemble(isa, line, length, &assembly))
			return pesa_error_create(PESA_ERROR_FORMAT, "line %u: not understood: %s",
						 number, line);
		for (unsigned int i = 0; i < assembly.count; i++) {
			if (*count == INSTRUCTIONS_MAX)
				return pesa_error_create(PESA_ERROR_ARGUMENT,
							 "more than %d instructions",
							 INSTRUCTIONS_MAX);
			block[(*count)++] = (struct pesa_mca_instruction){
				.insn = assembly.insn[i], .latency = -1 /* the model's */};
		}
	}
	return *count ? NULL : pesa_error_create(PESA_ERROR_ARGUMENT, "no instructions");
}

static struct pesa_error *predict(const struct pesa_mca_model *model, const char *processor)
{
	static struct pesa_mca_instruction instructions[INSTRUCTIONS_MAX];
	const struct pesa_mca_processor *facts = pesa_mca_model_processor(model, processor);
	const struct pesa_mca_block_options options = {.processor = processor};
	const struct pesa_mca_run_options run = {.iterations = ITERATIONS};
	struct pesa_mca_block *block = NULL;
	struct pesa_isa *isa = NULL;
	struct pesa_error *error;
	unsigned int count = 0;
	uint64_t cycles;

	error = pesa_isa_create(facts && facts->isa ? facts->isa : "rv64", &isa);
	if (!error)
		error = read_block(isa, instructions, &count);
	if (!error)
		error = pesa_mca_block_create(model, instructions, count, &options, &block);
	if (!error)
		error = pesa_mca_run(block, &run, NULL, 0, &cycles);
	if (!error)
		printf("%" PRIu64
		       " cycles for %d iterations of %u instructions: %.2f an iteration\n",
		       cycles, ITERATIONS, count, (double)cycles / ITERATIONS);
	pesa_mca_block_free(block);
	pesa_isa_free(isa);
	return error;
}

int main(int argc, char **argv)
{
	const char *processor = argc > 1 ? argv[1] : "sifive-p670";
	struct pesa_mca_model *model = NULL;
	struct pesa_error *error;
	int status = 0;

	error = pesa_mca_model_builtin(processor, &model);
	if (!error)
		error = predict(model, processor);
	if (error) {
		fprintf(stderr, "predict: %s\n", error->message);
		status = 1;
	}
	pesa_error_free(error);
	pesa_mca_model_free(model);
	return status;
}
