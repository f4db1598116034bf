// SPDX-License-Identifier: GPL-2.0-or-later
/* Loops and addresses of loads in them (decoder/advise), on code whose answers are plain to see. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decoder/advise/values.h"
#include "pesa/assemble.h"

#define BLOCKS_MAX	 8
#define INSTRUCTIONS_MAX 64

/* A block: its instructions, without the transfer at its end; and where that leads, from 1 on; 0:
 * nowhere. */
struct piece {
	const char *text;
	unsigned int to[2];
	double executions;
	bool calls;
};

static struct pesa_isa *isa;
static struct advise_code code;

static void assemble(const char *text, struct advise_block *block)
{
	while (*text) {
		size_t length = strcspn(text, "\n");
		struct pesa_assembly assembly;
		struct advise_instruction *one = &code.instruction[code.instructions];

		assert_true(code.instructions < INSTRUCTIONS_MAX);
		if (!pesa_assemble(isa, text, length, &assembly))
			fail_msg("%s", text);
		*one = (struct advise_instruction){.address = 4 * code.instructions,
						   .insn = assembly.insn[0],
						   .decoded = true};
		code.instructions++;
		block->count++;
		text += length + (text[length] == '\n');
	}
}

static void make(const struct piece *piece, uint32_t count)
{
	code = (struct advise_code){.instruction =
					    calloc(INSTRUCTIONS_MAX, sizeof(*code.instruction)),
				    .block = calloc(BLOCKS_MAX, sizeof(*code.block)),
				    .edge = calloc(2 * (size_t)BLOCKS_MAX, sizeof(*code.edge)),
				    .blocks = count};
	for (uint32_t i = 0; i < count; i++) {
		struct advise_block *block = &code.block[i];

		*block = (struct advise_block){.first = code.instructions,
					       .executions = piece[i].executions,
					       .calls = piece[i].calls,
					       .entered = !i,
					       .first_edge = code.edges,
					       .loop = ADVISE_NONE};
		assemble(piece[i].text, block);
		for (unsigned int j = 0; j < 2; j++)
			if (piece[i].to[j]) {
				code.edge[code.edges++] =
					(struct advise_edge){.from = i,
							     .to = piece[i].to[j] - 1,
							     .taken = j,
							     .executions = piece[i].executions / 2};
				block->edges++;
			}
	}
	assert_null(advise_code_link(&code));
}

/* How the load gets its address, of a loop of one block. */
static struct advise_address_of of_loop(const char *text, const char *load)
{
	const struct piece pieces[] = {{"li a0, 0", {2, 0}, 1, false},
				       {text, {3, 2}, 100, false},
				       {"ret", {0, 0}, 1, false}};
	struct advise_address_of result = {.kind = PESA_ADVICE_UNKNOWN};
	const char *line = strstr(text, load);
	uint32_t number = 0;

	assert_non_null(line);
	for (const char *at = text; at < line; at++)
		number += *at == '\n';
	make(pieces, 3);
	assert_int_equal(code.loops, 1);
	result = advise_address_of(&code, 1, code.block[1].first + number);
	advise_code_free(&code);
	return result;
}

static void a_pointer_that_moves_has_a_stride(void **state)
{
	struct advise_address_of found =
		of_loop("ld a1, 8(a0)\nadd a2, a2, a1\naddi a0, a0, 64", "ld a1");

	(void)state;
	assert_int_equal(found.kind, PESA_ADVICE_STRIDE);
	assert_int_equal(found.stride, 64);
}

