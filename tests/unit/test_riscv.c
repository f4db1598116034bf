/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions: what decoding, registers, control flow, printing and ISA strings promise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "decoder/riscv/tables.h"
#include "pesa/riscv.h"

static struct pesa_isa *rv64, *rv32;

static int setup(void **state)
{
	(void)state;
	assert_null(pesa_isa_create("rv64gcv_zba_zbb_zfa", &rv64));
	assert_null(pesa_isa_create("rv32gc", &rv32));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pesa_isa_free(rv64);
	pesa_isa_free(rv32);
	return 0;
}

static struct pesa_insn decode(const struct pesa_isa *isa, uint64_t bits)
{
	struct pesa_insn insn = {0};
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = bits >> i * 8;
	assert_int_equal(pesa_insn_decode(isa, bytes, sizeof(bytes), &insn),
			 pesa_insn_length(bits));
	return insn;
}

static void assert_text(const struct pesa_isa *isa, uint64_t bits, uint64_t pc, unsigned int flags,
			const char *expected)
{
	struct pesa_insn insn = decode(isa, bits);
	char text[128];

	assert_int_equal(pesa_insn_print(isa, &insn, pc, flags, text, sizeof(text)),
			 strlen(expected));
	assert_string_equal(text, expected);
}

static void length_is_in_the_lowest_bits(void **state)
{
	(void)state;
	assert_int_equal(pesa_insn_length(0x0001), 2); /* bits 1..0 are not 11 */
	assert_int_equal(pesa_insn_length(0x0013), 4); /* bits 4..2 are not 111 */
	assert_int_equal(pesa_insn_length(0x001f), 6); /* 011111 */
	assert_int_equal(pesa_insn_length(0x003f), 8); /* 0111111 */
	assert_int_equal(pesa_insn_length(0x007f), 0); /* longer, and reserved */
}

static void operands_come_in_order_outputs_first(void **state)
{
	struct pesa_insn insn = decode(rv64, 0xff010113); /* addi sp, sp, -16 */

	(void)state;
	assert_string_equal(pesa_opcode_get(insn.opcode)->name, "ADDI");
	assert_int_equal(insn.opcode, pesa_opcode_find("ADDI"));
	assert_int_equal(insn.operands, 3);
	assert_true(insn.operand[0].output);
	assert_int_equal(insn.operand[0].kind, PESA_OPERAND_REGISTER);
	assert_int_equal(insn.operand[0].value, 2);
	assert_false(insn.operand[1].output);
	assert_int_equal(insn.operand[1].value, 2);
	assert_int_equal(insn.operand[2].kind, PESA_OPERAND_IMMEDIATE);
	assert_int_equal(insn.operand[2].value, -16);
}

static void tied_operands_are_operands_of_their_own(void **state)
{
	struct pesa_insn insn = decode(rv64, 0x952e); /* c.add a0, a1: a0 is read and written */

	(void)state;
	assert_int_equal(insn.operands, 3);
	assert_int_equal(insn.operand[0].value, 10);
	assert_true(insn.operand[0].output);
	assert_int_equal(insn.operand[1].value, 10);
	assert_false(insn.operand[1].output);
	assert_int_equal(insn.operand[2].value, 11);
}

static void immediates_are_extended_and_scaled(void **state)
{
	(void)state;
	assert_int_equal(decode(rv64, 0xfe000ee3).operand[2].value, -4); /* beq zero, zero, -4 */
	assert_int_equal(decode(rv64, 0x800000ef).operand[1].value, -1048576); /* jal */
	assert_int_equal(decode(rv64, 0x45a2).operand[2].value, 8);	       /* lw a1, 8(sp) */
	assert_int_equal(decode(rv64, 0xfffff537).operand[1].value, 0xfffff); /* lui: the 20 bits */
	assert_int_equal(decode(rv64, 0x757d).operand[1].value, 0xfffff);     /* c.lui a0, -1 */
	assert_int_equal(decode(rv64, 0x43f55513).operand[2].value, 63);      /* srai a0, a0, 63 */
}

