// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of sampling interrupts on the board, in instructions from entry to return.
 *
 * All instructions of the hart in between are counted by address: kernel entry and exit, the
 * driver, perf, and firmware calls.  Each interrupt has the total and the driver's part: what is in
 * the kernel's module area, whose only module is the driver, or at the driver's addresses in the
 * kernel itself.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/vcore/board/cost.h"
#include "tools/vcore/board/board.h"

/*
 * Modules are in the 2 GiB below the kernel (RV64, Linux's Documentation/arch/riscv/vm-layout.rst).
 */
#define MODULES_START UINT64_C(0xffffffff00000000)
#define MODULES_END   UINT64_C(0xffffffff80000000)
#define PLACES	      (1u << 16) /* hash table of addresses; the kernel's path has a few thousand */

struct place {
	uint64_t pc, count;
};

struct interrupt {
	uint32_t instructions, driver;
};

struct board_cost {
	uint64_t start, end; /* the driver in the kernel itself */
	bool inside[BOARD_HARTS];
	uint64_t back[BOARD_HARTS]; /* address to which the interrupt returns */
	struct interrupt now[BOARD_HARTS];
	struct interrupt *interrupts;
	size_t count, room;
	uint64_t unstored; /* interrupts that were not stored, out of memory */
	uint64_t unplaced; /* instructions that found the table full */
	struct place places[PLACES];
};

struct board_cost *board_cost_create(const char *driver)
{
	struct board_cost *cost = calloc(1, sizeof(*cost));

	if (cost && driver && sscanf(driver, "%" SCNx64 "-%" SCNx64, &cost->start, &cost->end) != 2)
		cost->start = cost->end = 0;
	return cost;
}

void board_cost_begin(struct board_cost *cost, unsigned int hart, uint64_t pc)
{
	/* A nested interrupt is part of the outer one. */
	if (cost->inside[hart])
		return;
	cost->inside[hart] = true;
	cost->back[hart] = pc;
	cost->now[hart] = (struct interrupt){0};
}

void board_cost_end(struct board_cost *cost, unsigned int hart, uint64_t pc)
{
	/* Ignore returns from a nested fault or of another task. */
	if (!cost->inside[hart] || pc != cost->back[hart])
		return;
	cost->inside[hart] = false;
	if (cost->count == cost->room) {
		size_t room = cost->room ? cost->room * 2 : 1024;
		struct interrupt *grown = realloc(cost->interrupts, room * sizeof(*grown));

		if (!grown) {
			cost->unstored++;
			return;
		}
		cost->interrupts = grown;
		cost->room = room;
	}
	cost->interrupts[cost->count++] = cost->now[hart];
}

void board_cost_count(struct board_cost *cost, unsigned int hart, uint64_t pc)
{
	size_t at = (size_t)((pc >> 1) * UINT64_C(0x9e3779b97f4a7c15) >> 48);

	if (!cost->inside[hart])
		return;
	cost->now[hart].instructions++;
	cost->now[hart].driver +=
		(pc >= MODULES_START && pc < MODULES_END) || (pc >= cost->start && pc < cost->end);
	for (size_t i = 0; i < PLACES; i++, at = (at + 1) % PLACES) {
		struct place *place = &cost->places[at];

		if (place->count && place->pc != pc)
			continue;
		place->pc = pc;
		place->count++;
		return;
	}
	cost->unplaced++;
}

bool board_cost_write(const struct board_cost *cost, const char *path)
{
	FILE *file = fopen(path, "w");
	const char *separator = "";
	bool failed;

	if (!file)
		return false;
	fprintf(file, "{\"unstored\": %" PRIu64 ", \"unplaced\": %" PRIu64 ",\n\"interrupts\": [",
		cost->unstored, cost->unplaced);
	for (size_t i = 0; i < cost->count; i++) {
		const struct interrupt *interrupt = &cost->interrupts[i];

		fprintf(file, "%s[%" PRIu32 ", %" PRIu32 "]", separator, interrupt->instructions,
			interrupt->driver);
		separator = ",\n";
	}
	fprintf(file, "],\n\"addresses\": [");
	separator = "";
	for (size_t i = 0; i < PLACES; i++) {
		if (!cost->places[i].count)
			continue;
		fprintf(file, "%s[%" PRIu64 ", %" PRIu64 "]", separator, cost->places[i].pc,
			cost->places[i].count);
		separator = ",\n";
	}
	fprintf(file, "]}\n");
	failed = ferror(file);
	return !fclose(file) && !failed;
}