static void an_index_has_the_stride_of_its_scale(void **state)
{
	/* a[i] of 4 bytes; i is unsigned and has 32 bits */
	struct advise_address_of found =
		of_loop("slli a3, a1, 32\nsrli a3, a3, 30\nadd a4, a0, a3\nlw a5, 0(a4)\naddiw a1, "
			"a1, 3",
			"lw a5");

	(void)state;
	assert_int_equal(found.kind, PESA_ADVICE_STRIDE);
	assert_int_equal(found.stride, 12);
	found = of_loop("slli a3, a1, 3\nsub a3, a0, a3\nld a5, 0(a3)\naddi a1, a1, 1", "ld a5");
	assert_int_equal(found.kind, PESA_ADVICE_STRIDE);
	assert_int_equal(found.stride, -8);
}

static void a_distance_in_a_register_is_regular(void **state)
{
	struct advise_address_of found = of_loop("ld a5, 0(a0)\nadd a0, a0, a7", "ld a5");

	(void)state;
	assert_int_equal(found.kind, PESA_ADVICE_REGULAR);
	assert_int_equal(found.stride, 0);
}

static void a_list_is_chased(void **state)
{
	struct advise_address_of found =
		of_loop("ld a1, 8(a0)\nadd a2, a2, a1\nld a0, 0(a0)", "ld a0");

	(void)state;
	assert_int_equal(found.kind, PESA_ADVICE_CHASED);
	/* so is what the element holds, and what is behind another pointer of it */
	assert_int_equal(of_loop("ld a1, 8(a0)\nadd a2, a2, a1\nld a0, 0(a0)", "ld a1").kind,
			 PESA_ADVICE_CHASED);
	assert_int_equal(of_loop("ld a1, 8(a0)\nld a2, 0(a1)\nld a0, 16(a0)", "ld a2").kind,
			 PESA_ADVICE_CHASED);
	/* also where two pointers follow one another: p = p->a->b */
	assert_int_equal(of_loop("ld a1, 8(a0)\nld a0, 0(a1)", "ld a1").kind, PESA_ADVICE_CHASED);
}

static void an_index_that_is_loaded_has_the_stride_of_that_load(void **state)
{
	/* a[b[i]] */
	struct advise_address_of found = of_loop(
		"lw a1, 0(a0)\nslli a1, a1, 3\nadd a1, a1, a7\nld a2, 0(a1)\naddi a0, a0, 4",
		"ld a2");

	(void)state;
	assert_int_equal(found.kind, PESA_ADVICE_INDEXED);
	assert_int_equal(found.stride, 4);
}

static void a_hash_is_computed(void **state)
{
	struct advise_address_of found = of_loop(
		"mul a1, a0, a7\nsrli a1, a1, 40\nadd a1, a1, a6\nlbu a2, 0(a1)\naddi a0, a0, 1",
		"lbu a2");

	(void)state;
	assert_int_equal(found.kind, PESA_ADVICE_COMPUTED);
}

/* An address that is the same in the inner loop moves in the outer one. */
static void the_loop_is_the_innermost_that_changes_the_address(void **state)
{
	const struct piece pieces[] = {
		{"li a0, 0", {2, 0}, 1, false},
		{"li a1, 9", {3, 0}, 10, false},
		{"ld a2, 0(a0)\nadd a3, a3, a2\naddi a1, a1, -1", {4, 3}, 90, false},
		{"addi a0, a0, 32", {5, 2}, 10, false},
		{"ret", {0, 0}, 1, false},
	};
	struct advise_address_of found;

	(void)state;
	make(pieces, 5);
	assert_int_equal(code.loops, 2);
	found = advise_address_of(&code, 2, code.block[2].first);
	assert_int_equal(found.kind, PESA_ADVICE_STRIDE);
	assert_int_equal(found.stride, 32);
	assert_int_equal(code.loop[found.loop].head, 1);
	advise_code_free(&code);
}

static void what_ways_disagree_on_is_not_known(void **state)
{
	const struct piece pieces[] = {
		{"li a0, 0", {2, 0}, 1, false},
		{"ld a2, 0(a0)\nandi a2, a2, 1", {3, 4}, 100, false},
		{"addi a0, a0, 8", {4, 0}, 50, false},
		{"addi a3, a3, 1", {5, 2}, 100, false},
		{"ret", {0, 0}, 1, false},
	};

	(void)state;
	make(pieces, 5);
	assert_int_equal(advise_address_of(&code, 1, code.block[1].first).kind,
			 PESA_ADVICE_UNKNOWN);
	advise_code_free(&code);
}