static void cut_off_and_invalid_code_is_no_instruction(void **state)
{
	static const uint8_t addi[] = {0x13, 0x01, 0x01, 0xff}, zeros[4], ones[8] = {0xff, 0xff};
	struct pesa_insn insn;

	(void)state;
	for (size_t size = 0; size < 4; size++)
		assert_int_equal(pesa_insn_decode(rv64, addi, size, &insn), 0);
	assert_int_equal(pesa_insn_decode(rv64, addi, 4, &insn), 4);
	assert_int_equal(pesa_insn_decode(rv64, ones, sizeof(ones), &insn), 0);
	/* All zeros is defined to be invalid and has a name: unimp. */
	assert_int_equal(pesa_insn_decode(rv64, zeros, sizeof(zeros), &insn), 2);
	assert_int_equal(pesa_insn_flow(&insn), PESA_FLOW_TRAP);
}

static void shift_amounts_depend_on_the_register_width(void **state)
{
	static const uint8_t slli_32[] = {0x13, 0x15, 0x05, 0x02}; /* slli a0, a0, 32 */
	struct pesa_insn insn;

	(void)state;
	assert_int_equal(pesa_insn_decode(rv64, slli_32, 4, &insn), 4);
	assert_int_equal(pesa_insn_decode(rv32, slli_32, 4, &insn), 0);
}

static void the_same_bits_mean_what_the_extensions_say(void **state)
{
	struct pesa_isa *zcmp, *rv64c;

	(void)state;
	assert_null(pesa_isa_create("rv64ima_zca_zcmp", &zcmp));
	assert_null(pesa_isa_create("rv64imafdc", &rv64c));
	assert_text(zcmp, 0xb852, 0, 0, "cm.push\t{ra, s0}, -16");
	assert_text(rv64c, 0xb852, 0, 0, "fsd\tfs4, 48(sp)");
	assert_text(rv32, 0x2001, 0, PESA_PRINT_NO_ALIASES, "c.jal\t0");
	assert_text(rv64c, 0x2505, 0, PESA_PRINT_NO_ALIASES, "c.addiw\ta0, 1");
	pesa_isa_free(zcmp);
	pesa_isa_free(rv64c);
}

static bool list_has(const struct pesa_register_list *list, unsigned int number)
{
	for (unsigned int i = 0; i < list->count; i++)
		if (list->registers[i] == number)
			return true;
	return false;
}

static void registers_include_implicit_ones_and_leave_out_zero(void **state)
{
	struct pesa_register_list defs, uses;
	struct pesa_insn insn = decode(rv64, 0x022180d7); /* vadd.vv v1, v2, v3 */

	(void)state;
	pesa_insn_registers(&insn, &defs, &uses);
	assert_int_equal(defs.count, 1);
	assert_true(list_has(&defs, PESA_REGISTER_V0 + 1));
	assert_int_equal(uses.count, 4);
	assert_true(list_has(&uses, PESA_REGISTER_V0 + 2));
	assert_true(list_has(&uses, PESA_REGISTER_V0 + 3));
	assert_true(list_has(&uses, PESA_REGISTER_VL));
	assert_true(list_has(&uses, PESA_REGISTER_VTYPE));

	insn = decode(rv64, 0x00000013); /* nop */
	pesa_insn_registers(&insn, &defs, &uses);
	assert_int_equal(defs.count, 0);
	assert_int_equal(uses.count, 0);

	insn = decode(rv64, 0x0c0572d7); /* vsetvli t0, a0, e8, m1, ta, ma */
	pesa_insn_registers(&insn, &defs, &uses);
	assert_true(list_has(&defs, 5));
	assert_true(list_has(&defs, PESA_REGISTER_VL));
	assert_true(list_has(&defs, PESA_REGISTER_VTYPE));
	assert_true(list_has(&uses, 10));
}

