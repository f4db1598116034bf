/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoding, printing and describing arbitrary bytes.  The first byte chooses the instruction set,
 * the second the way to print; the rest is code.  A second use of the bytes is as an ISA string.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pesa/riscv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const strings[] = {
	"rv64",
	"rv32",
	"rv32e_zcmp_zcmt",
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

static void try_isa_string(const uint8_t *data, size_t size)
{
	struct pesa_isa *isa = NULL;
	struct pesa_error *error;
	char string[64];

	if (size > sizeof(string) - 1)
		size = sizeof(string) - 1;
	memcpy(string, data, size);
	string[size] = '\0';
	error = pesa_isa_create(string, &isa);
	check(!error == !!isa);
	pesa_error_free(error);
	pesa_isa_free(isa);
}

static void describe(const struct pesa_isa *isa, const struct pesa_insn *insn, unsigned int flags)
{
	struct pesa_register_list defs, uses;
	char text[160], cut[8];
	uint64_t target;
	size_t length = pesa_insn_print(isa, insn, 0x1000, flags, text, sizeof(text));

	check(length < sizeof(text) && strlen(text) == length);
	check(pesa_insn_print(isa, insn, 0x1000, flags, cut, sizeof(cut)) == length);
	check(!strncmp(text, cut, strlen(cut)));
	pesa_insn_registers(insn, &defs, &uses);
	check(defs.count <= PESA_REGISTERS_MAX && uses.count <= PESA_REGISTERS_MAX);
	for (unsigned int i = 0; i < defs.count; i++)
		check(defs.registers[i] && defs.registers[i] < PESA_REGISTER_COUNT);
	for (unsigned int i = 0; i < uses.count; i++)
		check(uses.registers[i] && uses.registers[i] < PESA_REGISTER_COUNT);
	if (pesa_insn_target(insn, 0x1000, &target))
		check(pesa_insn_flow(insn) != PESA_FLOW_NEXT &&
		      pesa_insn_flow(insn) != PESA_FLOW_RETURN);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pesa_isa *sets[SETS];
	unsigned int flags;
	size_t set;

	if (size < 2)
		return 0;
	set = data[0] % (SETS + 1);
	flags = data[1];
	data += 2;
	size -= 2;
	if (set == SETS) {
		try_isa_string(data, size);
		return 0;
	}
	if (!sets[set])
		check(!pesa_isa_create(strings[set], &sets[set]));
	while (size >= 2) {
		struct pesa_insn insn, again;
		unsigned int length = pesa_insn_decode(sets[set], data, size, &insn);
		uint8_t *exact;

		if (!length) {
			data += 2;
			size -= 2;
			continue;
		}
		check(length == insn.length && length <= size);
		check(insn.operands <= PESA_OPERANDS_MAX && insn.opcode < pesa_opcode_count());
		/* As many bytes as the instruction has are enough, one fewer are not. */
		exact = malloc(length);
		check(exact != NULL);
		memcpy(exact, data, length);
		check(pesa_insn_decode(sets[set], exact, length, &again) == length);
		check(again.opcode == insn.opcode && again.bits == insn.bits);
		check(pesa_insn_decode(sets[set], exact, length - 1, &again) == 0);
		free(exact);
		describe(sets[set], &insn, flags);
		data += length;
		size -= length;
	}
	return 0;
}