static void a_call_keeps_saved_registers_only(void **state)
{
	const struct piece pieces[] = {
		{"li a0, 0", {2, 0}, 1, false},
		{"ld a2, 0(s1)\nld a3, 0(t0)\njalr ra, a2", {3, 0}, 100, true},
		{"addi s1, s1, 24\naddi t0, t0, 8", {4, 2}, 100, false},
		{"ret", {0, 0}, 1, false},
	};
	struct advise_address_of found;

	(void)state;
	make(pieces, 4);
	found = advise_address_of(&code, 1, code.block[1].first);
	assert_int_equal(found.kind, PESA_ADVICE_STRIDE);
	assert_int_equal(found.stride, 24);
	assert_int_equal(advise_address_of(&code, 1, code.block[1].first + 1).kind,
			 PESA_ADVICE_UNKNOWN);
	advise_code_free(&code);
}

/* A jump into the middle: not through the head, so it is no natural loop. */
static void a_loop_has_one_entry(void **state)
{
	const struct piece pieces[] = {
		{"li a0, 0", {2, 3}, 1, false},
		{"addi a0, a0, 1", {3, 0}, 100, false},
		{"addi a0, a0, 1", {4, 2}, 100, false},
		{"ret", {0, 0}, 1, false},
	};

	(void)state;
	make(pieces, 4);
	assert_int_equal(code.loops, 0);
	advise_code_free(&code);
}

static void nested_loops_have_their_blocks_and_entries(void **state)
{
	const struct piece pieces[] = {
		{"li a0, 0", {2, 0}, 2, false},
		{"li a1, 9", {3, 0}, 10, false},
		{"addi a1, a1, -1", {4, 3}, 90, false},
		{"addi a0, a0, 32", {5, 2}, 10, false},
		{"ret", {0, 0}, 1, false},
	};

	(void)state;
	make(pieces, 5);
	assert_int_equal(code.loops, 2);
	assert_int_equal(code.loop[0].head, 1);
	assert_int_equal(code.loop[0].count, 3);
	assert_false(code.loop[0].innermost);
	assert_int_equal(code.loop[1].head, 2);
	assert_int_equal(code.loop[1].parent, 0);
	assert_true(code.loop[1].innermost);
	assert_true(code.loop[1].entries == 45);
	assert_int_equal(code.block[3].loop, 0);
	assert_int_equal(code.block[4].loop, ADVISE_NONE);
	assert_true(advise_loop_has(&code, 0, 2));
	assert_false(advise_loop_has(&code, 1, 3));
	advise_code_free(&code);
}

static int set_up(void **state)
{
	(void)state;
	return pesa_isa_create("rv64gc_zba", &isa) != NULL;
}

static int tear_down(void **state)
{
	(void)state;
	pesa_isa_free(isa);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pointer_that_moves_has_a_stride),
		cmocka_unit_test(an_index_has_the_stride_of_its_scale),
		cmocka_unit_test(a_distance_in_a_register_is_regular),
		cmocka_unit_test(a_list_is_chased),
		cmocka_unit_test(an_index_that_is_loaded_has_the_stride_of_that_load),
		cmocka_unit_test(a_hash_is_computed),
		cmocka_unit_test(the_loop_is_the_innermost_that_changes_the_address),
		cmocka_unit_test(what_ways_disagree_on_is_not_known),
		cmocka_unit_test(a_call_keeps_saved_registers_only),
		cmocka_unit_test(a_loop_has_one_entry),
		cmocka_unit_test(nested_loops_have_their_blocks_and_entries),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
