/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The call stack of the virtual core: calls, returns, what leaves frames in other ways, and what uses sp. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pesa/riscv.h"
#include "tools/vcore/stack/call_stack.h"

#define TOP	0x7ff000
#define BUFFER	0x10000 /* of setjmp() */
#define HANDLER 0x9000
#define FRAME	32 /* bytes that each function takes from sp */
#define DEEP	40

/* A program that is executed on the stack: its sp, and pc. */
struct machine {
	struct call_stack stack;
	uint64_t pc, sp;
};

static void execute(struct machine *machine, struct call_step step)
{
	step.pc = machine->pc;
	step.length = 4;
	if (!step.next)
		step.next = step.pc + 4;
	assert_null(call_stack_step(&machine->stack, &step));
	machine->pc = step.next;
}

static void begin(struct machine *machine)
{
	*machine = (struct machine){.pc = 0x1000, .sp = TOP};
}

/* `addi sp, sp, offset` */
static void add(struct machine *machine, int32_t offset)
{
	execute(machine,
		(struct call_step){.use = STACK_USE_ADD, .offset = offset, .flow = PESA_FLOW_NEXT});
	machine->sp += (uint64_t)(int64_t)offset;
}

/* `sd ra, 8(sp)`, which shows the value of sp. */
static void access_stack(struct machine *machine)
{
	execute(machine, (struct call_step){.use = STACK_USE_ACCESS | STACK_USE_STORES,
					    .offset = 8,
					    .address = machine->sp + 8,
					    .accessed = true,
					    .flow = PESA_FLOW_NEXT});
}

static void enter(struct machine *machine, uint64_t function)
{
	execute(machine,
		(struct call_step){.next = function, .target = function, .flow = PESA_FLOW_CALL});
	add(machine, -FRAME);
	access_stack(machine);
}

static void leave(struct machine *machine, uint64_t to)
{
	add(machine, FRAME);
	execute(machine, (struct call_step){.next = to, .flow = PESA_FLOW_RETURN});
}

static uint64_t frame(const struct machine *machine, size_t number)
{
	assert_true(number < machine->stack.count);
	return machine->stack.frame[number].return_address;
}

static void calls_push_and_returns_pop(void **state __attribute__((unused)))
{
	struct machine machine;
	uint64_t outer, inner;

	begin(&machine);
	outer = machine.pc + 4;
	enter(&machine, 0x2000);
	inner = machine.pc + 4;
	enter(&machine, 0x3000);
	assert_int_equal(machine.stack.count, 2);
	assert_int_equal(frame(&machine, 0), outer);
	assert_int_equal(frame(&machine, 1), inner);
	leave(&machine, inner);
	assert_int_equal(machine.stack.count, 1);
	leave(&machine, outer);
	assert_int_equal(machine.stack.count, 0);
	call_stack_free(&machine.stack);
}

static void a_tail_call_has_no_frame(void **state __attribute__((unused)))
{
	struct machine machine;
	uint64_t outer;

	begin(&machine);
	outer = machine.pc + 4;
	enter(&machine, 0x2000);
	add(&machine, FRAME);
	execute(&machine,
		(struct call_step){.next = 0x3000, .target = 0x3000, .flow = PESA_FLOW_JUMP});
	assert_int_equal(machine.stack.count, 1);
	add(&machine, -FRAME);
	leave(&machine, outer);
	assert_int_equal(machine.stack.count, 0);
	call_stack_free(&machine.stack);
}

/* setjmp() stores sp, longjmp() loads it and returns to where setjmp() did. */
static void longjmp_leaves_the_frames_that_it_skips(void **state __attribute__((unused)))
{
	struct machine machine;
	uint64_t again, sp;

	begin(&machine);
	access_stack(&machine);
	enter(&machine, 0x2000);
	sp = machine.sp;
	execute(&machine,
		(struct call_step){.next = 0x8000, .target = 0x8000, .flow = PESA_FLOW_CALL});
	again = machine.stack.frame[1].return_address;
	execute(&machine, (struct call_step){.use = STACK_USE_STORES | STACK_USE_SAVES,
					     .address = BUFFER,
					     .accessed = true,
					     .flow = PESA_FLOW_NEXT});
	execute(&machine, (struct call_step){.next = again, .flow = PESA_FLOW_RETURN});
	assert_int_equal(machine.stack.count, 1);
	for (int i = 0; i < DEEP; i++)
		enter(&machine, 0x3000);
	assert_int_equal(machine.stack.count, DEEP + 1);
	execute(&machine, (struct call_step){.use = STACK_USE_LOAD,
					     .address = BUFFER,
					     .accessed = true,
					     .flow = PESA_FLOW_NEXT});
	execute(&machine, (struct call_step){.next = again, .flow = PESA_FLOW_RETURN});
	machine.sp = sp;
	access_stack(&machine);
	assert_int_equal(machine.stack.count, 1);
	assert_true(machine.stack.sp_known);
	assert_int_equal(machine.stack.sp, sp);
	call_stack_free(&machine.stack);
}

static void a_handler_is_called_by_what_it_interrupts(void **state __attribute__((unused)))
{
	struct machine machine;
	uint64_t interrupted, trampoline = 0xa000;

	begin(&machine);
	enter(&machine, 0x2000);
	/* The signal comes after this instruction: the handler is executed next. */
	interrupted = machine.pc + 4;
	execute(&machine,
		(struct call_step){.next = HANDLER, .handler = true, .flow = PESA_FLOW_NEXT});
	assert_int_equal(machine.stack.count, 2);
	assert_true(machine.stack.frame[1].signal);
	assert_int_equal(frame(&machine, 1), interrupted + 1);
	machine.sp -= 1024;
	add(&machine, -FRAME);
	access_stack(&machine);
	leave(&machine, trampoline);
	assert_int_equal(machine.stack.count, 2);
	execute(&machine, (struct call_step){.flow = PESA_FLOW_NEXT});
	execute(&machine, (struct call_step){.next = interrupted, .flow = PESA_FLOW_TRAP});
	assert_int_equal(machine.stack.count, 1);
	machine.sp += 1024;
	assert_true(machine.stack.sp_known);
	assert_int_equal(machine.stack.sp, machine.sp);
	call_stack_free(&machine.stack);
}

