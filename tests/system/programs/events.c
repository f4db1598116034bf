// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs in which one known instruction causes an event, a known number of times:
 *
 *   events chase N   N loads, each of which needs the one before it and misses L1D cache and data
 * TLB events guess N   N branches whose direction nobody can know
 *
 * These instructions are at the labels chase_load and guess_branch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096u
#define PAGES \
	2048u /* far more than the TLB has entries, and as many lines as the cache has not \
		     */
#define LINE 64u

void *chase(void *start, unsigned long loads);
__asm__("	.text\n"
	"	.globl	chase, chase_load\n"
	"	.type	chase, @function\n"
	"chase:\n"
	"chase_load:\n"
	"	ld	a0, 0(a0)\n"
	"	addi	a1, a1, -1\n"
	"	bnez	a1, chase_load\n"
	"	ret\n"
	"	.size	chase, . - chase\n");

unsigned long guess(unsigned long seed, unsigned long branches, unsigned long factor);
__asm__("	.globl	guess, guess_branch\n"
	"	.type	guess, @function\n"
	"guess:\n"
	"	li	a3, 0\n"
	"1:	mul	a0, a0, a2\n"
	"	addi	a0, a0, 1013\n"
	"	srli	a4, a0, 63\n"
	"guess_branch:\n"
	"	beqz	a4, 2f\n"
	"	addi	a3, a3, 1\n"
	"2:	addi	a1, a1, -1\n"
	"	bnez	a1, 1b\n"
	"	mv	a0, a3\n"
	"	ret\n"
	"	.size	guess, . - guess\n");

static unsigned char memory[PAGES * PAGE] __attribute__((aligned(PAGE)));

/* One line of each page, each in another set of the cache; all in one circle: 1021 and PAGES have
 * no common divisor. */
static void *line_of(unsigned int step)
{
	unsigned int page = step * 1021u % PAGES;

	return memory + page * PAGE + page % (PAGE / LINE) * LINE;
}

int main(int argc, char **argv)
{
	unsigned long count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	unsigned long result;

	if (!count)
		return 2;
	if (!strcmp(argv[1], "guess")) {
		result = guess(1, count, 6364136223846793005ul);
	} else {
		for (unsigned int step = 0; step < PAGES; step++)
			*(void **)line_of(step) = line_of(step + 1);
		result = (unsigned long)chase(line_of(0), count);
	}
	printf("%lu\n", result);
	return 0;
}
