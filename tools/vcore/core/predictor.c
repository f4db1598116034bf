// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Branch prediction.  Direction: TAGE (A. Seznec, P. Michaud, "A case for (partially) tagged
 * geometric history length branch prediction", JILP 2006).  Direct targets: a branch target buffer.
 * Returns: a return address stack.  Other indirect targets: a table indexed by path history.
 *
 * Prediction and update happen in one step, in program order: there is no wrong path, so history
 * and tables need no repair.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/vcore/core/predictor.h"
#include "tools/vcore/core/insn.h"

#define TABLES_MAX 12
/* History length, and the room for it; when the room is full, the history moves to its start. */
#define HISTORY_KEPT 1024u
#define HISTORY_ROOM 4096u

struct tage_entry {
	uint16_t tag;
	int8_t counter; /* -4..3; predicts taken from 0 on */
	uint8_t useful; /* 0..3 */
};

/* One number for each table, in vectors of four. */
#define LANES 4u
typedef uint32_t lanes __attribute__((vector_size(LANES * sizeof(uint32_t))));
union by_table {
	uint32_t table[TABLES_MAX];
	lanes lanes[TABLES_MAX / LANES];
};

/* The newest `length` outcomes for each table, folded to fewer bits. */
struct folded {
	union by_table value;
	union by_table out; /* position of the oldest outcome when it leaves */
	lanes mask;	    /* valid bits */
	uint32_t bits;
};

struct btb_entry {
	uint64_t pc, target;
};

struct indirect_entry {
	uint64_t key, target;
};

struct predictor {
	const struct pesa_core *core;
	uint8_t *bimodal; /* 0..3; predicts taken from 2 on */
	struct tage_entry *entry[TABLES_MAX];
	struct folded index, tag[2];
	ptrdiff_t leaves[TABLES_MAX];	/* distance from the newest outcome to the one that
					 * leaves the table's history */
	uint32_t history[HISTORY_ROOM]; /* outcomes: all ones for taken, else 0 */
	uint32_t newest;
	int use_alternate; /* new entries predict worse than their alternate */
	uint32_t allocations, age;
	struct btb_entry *btb;
	uint32_t btb_mask; /* mask for the set index */
	uint64_t *ras;
	uint32_t ras_top;
	struct indirect_entry *indirect;
	uint64_t path;
};

static void folded_create(struct folded *folded, uint32_t bits)
{
	for (uint32_t i = 0; i < LANES; i++)
		folded->mask[i] = (1u << bits) - 1;
	folded->bits = bits;
}

/*
 * Add outcome `in` to the folded history of four tables; `leaving`: outcomes that leave, all ones
 * for taken.
 */
static inline void folded_push(struct folded *folded, uint32_t vector, lanes in, lanes leaving)
{
	lanes value = folded->value.lanes[vector];

	value += value + in;
	value ^= folded->out.lanes[vector] & leaving;
	/* Rotate the bit above the others to the other end. */
	value ^= value >> folded->bits;
	folded->value.lanes[vector] = value & folded->mask;
}

struct predictor *predictor_create(const struct pesa_core *core)
{
	struct predictor *predictor = calloc(1, sizeof(*predictor));
	uint32_t index_bits = (uint32_t)__builtin_ctz(core->tage_entries);
	bool made;

	if (!predictor)
		return NULL;
	predictor->core = core;
	predictor->btb_mask = core->btb_entries / core->btb_ways - 1;
	predictor->bimodal = malloc(core->bimodal_entries);
	predictor->btb = calloc(core->btb_entries, sizeof(*predictor->btb));
	predictor->ras = calloc(core->ras_entries, sizeof(*predictor->ras));
	predictor->indirect = calloc(core->indirect_entries, sizeof(*predictor->indirect));
	made = predictor->bimodal && predictor->btb && predictor->ras && predictor->indirect;
	predictor->newest = HISTORY_KEPT - 1;
	folded_create(&predictor->index, index_bits);
	folded_create(&predictor->tag[0], core->tage_tag_bits);
	folded_create(&predictor->tag[1], core->tage_tag_bits - 1);
	for (uint32_t i = 0; made && i < core->tage_tables; i++) {
		double share = core->tage_tables > 1 ? i / (double)(core->tage_tables - 1) : 0;
		uint32_t length =
			(uint32_t)lround(core->history_min *
					 pow((double)core->history_max / core->history_min, share));

		predictor->entry[i] = calloc(core->tage_entries, sizeof(*predictor->entry[i]));
		made = predictor->entry[i] != NULL;
		predictor->leaves[i] = -(ptrdiff_t)length;
		predictor->index.out.table[i] = 1u << length % predictor->index.bits;
		for (uint32_t j = 0; j < 2; j++)
			predictor->tag[j].out.table[i] = 1u << length % predictor->tag[j].bits;
	}
	if (!made) {
		predictor_free(predictor);
		return NULL;
	}
	memset(predictor->bimodal, 1, core->bimodal_entries);
	return predictor;
}