static void masked_vector_instructions_read_v0(void **state)
{
	struct pesa_register_list defs, uses;
	struct pesa_insn insn = decode(rv64, 0x002180d7); /* vadd.vv v1, v2, v3, v0.t */

	(void)state;
	pesa_insn_registers(&insn, &defs, &uses);
	assert_true(list_has(&uses, PESA_REGISTER_V0));
	insn = decode(rv64, 0x022180d7);
	pesa_insn_registers(&insn, &defs, &uses);
	assert_false(list_has(&uses, PESA_REGISTER_V0));
}

static void groups_and_pairs_are_all_their_registers(void **state)
{
	struct pesa_register_list defs, uses;
	struct pesa_insn insn = decode(rv64, 0xe2850407); /* vl8re8.v v8, (a0) */
	struct pesa_isa *zdinx;

	(void)state;
	pesa_insn_registers(&insn, &defs, &uses);
	assert_int_equal(defs.count, 8);
	for (unsigned int i = 0; i < 8; i++)
		assert_true(list_has(&defs, PESA_REGISTER_V0 + 8 + i));

	assert_null(pesa_isa_create("rv32i_zdinx", &zdinx));
	insn = decode(zdinx,
		      0x02c50053); /* fadd.d x0, x10, x12: the pair of x0 is zero, x1 untouched */
	pesa_insn_registers(&insn, &defs, &uses);
	assert_int_equal(defs.count, 0);
	assert_int_equal(uses.count, 4);
	assert_true(list_has(&uses, 11));
	assert_true(list_has(&uses, 13));
	pesa_isa_free(zdinx);
}

static void flow_follows_the_link_register_rules(void **state)
{
	/* jalr rd, rs1: the table of return-address-stack hints in the unprivileged specification.
	 */
	static const struct {
		unsigned int rd, rs1;
		enum pesa_flow flow;
	} hints[] = {
		{0, 10, PESA_FLOW_INDIRECT},	  {0, 1, PESA_FLOW_RETURN},
		{0, 5, PESA_FLOW_RETURN},	  {1, 10, PESA_FLOW_INDIRECT_CALL},
		{5, 10, PESA_FLOW_INDIRECT_CALL}, {1, 5, PESA_FLOW_COROUTINE},
		{5, 1, PESA_FLOW_COROUTINE},	  {1, 1, PESA_FLOW_INDIRECT_CALL},
		{5, 5, PESA_FLOW_INDIRECT_CALL},  {10, 1, PESA_FLOW_RETURN},
	};
	struct pesa_insn insn;

	(void)state;
	for (size_t i = 0; i < sizeof(hints) / sizeof(*hints); i++) {
		insn = decode(rv64, 0x67 | hints[i].rd << 7 | hints[i].rs1 << 15);
		assert_int_equal(pesa_insn_flow(&insn), hints[i].flow);
	}
	insn = decode(rv64, 0x008000ef); /* jal ra, 8 */
	assert_int_equal(pesa_insn_flow(&insn), PESA_FLOW_CALL);
	insn = decode(rv64, 0x0080006f); /* j 8 */
	assert_int_equal(pesa_insn_flow(&insn), PESA_FLOW_JUMP);
	insn = decode(rv64, 0xa001); /* c.j 0 */
	assert_int_equal(pesa_insn_flow(&insn), PESA_FLOW_JUMP);
	insn = decode(rv32, 0x2001); /* c.jal 0 */
	assert_int_equal(pesa_insn_flow(&insn), PESA_FLOW_CALL);
	insn = decode(rv64, 0x8082); /* c.jr ra */
	assert_int_equal(pesa_insn_flow(&insn), PESA_FLOW_RETURN);
	insn = decode(rv64, 0x9502); /* c.jalr a0 */
	assert_int_equal(pesa_insn_flow(&insn), PESA_FLOW_INDIRECT_CALL);
	insn = decode(rv64, 0xc119); /* c.beqz a0, 6 */
	assert_int_equal(pesa_insn_flow(&insn), PESA_FLOW_BRANCH);
	insn = decode(rv64, 0x00000073); /* ecall */
	assert_int_equal(pesa_insn_flow(&insn), PESA_FLOW_TRAP);
	insn = decode(rv64, 0x30200073); /* mret */
	assert_int_equal(pesa_insn_flow(&insn), PESA_FLOW_TRAP);
	insn = decode(rv64, 0x10500073); /* wfi stays where it is */
	assert_int_equal(pesa_insn_flow(&insn), PESA_FLOW_NEXT);
}

