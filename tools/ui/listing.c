/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ui/listing.h"

/* Longest instruction of any encoding, bytes. */
#define INSTRUCTION_MAX 8
/* Code without symbols is split at gaps of more than this many bytes. */
#define GAP_MAX 64

struct isa_slot {
	bool tried;
	const char *name;     /* NULL: not RISC-V, or unknown */
	struct pesa_isa *isa; /* ISA of that name; NULL: not supported */
};

/*
 * All ratified extensions: a binary may use extensions that its ISA string lacks, after checking
 * for them at run time (a vectorised memcpy, for example).
 */
struct every_isa {
	bool tried;
	struct pesa_isa *isa;
};

struct listing_isas {
	struct isa_slot *slot; /* by dso */
	uint32_t count;
	struct every_isa every[2]; /* rv32, rv64 */
};

struct listing_isas *listing_isas_create(const struct profile_input *input)
{
	struct listing_isas *isas = calloc(1, sizeof(*isas));

	if (!isas)
		return NULL;
	isas->count = pesa_profile_dso_count(input->profile);
	isas->slot = calloc((size_t)isas->count + 1, sizeof(*isas->slot));
	if (!isas->slot) {
		free(isas);
		return NULL;
	}
	return isas;
}

void listing_isas_free(struct listing_isas *isas)
{
	if (!isas)
		return;
	for (uint32_t i = 0; i < isas->count; i++)
		pesa_isa_free(isas->slot[i].isa);
	for (unsigned int i = 0; i < 2; i++)
		pesa_isa_free(isas->every[i].isa);
	free(isas->slot);
	free(isas);
}

/* NULL: there is no such dso.  An ISA that cannot be created stays NULL. */
static struct isa_slot *slot_of(const struct profile_input *input, struct listing_isas *isas,
				uint32_t dso)
{
	struct pesa_error *error;
	struct isa_slot *slot;

	if (dso >= isas->count)
		return NULL;
	slot = &isas->slot[dso];
	if (slot->tried)
		return slot;
	slot->tried = true;
	slot->name = pesa_profile_isa(input->profile, dso);
	if (!slot->name)
		return slot;
	error = pesa_isa_create(slot->name, &slot->isa);
	if (error) {
		/* The extension is newer than the tables: disassemble the rest. */
		profile_complain(input->command, "%s: %s: disassembled as %.4s",
				 pesa_profile_dso(input->profile, dso)->path, error->message,
				 slot->name);
		pesa_error_free(error);
		slot->isa = NULL;
	}
	return slot;
}

static const struct pesa_isa *every_isa(const struct profile_input *input,
					struct listing_isas *isas, const char *name)
{
	bool wide = strncmp(name, "rv32", 4) != 0;
	struct every_isa *every = &isas->every[wide];

	if (!every->tried) {
		struct pesa_error *error = pesa_isa_create(wide ? "rv64" : "rv32", &every->isa);

		every->tried = true;
		if (error) {
			profile_fail(input->command, error);
			every->isa = NULL;
		}
	}
	return every->isa;
}

/* Print the bytes of an unknown instruction, whose length is in its encoding. */
static void print_unknown(const uint8_t *bytes, size_t size, struct listing_row *row)
{
	unsigned int length = pesa_insn_length((uint16_t)(bytes[0] | bytes[1] << 8));
	uint64_t value = 0;

	if (!length || length > size)
		length = 2;
	for (unsigned int i = length; i-- > 0;)
		value = value << 8 | bytes[i];
	if (length == 2)
		snprintf(row->text, sizeof(row->text), ".half 0x%04" PRIx64, value);
	else if (length == 4)
		snprintf(row->text, sizeof(row->text), ".word 0x%08" PRIx64, value);
	else
		snprintf(row->text, sizeof(row->text), ".insn %u, 0x%0*" PRIx64, length,
			 (int)length * 2, value);
	row->length = length;
}

/* Replace the disassembler's tabs by single blanks. */
static void tidy(char *text)
{
	char *out = text;

	text += strspn(text, " \t");
	for (; *text; text++)
		*out++ = *text == '\t' ? ' ' : *text;
	*out = '\0';
}

void listing_decode(const struct profile_input *input, struct listing_isas *isas, uint32_t dso,
		    struct listing_row *row)
{
	const struct isa_slot *slot = slot_of(input, isas, dso);
	const struct pesa_isa *isa;
	uint8_t bytes[INSTRUCTION_MAX];
	struct pesa_insn insn;
	size_t size;