static void a_fault_is_handled_where_it_happened(void **state __attribute__((unused)))
{
	struct machine machine;
	uint64_t faulting;

	begin(&machine);
	faulting = machine.pc;
	execute(&machine,
		(struct call_step){
			.next = HANDLER, .handler = true, .faulted = true, .flow = PESA_FLOW_NEXT});
	assert_int_equal(machine.stack.count, 1);
	assert_int_equal(frame(&machine, 0), faulting + 1);
	call_stack_free(&machine.stack);
}

/* Jump with another sp, that is stored at `from` and loaded from `to`. */
static void switch_stack(struct machine *machine, uint64_t from, uint64_t to, uint64_t sp,
			 uint64_t pc)
{
	execute(machine, (struct call_step){.use = STACK_USE_STORES | STACK_USE_SAVES,
					    .address = from,
					    .accessed = true,
					    .flow = PESA_FLOW_NEXT});
	execute(machine, (struct call_step){.use = STACK_USE_LOAD,
					    .address = to,
					    .accessed = true,
					    .flow = PESA_FLOW_NEXT});
	execute(machine, (struct call_step){.next = pc, .flow = PESA_FLOW_INDIRECT});
	machine->sp = sp;
	access_stack(machine);
}

static void each_coroutine_has_its_own_chain(void **state __attribute__((unused)))
{
	struct machine machine;
	uint64_t sp, pc, other = 0x100000;

	begin(&machine);
	access_stack(&machine);
	enter(&machine, 0x2000);
	enter(&machine, 0x3000);
	sp = machine.sp;
	pc = machine.pc + 12;
	switch_stack(&machine, BUFFER, BUFFER + 64, other, 0x5000);
	assert_int_equal(machine.stack.count, 0);
	enter(&machine, 0x6000);
	assert_int_equal(machine.stack.count, 1);
	switch_stack(&machine, BUFFER + 64, BUFFER, sp, pc);
	assert_int_equal(machine.stack.count, 2);
	assert_int_equal(machine.stack.frame[1].entry, 0x3000);
	call_stack_free(&machine.stack);
}

/* A program of random calls and returns: the chain is that of an array of return addresses. */
static void random_calls_have_their_chains(void **state __attribute__((unused)))
{
	uint64_t expected[DEEP];
	struct machine machine;
	size_t depth = 0;

	srand(11);
	begin(&machine);
	access_stack(&machine);
	for (int i = 0; i < 20000; i++) {
		if (depth < DEEP && (!depth || rand() % 2)) {
			expected[depth++] = machine.pc + 4;
			enter(&machine, 0x2000 + (uint64_t)(rand() % 16) * 0x100);
		} else {
			leave(&machine, expected[--depth]);
		}
		assert_int_equal(machine.stack.count, depth);
		for (size_t j = 0; j < depth; j++)
			assert_int_equal(frame(&machine, j), expected[j]);
		assert_int_equal(machine.stack.sp, machine.sp);
	}
	call_stack_free(&machine.stack);
}

static void instructions_use_sp(void **state __attribute__((unused)))
{
	static const struct {
		const char *text;
		uint32_t code;
		uint8_t use;
		int32_t offset;
	} known[] = {
		{"addi sp, sp, -32", 0xfe010113, STACK_USE_ADD, -32},
		{"c.addi16sp sp, 32", 0x6105, STACK_USE_ADD, 32},
		{"sd ra, 8(sp)", 0x00113423, STACK_USE_ACCESS | STACK_USE_STORES, 8},
		{"ld ra, 8(sp)", 0x00813083, STACK_USE_ACCESS, 8},
		{"ld sp, 8(a0)", 0x00853103, STACK_USE_LOAD, 0},
		{"sd sp, 8(a0)", 0x00253423, STACK_USE_NONE | STACK_USE_STORES | STACK_USE_SAVES,
		 0},
		{"mv sp, s0", 0x00040113, STACK_USE_SET, 0},
		{"add a0, a1, a2", 0x00c58533, STACK_USE_NONE, 0},
		{"sd a1, 0(a0)", 0x00b53023, STACK_USE_NONE | STACK_USE_STORES, 0},
		{"addi a0, sp, 16", 0x01010513, STACK_USE_NONE, 0},
	};
	struct pesa_isa *isa;

	assert_null(pesa_isa_create("rv64gc", &isa));
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct pesa_insn insn;
		int32_t offset;

		assert_int_not_equal(
			pesa_insn_decode(isa, &known[i].code, sizeof(known[i].code), &insn), 0);
		assert_int_equal(stack_use_of(&insn, &offset), known[i].use);
		assert_int_equal(offset, known[i].offset);
	}
	pesa_isa_free(isa);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_push_and_returns_pop),
		cmocka_unit_test(a_tail_call_has_no_frame),
		cmocka_unit_test(longjmp_leaves_the_frames_that_it_skips),
		cmocka_unit_test(a_handler_is_called_by_what_it_interrupts),
		cmocka_unit_test(a_fault_is_handled_where_it_happened),
		cmocka_unit_test(each_coroutine_has_its_own_chain),
		cmocka_unit_test(random_calls_have_their_chains),
		cmocka_unit_test(instructions_use_sp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
