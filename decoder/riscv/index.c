/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The opcode index of an instruction set: see isa.h.
 *
 * Opcodes are tried as LLVM's disassembler does: one decoder table after the other, and within a
 * table the encoding with more fixed bits first.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/riscv/isa.h"

/* Opcodes of one length in the order in which they are tried. */
struct sequence {
	uint16_t *ids;
	unsigned int count;
};

static int compare_ids(const void *left, const void *right)
{
	unsigned int a = *(const uint16_t *)left, b = *(const uint16_t *)right;
	const struct riscv_opcode *x = &riscv_opcodes[a], *y = &riscv_opcodes[b];
	int fixed;

	if (x->table != y->table)
		return x->table < y->table ? -1 : 1;
	fixed = __builtin_popcountll(y->mask) - __builtin_popcountll(x->mask);
	if (fixed)
		return fixed;
	return a < b ? -1 : 1;
}

static void sequence_fill(struct sequence *sequence, const struct pesa_isa *isa,
			  unsigned int length)
{
	sequence->count = 0;
	for (unsigned int id = 0; id < riscv_opcode_count; id++)
		if (riscv_opcodes[id].public.length == length &&
		    isa->conditions[riscv_opcodes[id].condition])
			sequence->ids[sequence->count++] = id;
	qsort(sequence->ids, sequence->count, sizeof(*sequence->ids), compare_ids);
}

/* Where an opcode goes: the fixed bits of its cell number, and which bits of it are free. */
static void opcode_cells(const struct riscv_opcode *opcode, unsigned int *base, unsigned int *open)
{
	if (opcode->public.length == 2) {
		*base = opcode->match;
		*open = 0xffff & ~opcode->mask;
	} else {
		*base = riscv_cell_bits(opcode->match);
		*open = (RISCV_CELLS_32 - 1) & ~riscv_cell_bits(opcode->mask);
	}
}

/* Find out where funct7 matters.  Opcodes that do not fix funct3 concern all its values. */
static void fill_funct7_masks(struct pesa_isa *isa, const struct sequence *sequence)
{
	for (unsigned int i = 0; i < sequence->count; i++) {
		const struct riscv_opcode *opcode = &riscv_opcodes[sequence->ids[i]];
		unsigned int match = riscv_cell_bits(opcode->match);
		unsigned int mask = riscv_cell_bits(opcode->mask);

		for (unsigned int place = 0; place < 256; place++)
			if (!((place ^ match) & mask & 0xff))
				isa->funct7_masks[place] |= mask >> 8;
	}
}

/* A growing store of id lists in which equal lists are kept once. */
struct list_store {
	uint16_t *lists;
	size_t used, size;
	uint16_t *slots; /* hash table: offset + 1 of a list */
	size_t slot_count;
};

static uint32_t list_hash(const uint16_t *ids, size_t count)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < count; i++)
		hash = (hash ^ ids[i]) * 16777619u;
	return hash;
}

/* The cell for these ids (at least two); RISCV_CELL_EMPTY if memory or the number space ran out. */
static uint16_t list_store_add(struct list_store *store, const uint16_t *ids, size_t count)
{
	size_t slot = list_hash(ids, count) % store->slot_count;

	for (; store->slots[slot]; slot = (slot + 1) % store->slot_count) {
		size_t offset = store->slots[slot] - 1;
		const uint16_t *list = store->lists + offset;

		if (offset + count < store->used && !memcmp(list, ids, count * sizeof(*ids)) &&
		    list[count] == RISCV_CELL_EMPTY)
			return RISCV_CELL_LIST | offset;
	}
	if (store->used + count + 1 > store->size)
		return RISCV_CELL_EMPTY;
	memcpy(store->lists + store->used, ids, count * sizeof(*ids));
	store->lists[store->used + count] = RISCV_CELL_EMPTY;
	store->slots[slot] = store->used + 1;
	slot = store->used;
	store->used += count + 1;
	return RISCV_CELL_LIST | slot;
}

/* For every opcode of the sequence and every cell that it can be in (base | part). */
#define for_each_cell(sequence, i, base, open, part)                                              \
	for (unsigned int i = 0, base, open, part; i < (sequence)->count; i++)                    \
		for (opcode_cells(&riscv_opcodes[(sequence)->ids[i]], &base, &open), part = open; \
		     part != UINT_MAX; part = part ? (part - 1) & open : UINT_MAX)