static void every_opcode_has_a_flow_that_fits_its_properties(void **state)
{
	(void)state;
	for (unsigned int id = 0; id < pesa_opcode_count(); id++) {
		const struct pesa_opcode *opcode = pesa_opcode_get(id);
		uint32_t jump = PESA_OPCODE_BRANCH | PESA_OPCODE_CALL;

		assert_true(opcode->length == 2 || opcode->length == 4 || opcode->length == 6);
		assert_int_equal(pesa_opcode_find(opcode->name), id);
		assert_int_equal(pesa_insn_length(riscv_opcodes[id].match), opcode->length);
		assert_int_equal(riscv_opcodes[id].match & ~riscv_opcodes[id].mask, 0);
		assert_in_range(riscv_opcodes[id].operands, 0, PESA_OPERANDS_MAX);
		if (opcode->properties & (PESA_OPCODE_CONDITIONAL | PESA_OPCODE_INDIRECT))
			assert_true(opcode->properties & jump);
		if (opcode->length == 2)
			assert_true(opcode->properties & PESA_OPCODE_COMPRESSED);
	}
	assert_int_equal(pesa_opcode_find("NO_SUCH_OPCODE"), -1);
	assert_int_equal(pesa_opcode_find(""), -1);
}

static void targets_are_relative_to_the_instruction(void **state)
{
	struct pesa_insn insn = decode(rv64, 0xfe000ee3); /* beq zero, zero, -4 */
	uint64_t target = 1;

	(void)state;
	assert_true(pesa_insn_target(&insn, 0x10000, &target));
	assert_int_equal(target, 0xfffc);
	insn = decode(rv64, 0x8082);
	assert_false(pesa_insn_target(&insn, 0x10000, &target));
	assert_int_equal(target, 0xfffc);
}

static void printing_follows_the_flags(void **state)
{
	(void)state;
	assert_text(rv64, 0x8082, 0, 0, "ret");
	assert_text(rv64, 0x8082, 0, PESA_PRINT_NO_ALIASES, "c.jr\tra");
	assert_text(rv64, 0x8082, 0, PESA_PRINT_NO_ALIASES | PESA_PRINT_NUMERIC, "c.jr\tx1");
	assert_text(rv64, 0xfe000ee3, 0x10000, 0, "beqz\tzero, -4");
	assert_text(rv64, 0xfe000ee3, 0x10000, PESA_PRINT_ADDRESSES, "beqz\tzero, 0xfffc");
	assert_text(rv32, 0xfe000ee3, 0, PESA_PRINT_ADDRESSES, "beqz\tzero, 0xfffffffc");
	assert_text(rv64, 0x0c0572d7, 0, 0, "vsetvli\tt0, a0, e8, m1, ta, ma");
	assert_text(rv64, 0x0330000f, 0, 0, "fence\trw, rw");
	assert_text(rv64, 0xc0002573, 0, 0, "rdcycle\ta0");
}

static void a_full_buffer_is_terminated_and_the_whole_length_told(void **state)
{
	struct pesa_insn insn = decode(rv64, 0xff010113);
	static const char whole[] = "addi\tsp, sp, -16";

	(void)state;
	for (size_t size = 0; size <= sizeof(whole); size++) {
		char text[sizeof(whole) + 1];

		memset(text, '#', sizeof(text));
		assert_int_equal(pesa_insn_print(rv64, &insn, 0, 0, text, size), sizeof(whole) - 1);
		assert_int_equal(text[size], '#');
		if (size) {
			assert_int_equal(strlen(text),
					 size < sizeof(whole) ? size - 1 : sizeof(whole) - 1);
			assert_memory_equal(text, whole, strlen(text));
		}
	}
}

