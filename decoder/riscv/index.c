/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The opcode index of an instruction set: see isa.h.
 *
 * Opcodes are tried as LLVM's disassembler does: one decoder table after the other, and within a
 * table the encoding with more fixed bits first.
 */
#include <stdlib.h>
#include <string.h>

#include "decoder/riscv/isa.h"

/* Opcodes of one length in the order of trial. */
struct sequence {
	uint16_t *ids;
	unsigned int count;
};

/* By half the length in bytes. */
enum { SEQUENCES = 4 };

/* Decoder tables, numbered from 0, and the components of an opcode's rank. */
#define TABLES	  64
#define MASK_BITS 64

/* Rank in the order of trial, smallest first; equal ranks are ordered by id. */
static unsigned int rank(const struct riscv_opcode *opcode)
{
	return opcode->table % TABLES * (MASK_BITS + 1) + MASK_BITS -
	       __builtin_popcountll(opcode->mask);
}

/* Collect the opcodes of each length, by a counting sort of the ranks of all. `ids`, `ranks` and
 * `sorted` have room for all opcodes; the lists are then pieces of `ids`. */
static void sequences_fill(struct sequence sequences[SEQUENCES], const struct pesa_isa *isa,
			   uint16_t *ids, uint16_t *ranks, uint16_t *sorted)
{
	uint16_t starts[TABLES * (MASK_BITS + 1) + 1] = {0};
	unsigned int count = 0;

	memset(sequences, 0, SEQUENCES * sizeof(*sequences));
	for (unsigned int id = 0; id < riscv_opcode_count; id++) {
		const struct riscv_opcode *opcode = &riscv_opcodes[id];

		if (!isa->conditions[opcode->condition])
			continue;
		ids[count] = (uint16_t)id;
		ranks[count] = (uint16_t)rank(opcode);
		starts[ranks[count++] + 1]++;
		sequences[opcode->public.length / 2].count++;
	}
	for (unsigned int i = 1; i < sizeof(starts) / sizeof(*starts); i++)
		starts[i] += starts[i - 1];
	for (unsigned int i = 0; i < count; i++)
		sorted[starts[ranks[i]]++] = ids[i];
	for (unsigned int i = 0; i < SEQUENCES; i++)
		sequences[i].ids = i ? sequences[i - 1].ids + sequences[i - 1].count : ids;
	for (unsigned int i = 0; i < SEQUENCES; i++)
		sequences[i].count = 0;
	for (unsigned int i = 0; i < count; i++) {
		struct sequence *own = &sequences[riscv_opcodes[sorted[i]].public.length / 2];

		own->ids[own->count++] = sorted[i];
	}
}

/* A growing array of id lists, in which equal lists are stored once. */
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

/* The cell for at least two ids; RISCV_CELL_EMPTY: out of memory or of offsets. */
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

/* The cell for any number of ids. */
static uint16_t cell_for(struct list_store *store, const uint16_t *ids, size_t count,
			 struct pesa_error **error)
{
	uint16_t cell = RISCV_CELL_EMPTY;

	if (count == 1)
		return ids[0];
	if (count && !*error) {
		cell = list_store_add(store, ids, count);
		if (cell == RISCV_CELL_EMPTY)
			*error = pesa_error_create(PESA_ERROR_UNSUPPORTED,
						   "instruction set: too many overlapping opcodes");
	}
	return cell;
}

/* Select from the ids `from` those whose fixed bits within `relevant` equal `bits`. */
static size_t select_ids(uint16_t *ids, const uint16_t *from, size_t count, uint64_t bits,
			 uint64_t relevant)
{
	size_t selected = 0;

	for (size_t i = 0; i < count; i++) {
		const struct riscv_opcode *opcode = &riscv_opcodes[from[i]];

		ids[selected] = from[i];
		selected += !((opcode->match ^ bits) & opcode->mask & relevant);
	}
	return selected;
}

/* 16-bit instructions: a list for each quadrant and funct3. */
static struct pesa_error *fill_shorts(struct pesa_isa *isa, const struct sequence *sequence,
				      struct list_store *store, uint16_t *ids)
{
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; i < RISCV_CELLS_16; i++) {
		size_t count = select_ids(ids, sequence->ids, sequence->count,
					  (i & 7) << 13 | i >> 3, 0xe003);

		isa->cells_16[i] = cell_for(store, ids, count, &error);
	}
	return error;
}

/* Lists of opcodes by place, one after the other: that of place p is ids[starts[p]] to ids[starts[p + 1]]. */
#define PLACES \
	256 /* major opcode and funct3; also the values of funct7, of which there are fewer */

struct lists_by_place {
	uint16_t *ids;
	unsigned int places;
	uint32_t starts[PLACES + 1], next[PLACES];
};

static void places_clear(struct lists_by_place *lists, unsigned int places)
{
	lists->places = places;
	memset(lists->starts, 0, (places + 1) * sizeof(*lists->starts));
}

/* For each opcode and place, in the order of trial: called to count, then to list. */
static void place_add(struct lists_by_place *lists, unsigned int place, uint16_t id, bool counting)
{
	if (counting)
		lists->starts[place + 1]++;
	else
		lists->ids[lists->next[place]++] = id;
}

/* Make room for what was counted. */
static bool places_begin(struct lists_by_place *lists)
{
	for (unsigned int place = 0; place < lists->places; place++) {
		lists->starts[place + 1] += lists->starts[place];
		lists->next[place] = lists->starts[place];
	}
	lists->ids = malloc((lists->starts[lists->places] + 1) * sizeof(*lists->ids));
	return lists->ids;
}

