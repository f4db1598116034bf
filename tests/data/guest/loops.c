// SPDX-License-Identifier: GPL-2.0-or-later
/* Loops whose cycles per iteration can be predicted: loops NAME ITERATIONS. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPEAT4(text)  text text text text
#define REPEAT16(text) REPEAT4(REPEAT4(text))

/* A loop with `body`; %0 counts down, %1 is an address. */
#define LOOP(name, body)                                                                        \
	static void name(unsigned long count, void *memory)                                     \
	{                                                                                       \
		__asm__ volatile(".balign 64\n"                                                 \
				 "1:\n" body "addi %0, %0, -1\n"                                \
				 "bnez %0, 1b"                                                  \
				 : "+r"(count), "+r"(memory)                                    \
				 :                                                              \
				 : "t0", "t1", "t2", "t3", "t4", "t5", "ft0", "ft1", "memory"); \
	}

LOOP(dependent, REPEAT16("addi t0, t0, 1\n"))
LOOP(independent,
     REPEAT4("addi t0, zero, 1\naddi t1, zero, 1\naddi t2, zero, 1\naddi t3, zero, 1\n"))
LOOP(multiply, REPEAT16("mul t0, t0, t0\n"))
LOOP(multiplies, REPEAT4("mul t0, t4, t4\nmul t1, t4, t4\nmul t2, t4, t4\nmul t3, t4, t4\n"))
LOOP(divide, REPEAT4("div t0, t0, t0\n"))
LOOP(add_double, REPEAT16("fadd.d ft0, ft0, ft1\n"))
LOOP(chase, REPEAT16("ld %1, 0(%1)\n"))
LOOP(forward, REPEAT4("sd t0, 0(%1)\nld t0, 0(%1)\n"))
LOOP(jumps, REPEAT4("j 2f\n.balign 64\n2:\n"))
LOOP(empty, "")
LOOP(fences, REPEAT4("fence.i\n"))

/* A branch on bits that no history tells, 64 outcomes from each random number. */
static void random_branch(unsigned long count, void *memory)
{
	__asm__ volatile(".balign 64\n"
			 "li t1, 0x5851f42d4c957f2d\nli t2, 0x14057b7ef767814f\nli t0, 1\n"
			 "1: mul t0, t0, t1\nadd t0, t0, t2\nsrli t3, t0, 63\n"
			 "beqz t3, 2f\nnop\n2:\n"
			 "addi %0, %0, -1\nbnez %0, 1b"
			 : "+r"(count)
			 : "r"(memory)
			 : "t0", "t1", "t2", "t3");
}

/* The same instructions, and a branch that always goes the same way. */
static void steady_branch(unsigned long count, void *memory)
{
	__asm__ volatile(".balign 64\n"
			 "li t1, 0x5851f42d4c957f2d\nli t2, 0x14057b7ef767814f\nli t0, 1\n"
			 "1: mul t0, t0, t1\nadd t0, t0, t2\nsrli t3, t0, 63\n"
			 "beqz zero, 2f\nnop\n2:\n"
			 "addi %0, %0, -1\nbnez %0, 1b"
			 : "+r"(count)
			 : "r"(memory)
			 : "t0", "t1", "t2", "t3");
}

/* A ring of pointers through `size` bytes, one in each `stride`, in an order that jumps about. */
static void *ring(size_t size, size_t stride)
{
	size_t count = size / stride;
	char *memory = aligned_alloc(1 << 21, (size + (1 << 21)) & ~(size_t)((1 << 21) - 1));
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		/* A full-period generator modulo a power of two. */
		size_t next = (at * 1664525 + 1013904223) % count;

		*(char **)(memory + at * stride) = memory + next * stride;
		at = next;
	}
	return memory;
}

static void chase_l1(unsigned long count, void *unused)
{
	(void)unused;
	chase(count, ring(16 << 10, 64));
}

static void chase_l2(unsigned long count, void *unused)
{
	(void)unused;
	chase(count, ring(128 << 10, 128));
}

static void chase_memory(unsigned long count, void *unused)
{
	(void)unused;
	chase(count, ring(64 << 20, 4096));
}

static const struct {
	const char *name;
	void (*run)(unsigned long count, void *memory);
} loops[] = {
	{"dependent", dependent},
	{"independent", independent},
	{"multiply", multiply},
	{"multiplies", multiplies},
	{"divide", divide},
	{"add_double", add_double},
	{"forward", forward},
	{"jumps", jumps},
	{"empty", empty},
	{"fences", fences},
	{"random_branch", random_branch},
	{"steady_branch", steady_branch},
	{"chase_l1", chase_l1},
	{"chase_l2", chase_l2},
	{"chase_memory", chase_memory},
};

int main(int argc, char **argv)
{
	static uint64_t memory[64] __attribute__((aligned(64)));

	for (size_t i = 0; argc > 2 && i < sizeof(loops) / sizeof(loops[0]); i++) {
		if (strcmp(loops[i].name, argv[1]))
			continue;
		loops[i].run(strtoul(argv[2], NULL, 0), memory);
		return 0;
	}
	fprintf(stderr, "loops: no such loop\n");
	return 2;
}