void predictor_free(struct predictor *predictor)
{
	if (!predictor)
		return;
	for (uint32_t i = 0; i < TABLES_MAX; i++)
		free(predictor->entry[i]);
	free(predictor->bimodal);
	free(predictor->btb);
	free(predictor->ras);
	free(predictor->indirect);
	free(predictor);
}

static void push_history(struct predictor *predictor, bool taken)
{
	uint32_t tables = predictor->core->tage_tables, *newest;
	lanes in = (lanes){0} + (uint32_t)taken;

	if (++predictor->newest == HISTORY_ROOM) {
		memcpy(predictor->history, &predictor->history[HISTORY_ROOM - HISTORY_KEPT],
		       HISTORY_KEPT * sizeof(*predictor->history));
		predictor->newest = HISTORY_KEPT;
	}
	newest = &predictor->history[predictor->newest];
	*newest = -(uint32_t)taken;
	for (uint32_t i = 0; i < tables; i += LANES) {
		const ptrdiff_t *leaves = &predictor->leaves[i];
		/*
		 * Built in a register: a vector load just after narrower stores would stall on
		 * store forwarding.
		 */
		lanes leaving = {newest[leaves[0]], newest[leaves[1]], newest[leaves[2]],
				 newest[leaves[3]]};

		folded_push(&predictor->index, i / LANES, in, leaving);
		folded_push(&predictor->tag[0], i / LANES, in, leaving);
		folded_push(&predictor->tag[1], i / LANES, in, leaving);
	}
}

static void train(int8_t *counter, bool taken)
{
	if (taken && *counter < 3)
		(*counter)++;
	else if (!taken && *counter > -4)
		(*counter)--;
}

/* A misprediction allocates an entry in a table with longer history. */
static void allocate(struct predictor *predictor, uint32_t from, struct tage_entry **entry,
		     const uint32_t *tag, bool taken)
{
	uint32_t tables = predictor->core->tage_tables;

	/* Skip a table now and then, so that not all branches compete for the same entry. */
	if (from + 1 < tables && (predictor->allocations++ & 3) == 3)
		from++;
	for (uint32_t i = from; i < tables; i++) {
		if (!entry[i]->useful) {
			*entry[i] = (struct tage_entry){(uint16_t)tag[i], taken ? 0 : -1, 0};
			return;
		}
	}
	for (uint32_t i = from; i < tables; i++)
		entry[i]->useful--;
}

/* The table with the longest history; `tables` has one bit per table; -1: none. */
static inline int longest(uint32_t tables)
{
	return tables ? 31 - __builtin_clz(tables) : -1;
}

/* Predict the direction of a conditional branch, update, and return the prediction. */
static bool direction(struct predictor *predictor, uint64_t pc, bool taken)
{
	const struct pesa_core *core = predictor->core;
	uint32_t tables = core->tage_tables;
	uint8_t *bimodal = &predictor->bimodal[(pc >> 1) & (core->bimodal_entries - 1)];
	struct tage_entry *entry[TABLES_MAX];
	union by_table tag;
	uint32_t place = (uint32_t)(pc >> 1), hits = 0;
	int provider, alternate;
	bool base = *bimodal >= 2, predicted, provided = base, other = base, weak = false;

	for (uint32_t i = 0; i * LANES < tables; i++)
		tag.lanes[i] = (((lanes){0} + place) ^ predictor->tag[0].value.lanes[i] ^
				predictor->tag[1].value.lanes[i] << 1) &
			       predictor->tag[0].mask;
	for (uint32_t i = 0; i < tables; i++) {
		uint32_t mix = place ^ (uint32_t)(pc >> (10 + i));

		entry[i] = &predictor->entry[i][(mix ^ predictor->index.value.table[i]) &
						(core->tage_entries - 1)];
		hits |= (uint32_t)(entry[i]->tag == tag.table[i]) << i;
	}
	provider = longest(hits);
	alternate = hits ? longest(hits ^ 1u << provider) : -1;
	if (alternate >= 0)
		other = entry[alternate]->counter >= 0;
	if (provider >= 0) {
		provided = entry[provider]->counter >= 0;
		weak = (entry[provider]->counter == 0 || entry[provider]->counter == -1) &&
		       !entry[provider]->useful;
	}
	predicted = weak && predictor->use_alternate >= 0 ? other : provided;

	if (provider >= 0) {
		if (weak && provided != other) {
			int *use = &predictor->use_alternate;

			if (other == taken && *use < 7)
				(*use)++;
			else if (other != taken && *use > -8)
				(*use)--;
		}
		if (provided != other) {
			uint8_t *useful = &entry[provider]->useful;

			if (provided == taken && *useful < 3)
				(*useful)++;
			else if (provided != taken && *useful)
				(*useful)--;
		}
		train(&entry[provider]->counter, taken);
	}
	if (provider < 0 || (alternate < 0 && weak)) {
		if (taken && *bimodal < 3)
			(*bimodal)++;
		else if (!taken && *bimodal)
			(*bimodal)--;
	}
	if (predicted != taken && provider < (int)tables - 1)
		allocate(predictor, (uint32_t)(provider + 1), entry, tag.table, taken);
	/* Age the useful counters from time to time. */
	if (tables && ++predictor->age >= 1u << 18) {
		predictor->age = 0;
		for (uint32_t i = 0; i < tables; i++)
			for (uint32_t j = 0; j < core->tage_entries; j++)
				predictor->entry[i][j].useful >>= 1;
	}
	push_history(predictor, taken);
	return predicted;
}

