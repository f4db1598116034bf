// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that makes its code at run time: jit [MODE]
 *
 * In one page it writes a loop and runs it, writes another over it and runs that, unmaps the page and runs
 * a third one in a page that it maps in the same place.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE  4096u
#define TURNS 20000u

typedef uint64_t (*function)(uint64_t turns);

/* Each is the same loop around another instruction. */
static const uint32_t adds = 0x00358593;       /* addi a1,a1,3 */
static const uint32_t multiplies = 0x02b585b3; /* mul a1,a1,a1 */
static const uint32_t mixes = 0x00a5c5b3;      /* xor a1,a1,a0 */

static void make(void *page, uint32_t instruction)
{
	const uint32_t code[] = {
		0x00300593,  /* li a1,3 */
		instruction, /* the loop */
		0xfff50513,  /* addi a0,a0,-1 */
		0xfe051ce3,  /* bnez a0,-8 */
		0x00058513,  /* mv a0,a1 */
		0x00008067,  /* ret */
	};

	memcpy(page, code, sizeof(code));
	__builtin___clear_cache(page, (char *)page + sizeof(code));
}

static void *map(void *address, int protection)
{
	void *page = mmap(address, PAGE, protection,
			  MAP_PRIVATE | MAP_ANONYMOUS | (address ? MAP_FIXED : 0), -1, 0);

	if (page == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return page;
}

int main(void)
{
	uint64_t sum = 0;
	void *page = map(NULL, PROT_READ | PROT_WRITE | PROT_EXEC);

	make(page, adds);
	sum += ((function)page)(TURNS);
	make(page, multiplies);
	sum += ((function)page)(TURNS);
	munmap(page, PAGE);
	/* As a program does that never has memory which is both written and executed. */
	map(page, PROT_READ | PROT_WRITE);
	make(page, mixes);
	mprotect(page, PAGE, PROT_READ | PROT_EXEC);
	sum += ((function)page)(TURNS);
	printf("%p %llx\n", page, (unsigned long long)sum);
	return 0;
}