	row->text[0] = '\0';
	row->length = 0;
	row->has_target = false;
	if (!slot || !slot->name)
		return;
	size = pesa_profile_text(input->profile, dso, row->address, bytes, sizeof(bytes));
	if (size < 2)
		return;
	isa = slot->isa;
	if (!isa || !pesa_insn_decode(isa, bytes, size, &insn)) {
		isa = every_isa(input, isas, slot->name);
		if (!isa || !pesa_insn_decode(isa, bytes, size, &insn)) {
			print_unknown(bytes, size, row);
			return;
		}
	}
	pesa_insn_print(isa, &insn, row->address, PESA_PRINT_ADDRESSES, row->text,
			sizeof(row->text));
	tidy(row->text);
	row->length = insn.length;
	row->has_target = pesa_insn_target(&insn, row->address, &row->target);
	row->conditional = pesa_insn_flow(&insn) == PESA_FLOW_BRANCH;
}

/* Index of the first instruction of the profile at or after an address of a dso. */
static size_t lower_bound(const struct pesa_profile *profile, uint32_t dso, uint64_t address)
{
	size_t low = 0, high = pesa_profile_instruction_count(profile);

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct pesa_instruction *one = pesa_profile_instruction(profile, middle);

		if (one->dso < dso || (one->dso == dso && one->address < address))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct listing_row *new_row(struct listing *listing)
{
	if (listing->count == listing->room) {
		size_t room = listing->room ? listing->room * 2 : 64;
		struct listing_row *grown = realloc(listing->row, room * sizeof(*grown));

		if (!grown)
			return NULL;
		listing->row = grown;
		listing->room = room;
	}
	listing->row[listing->count] = (struct listing_row){0};
	return &listing->row[listing->count++];
}

struct pesa_error *listing_add(struct listing *listing, const struct profile_input *input,
			       struct listing_isas *isas, uint32_t dso, uint64_t start,
			       uint64_t end)
{
	const struct pesa_profile *profile = input->profile;
	size_t index = lower_bound(profile, dso, start);
	size_t count = pesa_profile_instruction_count(profile);

	for (uint64_t address = start; address < end;) {
		const struct pesa_instruction *next =
			index < count ? pesa_profile_instruction(profile, index) : NULL;
		struct listing_row *row;

		if (next && (next->dso != dso || next->address >= end))
			next = NULL;
		row = new_row(listing);
		if (!row)
			return pesa_error_no_memory();
		row->address = address;
		listing_decode(input, isas, dso, row);
		if (!row->length && (!next || next->address != address)) {
			/* No text: continue with the next sampled instruction. */
			listing->count--;
			if (!next)
				break;
			address = next->address;
			continue;
		}
		/* Data between instructions: resynchronise with the sampled instructions. */
		if (next && next->address > address && next->address < address + row->length) {
			snprintf(row->text, sizeof(row->text), "(data)");
			row->length = (unsigned int)(next->address - address);
		}
		if (row->length)
			listing->disassembled = true;
		if (next && next->address == address) {
			row->instruction = next;
			listing->weight += next->weight;
			if (next->weight > listing->hottest)
				listing->hottest = next->weight;
			index++;
		}
		address += row->length ? row->length : 1;
	}
	return NULL;
}

struct pesa_error *listing_function(struct listing *listing, const struct profile_input *input,
				    struct listing_isas *isas, uint32_t dso,
				    const struct pesa_symbol *symbol)
{
	const struct pesa_profile *profile = input->profile;
	size_t count = pesa_profile_instruction_count(profile);
	uint64_t start = 0, end = 0;

	if (symbol)
		return listing_add(listing, input, isas, dso, symbol->start,
				   symbol->start + symbol->size);
	for (size_t i = lower_bound(profile, dso, 0); i < count; i++) {
		const struct pesa_instruction *one = pesa_profile_instruction(profile, i);
		const struct pesa_symbol *named;
		struct pesa_error *error;

		if (one->dso != dso)
			break;
		error = pesa_symbols_find(input->symbols, one->dso, one->address, &named);
		if (error)
			return error;
		if (named)
			continue;
		if (end && one->address - end > GAP_MAX) {
			error = listing_add(listing, input, isas, dso, start, end);
			if (error)
				return error;
			end = 0;
		}
		if (!end)
			start = one->address;
		end = one->address + 2;
	}
	return end ? listing_add(listing, input, isas, dso, start, end) : NULL;
}

void listing_free(struct listing *listing)
{
	free(listing->row);
	*listing = (struct listing){0};
}

/* ---- Measured values of an instruction ------------------------------------------------------ */

static void add_cost(const struct profile_input *input, const struct pesa_instruction *instruction,
		     json_object *result)
{
	struct pesa_estimate cost =
		pesa_estimate_cycles_per_execution(input->profile, instruction, PROFILE_CONFIDENCE);
	struct pesa_estimate taken =
		pesa_estimate_taken(input->profile, instruction, PROFILE_CONFIDENCE);

	json_object_object_add(result, "cycles_per_execution",
			       cost.enough ? ui_json_number(cost.value) : NULL);
	json_object_object_add(result, "cycles_per_execution_interval",
			       profile_json_interval(cost));
	json_object_object_add(result, "cycles_interval",
			       profile_json_interval(pesa_estimate_cycles(
				       input->profile, instruction, PROFILE_CONFIDENCE)));
	json_object_object_add(result, "executions_interval",
			       profile_json_interval(pesa_estimate_executions(
				       input->profile, instruction, PROFILE_CONFIDENCE)));
	if (instruction->edges) {
		json_object_object_add(result, "taken",
				       taken.enough ? ui_json_number(taken.value) : NULL);
		json_object_object_add(result, "taken_interval", profile_json_interval(taken));
	}
}

static json_object *edges_json(const struct profile_input *input,
			       const struct pesa_instruction *instruction)
{
	json_object *edges = json_object_new_array();

	for (unsigned int i = 0; i < instruction->edges; i++) {
		const struct pesa_edge *edge = &instruction->edge[i];
		json_object *one = json_object_new_object();
		const struct pesa_dso *dso =
			edge->target_dso < pesa_profile_dso_count(input->profile)
				? pesa_profile_dso(input->profile, edge->target_dso)
				: NULL;

		json_object_object_add(one, "target", ui_json_count(edge->target));
		json_object_object_add(one, "dso", ui_json_string(dso ? dso->path : NULL));
		json_object_object_add(one, "count", ui_json_count(edge->count));
		json_object_array_add(edges, one);
	}
	return edges;
}

struct pesa_error *listing_json(const struct profile_input *input, uint32_t dso,
				const struct listing_row *row, json_object **object)
{
	static const struct pesa_instruction unseen;
	const struct pesa_instruction *instruction = row->instruction ? row->instruction : &unseen;
	struct cycle_stack stack = {0};
	struct pesa_error *error = cycle_stack_add(&stack, instruction);
	json_object *result;

	if (error) {
		cycle_stack_free(&stack);
		return error;
	}
	result = json_object_new_object();
	json_object_object_add(result, "address", ui_json_count(row->address));
	json_object_object_add(result, "text", ui_json_string(row->text));
	json_object_object_add(result, "length", ui_json_count(row->length));
	json_object_object_add(result, "dso",
			       ui_json_string(pesa_profile_dso(input->profile, dso)->path));
	json_object_object_add(result, "cycles", ui_json_number(cycles_of(instruction->weight)));
	json_object_object_add(result, "share",
			       ui_json_number(profile_share(input, instruction->weight)));
	json_object_object_add(result, "executions",
			       ui_json_count(profile_executions(input, instruction)));
	json_object_object_add(result, "samples", ui_json_count(instruction->samples));
	if (row->instruction) {
		add_cost(input, instruction, result);
	} else {
		json_object_object_add(result, "cycles_per_execution", NULL);
		json_object_object_add(result, "cycles_per_execution_interval", NULL);
	}
	json_object_object_add(result, "stack",
			       cycle_stack_json(&stack, pesa_profile_capabilities(input->profile)));
	cycle_stack_free(&stack);
	if (instruction->edges)
		json_object_object_add(result, "edges", edges_json(input, instruction));
	*object = result;
	return NULL;
}

const char *listing_cost(const struct profile_input *input, const struct ui_terminal *terminal,
			 const struct pesa_instruction *instruction, char *buffer, size_t size)
{
	struct pesa_estimate cost;
	int decimals;

	buffer[0] = '\0';
	if (!instruction || input->plain || (!instruction->weight && !instruction->executions))
		return buffer;
	cost = pesa_estimate_cycles_per_execution(input->profile, instruction, PROFILE_CONFIDENCE);
	if (!cost.enough) {
		snprintf(buffer, size, "too few");
		return buffer;
	}
	decimals = cost.value < 100 ? 2 : cost.value < 1000 ? 1 : 0;
	if (pesa_profile_totals(input->profile)->exact)
		snprintf(buffer, size, "%.*f", decimals, cost.value);
	else
		snprintf(buffer, size, "%.*f %s%.*f", decimals, cost.value,
			 terminal->utf8 ? "±" : "+-", decimals, (cost.high - cost.low) / 2);
	return buffer;
}