/* Fill `cells` from the opcodes of a sequence. */
static struct pesa_error *fill_cells(uint16_t *cells, size_t cell_count,
				     const struct sequence *sequence, struct list_store *store)
{
	uint32_t *starts = calloc(cell_count + 1, sizeof(*starts)); /* of each cell in ids */
	uint32_t *ends = calloc(cell_count, sizeof(*ends));
	struct pesa_error *error = NULL;
	uint16_t *ids = NULL;

	if (!starts || !ends) {
		error = pesa_error_no_memory();
		goto out;
	}
	for_each_cell(sequence, i, base, open, part) starts[(base | part) + 1]++;
	for (size_t cell = 0; cell < cell_count; cell++) {
		starts[cell + 1] += starts[cell];
		ends[cell] = starts[cell];
	}
	ids = malloc((starts[cell_count] + 1) * sizeof(*ids));
	if (!ids) {
		error = pesa_error_no_memory();
		goto out;
	}
	for_each_cell(sequence, i, base, open, part) ids[ends[base | part]++] = sequence->ids[i];
	for (size_t cell = 0; cell < cell_count; cell++) {
		uint32_t count = ends[cell] - starts[cell];

		cells[cell] = count ? ids[starts[cell]] : RISCV_CELL_EMPTY;
		if (count < 2)
			continue;
		cells[cell] = list_store_add(store, ids + starts[cell], count);
		if (cells[cell] == RISCV_CELL_EMPTY) {
			error = pesa_error_create(PESA_ERROR_UNSUPPORTED,
						  "instruction set: too many overlapping opcodes");
			break;
		}
	}
out:
	free(ids);
	free(ends);
	free(starts);
	return error;
}

/* Room for lists: offsets have 15 bits. */
#define LISTS_SIZE 0x7fff
#define SLOT_COUNT 0x4001

/* Decode every 16-bit instruction. */
static void decode_shorts(struct pesa_isa *isa, const uint16_t *cells)
{
	for (unsigned int bits = 0; bits < RISCV_CELLS_16; bits++) {
		struct riscv_short *result;
		struct pesa_insn insn;

		if ((bits & 3) == 3)
			continue;
		result = &isa->shorts[riscv_short_index(bits)];
		result->opcode = RISCV_CELL_EMPTY;
		if (!riscv_decode_cell(isa, cells[bits], bits, 2, &insn))
			continue;
		result->opcode = insn.opcode;
		result->operands = insn.operands;
		for (unsigned int i = 0; i < insn.operands && i < RISCV_SHORT_OPERANDS; i++) {
			result->operand[i].kind = insn.operand[i].kind;
			result->operand[i].output = insn.operand[i].output;
			result->operand[i].registers = insn.operand[i].registers;
			result->operand[i].value = insn.operand[i].value;
		}
	}
}

struct pesa_error *riscv_index_build(struct pesa_isa *isa)
{
	struct sequence sequence = {malloc(riscv_opcode_count * sizeof(uint16_t)), 0};
	struct list_store store = {
		.lists = malloc(LISTS_SIZE * sizeof(uint16_t)),
		.size = LISTS_SIZE,
		.slots = calloc(SLOT_COUNT, sizeof(uint16_t)),
		.slot_count = SLOT_COUNT,
	};
	uint16_t *cells_16 = malloc(RISCV_CELLS_16 * sizeof(*cells_16));
	struct pesa_error *error = NULL;

	isa->shorts = calloc(RISCV_SHORTS, sizeof(*isa->shorts));
	if (!sequence.ids || !store.lists || !store.slots || !cells_16 || !isa->shorts) {
		error = pesa_error_no_memory();
		goto out;
	}
	/* The 48-bit list comes first: it may be empty or have one id only. */
	sequence_fill(&sequence, isa, 6);
	isa->list_48 = RISCV_CELL_LIST;
	memcpy(store.lists, sequence.ids, sequence.count * sizeof(*sequence.ids));
	store.lists[sequence.count] = RISCV_CELL_EMPTY;
	store.used = sequence.count + 1;
	sequence_fill(&sequence, isa, 2);
	error = fill_cells(cells_16, RISCV_CELLS_16, &sequence, &store);
	if (error)
		goto out;
	sequence_fill(&sequence, isa, 4);
	fill_funct7_masks(isa, &sequence);
	error = fill_cells(isa->cells_32, RISCV_CELLS_32, &sequence, &store);
	if (error)
		goto out;
	isa->lists = store.lists;
	store.lists = NULL;
	decode_shorts(isa, cells_16);
out:
	free(cells_16);
	free(store.slots);
	free(store.lists);
	free(sequence.ids);
	return error;
}
