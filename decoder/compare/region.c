/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regions: each instruction belongs to the innermost loop that contains it, or to the rest of its
 * function.  A loop is the code from the target of a backward transfer to the transfer, within one
 * function.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/region.h"

/* Maximum size of a loop in bytes, if no symbols delimit functions. */
#define LOOP_MAX 65536

struct loop {
	uint32_t first, last; /* nodes: target and transfer */
};

struct loops {
	struct loop *loop;
	size_t count, room;
};

static bool add_loop(struct loops *loops, uint32_t first, uint32_t last)
{
	if (loops->count == loops->room) {
		size_t room = loops->room ? 2 * loops->room : 256;
		struct loop *larger = realloc(loops->loop, room * sizeof(*larger));

		if (!larger)
			return false;
		loops->loop = larger;
		loops->room = room;
	}
	loops->loop[loops->count++] = (struct loop){first, last};
	return true;
}

static int by_first(const void *left, const void *right)
{
	const struct loop *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return a->last > b->last ? -1 : a->last < b->last; /* outer loops first */
}

/* Loops with the same target are merged. */
static struct pesa_error *find_loops(const struct compare_code *code, struct pesa_symbols *symbols,
				     struct loops *loops)
{
	size_t kept = 0;

	for (uint32_t i = 0; i < code->count; i++) {
		const struct compare_node *node = &code->node[i], *to;
		const struct pesa_symbol *symbol;
		struct pesa_error *error;

		if ((node->flow != PESA_FLOW_BRANCH && node->flow != PESA_FLOW_JUMP) ||
		    node->target == COMPARE_NONE || node->target > i || !node->measured ||
		    !node->measured->transfers_taken)
			continue;
		to = &code->node[node->target];
		if (node->address - to->address > LOOP_MAX)
			continue;
		error = pesa_symbols_find(symbols, node->dso, node->address, &symbol);
		if (error)
			return error;
		if (symbol && to->address < symbol->start)
			continue;
		if (!add_loop(loops, node->target, i))
			return pesa_error_no_memory();
	}
	if (!loops->count)
		return NULL;
	qsort(loops->loop, loops->count, sizeof(*loops->loop), by_first);
	for (size_t i = 0; i < loops->count; i++)
		if (!kept || loops->loop[kept - 1].first != loops->loop[i].first)
			loops->loop[kept++] = loops->loop[i];
	loops->count = kept;
	return NULL;
}

static bool add_region(struct compare_regions *regions, struct compare_region region)
{
	if (regions->count == regions->room) {
		uint32_t room = regions->room ? 2 * regions->room : 256;
		struct compare_region *larger = realloc(regions->region, room * sizeof(*larger));

		if (!larger)
			return false;
		regions->region = larger;
		regions->room = room;
	}
	regions->region[regions->count++] = region;
	return true;
}

/* Loops are sorted by start, outer before inner: the last one that contains a node is the
 * innermost. */
static bool assign_loops(struct compare_code *code, const struct loops *loops,
			 struct compare_regions *regions)
{
	for (size_t i = 0; i < loops->count; i++) {
		const struct loop *loop = &loops->loop[i];
		const struct compare_node *first = &code->node[loop->first];
		const struct compare_node *last = &code->node[loop->last];

		for (uint32_t j = loop->first; j <= loop->last; j++)
			code->node[j].region = regions->count;
		if (!add_region(regions, (struct compare_region){
						 .dso = first->dso,
						 .start = first->address,
						 .end = last->address + last->insn.length,
						 .head = loop->first,
						 .loop = true,
					 }))
			return false;
	}
	return true;
}

/* Code outside of loops, by function; without symbols the rest of a binary is one region. */
static struct pesa_error *assign_functions(struct compare_code *code, struct pesa_symbols *symbols,
					   struct compare_regions *regions)
{
	const struct pesa_symbol *current = NULL;
	uint32_t region = COMPARE_NONE, dso = COMPARE_NONE;

	for (uint32_t i = 0; i < code->count; i++) {
		struct compare_node *node = &code->node[i];
		const struct pesa_symbol *symbol = current;
		struct pesa_error *error = NULL;

		if (node->region != COMPARE_NONE)
			continue;
		if (dso != node->dso || !current || node->address >= current->start + current->size)
			error = pesa_symbols_find(symbols, node->dso, node->address, &symbol);
		if (error)
			return error;
		if (region == COMPARE_NONE || dso != node->dso || symbol != current) {
			region = regions->count;
			dso = node->dso;
			current = symbol;
			if (!add_region(regions,
					(struct compare_region){
						.dso = dso,
						.start = symbol ? symbol->start : node->address,
						.head = i,
					}))
				return pesa_error_no_memory();
		}
		node->region = region;
		regions->region[region].end =
			node->address + (node->decoded ? node->insn.length : 2);
	}
	return NULL;
}

static void number_groups(struct compare_code *code, struct compare_regions *regions)
{
	for (uint32_t i = 0; i < code->count; i++) {
		struct compare_node *node = &code->node[i];

		if (i && !node->leader && code->node[i - 1].region == node->region)
			node->group = code->node[i - 1].group;
		else
			node->group = regions->groups++;
	}
}

struct pesa_error *compare_regions_make(struct compare_code *code, struct pesa_symbols *symbols,
					struct compare_regions *regions)
{
	struct loops loops = {0};
	struct pesa_error *error = find_loops(code, symbols, &loops);

	if (!error && !assign_loops(code, &loops, regions))
		error = pesa_error_no_memory();
	if (!error)
		error = assign_functions(code, symbols, regions);
	free(loops.loop);
	if (!error)
		number_groups(code, regions);
	return error;
}

void compare_regions_free(struct compare_regions *regions)
{
	free(regions->region);
}
