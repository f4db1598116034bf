/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assembling arbitrary lines.  The first byte chooses the instruction set; the rest is lines.  What
 * is taken must decode as what it was made for, and what it is printed as must be taken and mean
 * the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pesa/assemble.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const strings[] = {
	"rv64",
	"rv32",
	"rv64i",
	"rv32e_c_zcmp_zcmt",
	"rv64ima_zfinx_zdinx_zhinx_zcmp",
	"rv64gcv_xtheadmemidx_xtheadmempair_xtheadbb_xandesperf_xsfvcp_xsfmmbase_xsfmm32a32f",
	"rv32imac_zba_zbb_zbs_xqci_xqccmp",
	"rv32imac_xcvmem_xcvsimd_xcvbi_xcvmac_xwchc",
};

#define SETS (sizeof(strings) / sizeof(*strings))

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void check_decoded(const struct pesa_isa *isa, const struct pesa_insn *insn)
{
	struct pesa_insn decoded;
	uint8_t bytes[8];

	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = insn->bits >> i * 8;
	check(pesa_insn_decode(isa, bytes, insn->length, &decoded) == insn->length);
	check(decoded.opcode == insn->opcode && decoded.bits == insn->bits);
}

static void check_symbol(const struct pesa_isa *isa, const struct pesa_assembly *assembly,
			 const char *line, size_t length)
{
	struct pesa_insn insn = assembly->insn[0];

	if (assembly->use == PESA_SYMBOL_NONE) {
		check(!assembly->symbol);
		return;
	}
	check(assembly->symbol >= line && assembly->symbol_length > 0 &&
	      assembly->symbol + assembly->symbol_length <= line + length);
	if (assembly->use != PESA_SYMBOL_TARGET)
		return;
	check(pesa_assembly_set_target(isa, &insn, -64));
	check_decoded(isa, &insn);
	check(!pesa_assembly_set_target(isa, &insn, 1));
}

/* What it is printed as is the same instruction. */
static void check_printed(const struct pesa_isa *isa, const struct pesa_assembly *assembly)
{
	struct pesa_assembly again;
	char text[256];
	size_t length;

	if (assembly->use != PESA_SYMBOL_NONE)
		return;
	for (unsigned int i = 0; i < assembly->count; i++) {
		length = pesa_insn_print(isa, &assembly->insn[i], 0, 0, text, sizeof(text));
		check(length < sizeof(text) && pesa_assemble(isa, text, length, &again));
		check(again.count == 1 && again.insn[0].bits == assembly->insn[i].bits);
	}
}

static void try_line(const struct pesa_isa *isa, const char *text, size_t length)
{
	struct pesa_assembly assembly;
	char *line = malloc(length + 1); /* so that reading beyond its end is seen */

	check(line != NULL);
	memcpy(line, text, length);
	line = realloc(line, length ? length : 1);
	check(line != NULL);
	if (pesa_assemble(isa, line, length, &assembly)) {
		check(assembly.count == 1 || assembly.count == 2);
		for (unsigned int i = 0; i < assembly.count; i++)
			check_decoded(isa, &assembly.insn[i]);
		check_symbol(isa, &assembly, line, length);
		check_printed(isa, &assembly);
	}
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pesa_isa *sets[SETS];
	const struct pesa_isa *isa;
	const char *text = (const char *)data + 1;

	if (!size)
		return 0;
	for (size_t i = 0; i < SETS && !sets[SETS - 1]; i++)
		check(!pesa_isa_create(strings[i], &sets[i]));
	isa = sets[data[0] % SETS];
	for (size_t rest = size - 1; rest;) {
		const char *end = memchr(text, '\n', rest);
		size_t length = end ? (size_t)(end - text) : rest;

		try_line(isa, text, length);
		length += end != NULL;
		text += length;
		rest -= length;
	}
	return 0;
}