/* The values of a field that an opcode allows: one if it fixes all its bits, else those to try. */
static void range_of(const struct riscv_opcode *opcode, unsigned int shift, unsigned int field,
		     unsigned int *first, unsigned int *last)
{
	*first = 0;
	*last = field;
	if ((opcode->mask >> shift & field) == field)
		*first = *last = opcode->match >> shift & field;
}

/* Opcodes by major opcode and funct3. */
static void list_places(struct lists_by_place *places, const struct sequence *sequence,
			bool counting)
{
	for (unsigned int i = 0; i < sequence->count; i++) {
		const struct riscv_opcode *opcode = &riscv_opcodes[sequence->ids[i]];
		unsigned int first, last, first_funct3, last_funct3;

		range_of(opcode, 2, 0x1f, &first, &last);
		range_of(opcode, 12, 7, &first_funct3, &last_funct3);
		for (unsigned int major = first; major <= last; major++) {
			if ((opcode->match ^ (major << 2 | 3)) & opcode->mask & 0x7f)
				continue;
			for (unsigned int funct3 = first_funct3; funct3 <= last_funct3; funct3++)
				if (!((opcode->match ^ funct3 << 12) & opcode->mask & 0x7000))
					place_add(places, funct3 << 5 | major, sequence->ids[i],
						  counting);
		}
	}
}

/* Opcodes of a place by the bits of funct7 in `mask`. */
static void list_parts(struct lists_by_place *parts, const uint16_t *ids, size_t count,
		       unsigned int mask, bool counting)
{
	for (size_t i = 0; i < count; i++) {
		const struct riscv_opcode *opcode = &riscv_opcodes[ids[i]];
		unsigned int fixed = opcode->match & opcode->mask, tested = opcode->mask;
		unsigned int any = mask & ~(tested >> 25), part = any;

		do {
			place_add(parts, (fixed >> 25 & 0x7f) | part, ids[i], counting);
			part = (part - 1) & any;
		} while (part != any);
	}
}

/* The cells of one major opcode and funct3, whose opcodes these are. */
static struct pesa_error *fill_place(struct pesa_isa *isa, unsigned int place, const uint16_t *ids,
				     size_t count, struct list_store *store)
{
	struct pesa_error *error = NULL;
	struct lists_by_place parts;
	unsigned int mask = 0, part;

	for (size_t i = 0; i < count; i++)
		mask |= riscv_opcodes[ids[i]].mask >> 25 & 0x7f;
	isa->funct7_masks[place] = mask;
	if (!mask) {
		isa->cells_32[place] = cell_for(store, ids, count, &error);
		return error;
	}
	places_clear(&parts, mask + 1);
	list_parts(&parts, ids, count, mask, true);
	if (!places_begin(&parts))
		return pesa_error_no_memory();
	list_parts(&parts, ids, count, mask, false);
	part = mask;
	do {
		isa->cells_32[part << 8 | place] =
			cell_for(store, parts.ids + parts.starts[part],
				 parts.starts[part + 1] - parts.starts[part], &error);
		part = (part - 1) & mask;
	} while (part != mask);
	free(parts.ids);
	return error;
}

/*
 * 32-bit instructions: major opcode and funct3 select a group of cells.  Within it, cells differ in
 * those bits of funct7 that an opcode of the group tests.
 */
static struct pesa_error *fill_words(struct pesa_isa *isa, const struct sequence *sequence,
				     struct list_store *store)
{
	struct lists_by_place places;
	struct pesa_error *error = NULL;

	memset(isa->cells_32, 0xff, sizeof(isa->cells_32));
	places_clear(&places, PLACES);
	list_places(&places, sequence, true);
	if (!places_begin(&places))
		return pesa_error_no_memory();
	list_places(&places, sequence, false);
	for (unsigned int place = 0; place < PLACES && !error; place++)
		error = fill_place(isa, place, places.ids + places.starts[place],
				   places.starts[place + 1] - places.starts[place], store);
	free(places.ids);
	return error;
}

/* Room for lists: offsets have 15 bits. */
#define LISTS_SIZE 0x7fff
#define SLOT_COUNT 0x4001

struct pesa_error *riscv_index_build(struct pesa_isa *isa)
{
	/* One allocation for three arrays, of which the last ones are needed for a while. */
	uint16_t *ids = malloc(3 * riscv_opcode_count * sizeof(*ids));
	uint16_t *sorted;
	struct list_store store = {
		.lists = malloc(LISTS_SIZE * sizeof(uint16_t)),
		.size = LISTS_SIZE,
		.slots = calloc(SLOT_COUNT, sizeof(uint16_t)),
		.slot_count = SLOT_COUNT,
	};
	struct sequence sequences[SEQUENCES];
	struct pesa_error *error = NULL;

	isa->shorts = calloc(RISCV_SHORTS, sizeof(*isa->shorts));
	if (!ids || !store.lists || !store.slots || !isa->shorts) {
		error = pesa_error_no_memory();
		goto out;
	}
	sorted = ids + riscv_opcode_count;
	sequences_fill(sequences, isa, ids, sorted + riscv_opcode_count, sorted);
	/* The 48-bit list is built first: it may be empty or have only one id. */
	isa->list_48 = RISCV_CELL_LIST;
	store.used = sequences[3].count + 1;
	memcpy(store.lists, sequences[3].ids, sequences[3].count * sizeof(*ids));
	store.lists[sequences[3].count] = RISCV_CELL_EMPTY;
	error = fill_shorts(isa, &sequences[1], &store, sorted);
	if (error)
		goto out;
	error = fill_words(isa, &sequences[2], &store);
	if (error)
		goto out;
	isa->lists = store.lists;
	store.lists = NULL;
out:
	free(ids);
	free(store.slots);
	free(store.lists);
	return error;
}