/* The target in the branch target buffer, 0: none; then update the buffer. */
static uint64_t btb_step(struct predictor *predictor, uint64_t pc, bool taken, uint64_t target)
{
	uint32_t ways = predictor->core->btb_ways;
	struct btb_entry *set = predictor->btb + ((pc >> 1) & predictor->btb_mask) * ways;
	uint64_t known = 0;
	uint32_t way = 0;

	while (way < ways - 1 && set[way].pc != pc)
		way++;
	if (set[way].pc == pc)
		known = set[way].target;
	else if (!taken)
		return 0;
	struct btb_entry entry = {pc, taken ? target : known};
	for (; way; way--)
		set[way] = set[way - 1];
	set[0] = entry;
	return known;
}

static enum prediction indirect_step(struct predictor *predictor, const struct insn *insn,
				     uint64_t known, uint64_t target)
{
	uint64_t key = insn->pc ^ predictor->path << 1;
	uint64_t index =
		(key >> 1 ^ key >> 11 ^ key >> 23) & (predictor->core->indirect_entries - 1);
	struct indirect_entry *entry = &predictor->indirect[index];
	uint64_t predicted = entry->key == key ? entry->target : known;

	entry->key = key;
	entry->target = target;
	return predicted == target ? PREDICTION_RIGHT : PREDICTION_WRONG;
}

static void push_return(struct predictor *predictor, const struct insn *insn)
{
	if (++predictor->ras_top == predictor->core->ras_entries)
		predictor->ras_top = 0;
	predictor->ras[predictor->ras_top] = insn->pc + insn->length;
}

static enum prediction pop_return(struct predictor *predictor, uint64_t target)
{
	uint64_t predicted = predictor->ras[predictor->ras_top];

	if (!predictor->ras_top--)
		predictor->ras_top = predictor->core->ras_entries - 1;
	return predicted == target ? PREDICTION_RIGHT : PREDICTION_WRONG;
}

enum prediction predictor_step(struct predictor *predictor, const struct insn *insn, bool taken,
			       uint64_t target)
{
	enum prediction result = PREDICTION_RIGHT;
	uint64_t known = btb_step(predictor, insn->pc, taken, target);

	switch (insn->flow) {
	case PESA_FLOW_BRANCH:
		if (direction(predictor, insn->pc, taken) != taken)
			result = PREDICTION_WRONG;
		else if (taken && known != target)
			result = PREDICTION_LATE;
		break;
	case PESA_FLOW_JUMP:
	case PESA_FLOW_CALL:
		if (known != target)
			result = PREDICTION_LATE;
		if (insn->flow == PESA_FLOW_CALL)
			push_return(predictor, insn);
		break;
	case PESA_FLOW_INDIRECT:
	case PESA_FLOW_INDIRECT_CALL:
		result = indirect_step(predictor, insn, known, target);
		if (insn->flow == PESA_FLOW_INDIRECT_CALL)
			push_return(predictor, insn);
		break;
	case PESA_FLOW_RETURN:
		result = pop_return(predictor, target);
		break;
	case PESA_FLOW_COROUTINE:
		result = pop_return(predictor, target);
		push_return(predictor, insn);
		break;
	default:
		return PREDICTION_RIGHT;
	}
	if (taken)
		predictor->path = (predictor->path << 3 ^ target >> 1) & 0xffffffffff;
	return result;
}