static void isa_strings_name_extensions_with_or_without_versions(void **state)
{
	static const char *const good[] = {
		"rv64",
		"rv32",
		"rv64i",
		"rv32e",
		"RV64GC",
		"rv64gc_zba_zbb",
		"rv64gczba_zbb",
		"rv64i2p1_m2p0_a2p1_f2p2_d2p2_c2p0_zicsr2p0_zifencei2p0_zmmul1p0",
		"rva20u64",
		"rvi20u32",
		"rva23s64_zvkng_xtheadba",
		"RVA22U64",
		"rv64i2p1m2a2p0_zba1_zvl128b1p0_zve32x1p0_zca1p0",
		"rv64gc_xtheadba1p0",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		struct pesa_isa *isa = NULL;
		struct pesa_error *error = pesa_isa_create(good[i], &isa);

		if (error)
			fail_msg("%s", error->message);
		assert_int_equal(
			pesa_isa_xlen(isa),
			strstr(good[i], "32") == good[i] + 2 || strstr(good[i], "u32") ? 32 : 64);
		pesa_isa_free(isa);
	}
}

static void an_isa_string_that_is_wrong_is_an_error_that_names_what(void **state)
{
	static const struct {
		const char *string, *message;
	} bad[] = {
		{"", "must start with rv32 or rv64"},
		{"x86-64", "must start with rv32 or rv64"},
		{"rv128i", "must start with rv32 or rv64"},
		{"rv64mc", "the base"},
		{"rv64gc_zfoo", "'zfoo'"},
		{"rv64gc_zba_xnobody1p0", "'xnobody1p0'"},
		{"rv64gcy", "'y'"},
		{"rv64gc_64bit", "'64bit'"},
		{"rv64gc_", NULL},
		{"rv64gc_zb", "'zb'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct pesa_isa *isa = NULL;
		struct pesa_error *error = pesa_isa_create(bad[i].string, &isa);
		struct pesa_error *checked = pesa_isa_check(bad[i].string);

		assert_int_equal(!checked, !error);
		if (checked)
			assert_string_equal(checked->message, error->message);
		pesa_error_free(checked);
		if (!bad[i].message) {
			assert_null(error);
			pesa_isa_free(isa);
			continue;
		}
		assert_non_null(error);
		assert_null(isa);
		assert_int_equal(error->code, PESA_ERROR_ARGUMENT);
		assert_non_null(strstr(error->message, bad[i].message));
		pesa_error_free(error);
	}
	pesa_isa_free(NULL);
}

static void extensions_bring_what_they_imply(void **state)
{
	struct pesa_isa *v;

	(void)state;
	assert_null(pesa_isa_create("rv64iv", &v)); /* v implies zve64d, so d and f */
	assert_text(v, 0x02c58553, 0, 0, "fadd.d\tfa0, fa1, fa2, rne");
	pesa_isa_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(length_is_in_the_lowest_bits),
		cmocka_unit_test(operands_come_in_order_outputs_first),
		cmocka_unit_test(tied_operands_are_operands_of_their_own),
		cmocka_unit_test(immediates_are_extended_and_scaled),
		cmocka_unit_test(cut_off_and_invalid_code_is_no_instruction),
		cmocka_unit_test(shift_amounts_depend_on_the_register_width),
		cmocka_unit_test(the_same_bits_mean_what_the_extensions_say),
		cmocka_unit_test(registers_include_implicit_ones_and_leave_out_zero),
		cmocka_unit_test(masked_vector_instructions_read_v0),
		cmocka_unit_test(groups_and_pairs_are_all_their_registers),
		cmocka_unit_test(flow_follows_the_link_register_rules),
		cmocka_unit_test(every_opcode_has_a_flow_that_fits_its_properties),
		cmocka_unit_test(targets_are_relative_to_the_instruction),
		cmocka_unit_test(printing_follows_the_flags),
		cmocka_unit_test(a_full_buffer_is_terminated_and_the_whole_length_told),
		cmocka_unit_test(isa_strings_name_extensions_with_or_without_versions),
		cmocka_unit_test(an_isa_string_that_is_wrong_is_an_error_that_names_what),
		cmocka_unit_test(extensions_bring_what_they_imply),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
