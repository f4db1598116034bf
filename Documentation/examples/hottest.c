/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ten instructions of a perf.data file that take the most cycles: share, address, function,
 * text.
 *
 *   cc hottest.c $(pkg-config --cflags --libs libpesa) -o hottest && ./hottest perf.data
 */
#include <inttypes.h>
#include <pesa/profile.h>
#include <pesa/riscv.h>
#include <pesa/symbols.h>
#include <stdio.h>
#include <stdlib.h>

#define SHOWN 10

static int heavier_first(const void *a, const void *b)
{
	const struct pesa_instruction *first = *(const struct pesa_instruction *const *)a;
	const struct pesa_instruction *second = *(const struct pesa_instruction *const *)b;

	return (first->weight < second->weight) - (first->weight > second->weight);
}

/* The text of an instruction; "" where it cannot be had. */
static void disassemble(const struct pesa_profile *profile,
			const struct pesa_instruction *instruction, char *text, size_t size)
{
	const char *string = pesa_profile_isa(profile, instruction->dso);
	struct pesa_error *error = NULL;
	struct pesa_isa *isa = NULL;
	struct pesa_insn insn;
	uint8_t bytes[8];
	size_t length = pesa_profile_text(profile, instruction->dso, instruction->address, bytes,
					  sizeof(bytes));

	text[0] = 0;
	if (string)
		error = pesa_isa_create(string, &isa);
	if (isa && pesa_insn_decode(isa, bytes, length, &insn))
		pesa_insn_print(isa, &insn, instruction->address, PESA_PRINT_ADDRESSES, text, size);
	pesa_isa_free(isa);
	pesa_error_free(error);
}

static struct pesa_error *print_hottest(const struct pesa_profile *profile,
					struct pesa_symbols *symbols)
{
	const double all = (double)pesa_profile_totals(profile)->weight;
	size_t count = pesa_profile_instruction_count(profile);
	const struct pesa_instruction **sorted = calloc(count + 1, sizeof(*sorted));
	struct pesa_error *error = NULL;

	if (!sorted)
		return pesa_error_no_memory();
	for (size_t i = 0; i < count; i++)
		sorted[i] = pesa_profile_instruction(profile, i);
	qsort(sorted, count, sizeof(*sorted), heavier_first);
	for (size_t i = 0; i < count && i < SHOWN; i++) {
		const struct pesa_symbol *symbol;
		char text[128];

		error = pesa_symbols_find(symbols, sorted[i]->dso, sorted[i]->address, &symbol);
		if (error)
			break;
		disassemble(profile, sorted[i], text, sizeof(text));
		printf("%.6f %" PRIx64 " %s %s\n", (double)sorted[i]->weight / all,
		       sorted[i]->address, symbol && symbol->name ? symbol->name : "-", text);
	}
	free(sorted);
	return error;
}

int main(int argc, char **argv)
{
	struct pesa_profile *profile = NULL;
	struct pesa_symbols *symbols = NULL;
	struct pesa_error *error;
	int status = 0;

	error = pesa_profile_load(argc > 1 ? argv[1] : "perf.data", NULL, &profile);
	if (!error)
		error = pesa_symbols_create(profile, NULL, &symbols);
	if (!error)
		error = print_hottest(profile, symbols);
	if (error) {
		fprintf(stderr, "hottest: %s\n", error->message);
		status = 1;
	}
	pesa_error_free(error);
	pesa_symbols_free(symbols);
	pesa_profile_free(profile);
	return status;
}
