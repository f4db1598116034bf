// SPDX-License-Identifier: GPL-2.0-or-later
/* Counted records -> walks -> store: see loader.h and Documentation/walk.md. */
#include <stdlib.h>
#include <string.h>

#include "decoder/profile/loader.h"
#include "pesa/csr.h"

/* ---- Addresses of the record being walked ---------------------------------------------------- */

void profile_text_begin(struct profile_loader *loader, const struct pesa_layout *layout)
{
	loader->text = (struct profile_text){.layout = layout};
}

struct pesa_error *profile_text_end(struct profile_loader *loader)
{
	struct pesa_error *error = loader->text.error;

	loader->text.error = NULL;
	return error;
}

static void note(struct profile_text *text, struct pesa_error *error)
{
	if (text->error)
		pesa_error_free(error);
	else
		text->error = error;
}

/* Find the mapping of an address that is not in the last mapping, and open its dso. */
static const struct pesa_mapping *find_other_mapping(struct profile_loader *loader,
						     uint64_t address)
{
	struct profile_text *text = &loader->text;
	const struct pesa_mapping *mapping = pesa_layout_find(text->layout, address);

	if (!mapping)
		mapping = pesa_layout_find(pesa_spaces_kernel(loader->profile->spaces), address);
	if (mapping)
		note(text, pesa_binaries_open(loader->profile->binaries, mapping->dso));
	text->mapping = mapping;
	return mapping;
}

static inline const struct pesa_mapping *find_mapping(struct profile_loader *loader,
						      uint64_t address)
{
	const struct pesa_mapping *mapping = loader->text.mapping;

	if (mapping && address >= mapping->start && address < mapping->end)
		return mapping;
	return find_other_mapping(loader, address);
}

void profile_locate(struct profile_loader *loader, uint64_t address, uint32_t *dso, uint64_t *place)
{
	const struct pesa_mapping *mapping = find_mapping(loader, address);

	*dso = mapping ? mapping->dso : 0;
	*place = mapping ? pesa_binaries_address(loader->profile->binaries, mapping, address)
			 : address;
}

struct pesa_place profile_locate_for_listener(void *locator, uint64_t address)
{
	struct profile_loader *loader = locator;
	struct pesa_place place;

	profile_locate(loader, address, &place.dso, &place.address);
	if (place.dso >= loader->located_count) {
		uint32_t count = pesa_spaces_dso_count(loader->profile->spaces);
		bool *grown = realloc(loader->located, count * sizeof(*grown));

		if (!grown) {
			note(&loader->text, pesa_error_no_memory());
			return place;
		}
		memset(grown + loader->located_count, 0,
		       (count - loader->located_count) * sizeof(*grown));
		loader->located = grown;
		loader->located_count = count;
	}
	loader->located[place.dso] = true;
	return place;
}

enum pesa_text_status profile_text_at(void *context, uint64_t address, struct pesa_text_insn *insn)
{
	struct profile_loader *loader = context;
	uint32_t dso;
	uint64_t place;
	enum pesa_text_status status;

	if (!find_mapping(loader, address))
		return PESA_TEXT_UNMAPPED;
	profile_locate(loader, address, &dso, &place);
	status = pesa_binaries_instruction(loader->profile->binaries, dso, place, insn);
	if (status == PESA_TEXT_OK && insn->has_target)
		insn->target += address - place;
	return status;
}

/* ---- Adding walked records to the store ------------------------------------------------------ */

/* The result of one walk for one instruction. */
struct gathered {
	uint32_t instruction;
	struct pesa_part part[PESA_WALK_STEPS_MAX];
	unsigned int parts;
	struct pesa_retirements retired;
};

static void gather_part(struct gathered *gathered, const struct pesa_step *step)
{
	unsigned int i;

	for (i = 0; i < gathered->parts; i++)
		if (gathered->part[i].state == step->state &&
		    gathered->part[i].cause == step->cause)
			break;
	if (i == gathered->parts)
		gathered->part[gathered->parts++] =
			(struct pesa_part){.state = step->state, .cause = step->cause};
	gathered->part[i].weight += step->weight;
}

static void gather_retirement(struct pesa_retirements *retired, const struct pesa_step *step)
{
	bool taken = step->transfer == PESA_STEP_TRANSFER_TAKEN;

	retired->all++;
	retired->transfers_known += step->transfer != PESA_STEP_TRANSFER_UNKNOWN;
	retired->transfers_taken += taken;
	retired->mispredicted[taken] += !!(step->cause & PESA_CAUSE_BRANCH_MISPREDICT);
}

/* Gather steps by instruction: one that retires twice in a cycle gets one, larger share of it. */
static struct pesa_error *gather(struct profile_loader *loader,
				 const struct pesa_walk_result *result,
				 const struct pesa_place *place, struct gathered *gathered,
				 unsigned int *count)
{
	*count = 0;
	for (unsigned int i = 0; i < result->step_count; i++) {
		const struct pesa_step *step = &result->step[i];
		uint32_t instruction;
		unsigned int j;

		if (step->role == PESA_ROLE_BLAMED)
			continue;
		instruction = pesa_profile_store_get(loader->store, place[i].dso, place[i].address);
		if (instruction == UINT32_MAX)
			return pesa_error_no_memory();
		for (j = 0; j < *count; j++)
			if (gathered[j].instruction == instruction)
				break;
		if (j == *count) {
			gathered[j].instruction = instruction;
			gathered[j].parts = 0;
			gathered[j].retired = (struct pesa_retirements){0};
			++*count;
		}
		gather_part(&gathered[j], step);
		if (step->role == PESA_ROLE_RETIRED)
			gather_retirement(&gathered[j].retired, step);
	}
	return NULL;
}

/* Whether the sample says that an instruction which transferred control was mispredicted. */
static bool was_mispredicted(const struct pesa_walk_result *result, uint64_t address)
{
	for (unsigned int i = 0; i < result->step_count; i++) {
		const struct pesa_step *step = &result->step[i];

		if (step->role == PESA_ROLE_RETIRED && step->address == address &&
		    step->transfer == PESA_STEP_TRANSFER_TAKEN &&
		    step->cause & PESA_CAUSE_BRANCH_MISPREDICT)
			return true;
	}
	return false;
}

static struct pesa_error *add_edges(struct profile_loader *loader,
				    const struct pesa_walk_result *result, uint64_t periods)
{
	for (unsigned int i = 0; i < result->transfer_count; i++) {
		uint32_t dso, target_dso, instruction;
		struct pesa_error *error;
		uint64_t place, target;

		profile_locate(loader, result->transfer[i].from, &dso, &place);
		instruction = pesa_profile_store_get(loader->store, dso, place);
		if (instruction == UINT32_MAX)
			return pesa_error_no_memory();
		profile_locate(loader, result->transfer[i].to, &target_dso, &target);
		error = pesa_profile_store_edge(
			loader->store, instruction, target_dso, target, periods,
			was_mispredicted(result, result->transfer[i].from) ? periods : 0);
		if (error)
			return error;
	}
	return NULL;
}

const struct pesa_capabilities *profile_capabilities_of(struct profile_loader *loader)
{
	const struct pesa_capabilities *found = pesa_perfdata_capabilities(loader->reader);

	return found ? found : &loader->profile->capabilities;
}

static struct pesa_error *tell_walked(struct profile_loader *loader,
				      const struct pesa_record *record,
				      const struct pesa_counted_record *counted,
				      const struct pesa_walk_result *result,
				      const struct pesa_place *place)
{
	const struct pesa_profile_listener *listener = loader->options->listener;
	const struct pesa_walked_record walked = {
		.record = record,
		.result = result,
		.place = place,
		.capabilities = profile_capabilities_of(loader),
		.samples = counted->times.samples,
		.periods = counted->times.periods,
		.periods_squared = counted->times.periods_squared,
		.group = counted->group,
		.locate = profile_locate_for_listener,
		.locator = loader,
	};

	return listener && listener->walked ? listener->walked(listener->context, &walked) : NULL;
}

/* Add what a walk found to the store. */
static struct pesa_error *add_walked(struct profile_loader *loader,
				     const struct pesa_counted_record *counted,
				     const struct pesa_walk_result *result,
				     const struct pesa_place *place)
{
	struct gathered gathered[PESA_WALK_STEPS_MAX];
	struct pesa_error *error;
	unsigned int count;

	error = gather(loader, result, place, gathered, &count);
	if (error)
		return error;
	for (unsigned int i = 0; i < count; i++) {
		error = pesa_profile_store_add(loader->store, gathered[i].instruction,
					       &counted->times, gathered[i].part, gathered[i].parts,
					       &gathered[i].retired);
		if (error)
			return error;
	}
	return add_edges(loader, result, counted->times.periods);
}

/* Callback of pesa_record_table_empty(). */
static struct pesa_error *walk_record(void *context, const struct pesa_counted_record *counted,
				      const struct pesa_branch_entry *branches)
{
	struct profile_loader *loader = context;
	struct pesa_profile_totals *totals = &loader->profile->totals;
	const struct pesa_text text = {profile_text_at, loader};
	struct pesa_place place[PESA_WALK_STEPS_MAX];
	struct pesa_error *error, *text_error;
	struct pesa_walk_result result;
	const struct pesa_record record = {
		.version = PESA_RECORD_VERSION,
		.xlen = counted->xlen,
		.size = PESA_RECORD_SIZE,
		.flags = counted->flags,
		.pc = counted->pc,
		.details = counted->details,
		.bt = {counted->bt[0], counted->bt[1]},
	};

	profile_text_begin(loader, counted->layout);
	pesa_walk(&record, &text, branches, counted->branch_count, &result);
	totals->distinct_records++;
	for (unsigned int i = 0; i < PESA_UNATTRIBUTED_REASONS; i++)
		totals->unattributed[i] += result.unattributed[i] * counted->times.periods;
	for (unsigned int i = 0; i < result.step_count; i++)
		profile_locate(loader, result.step[i].address, &place[i].dso, &place[i].address);
	error = tell_walked(loader, &record, counted, &result, place);
	if (!error)
		error = add_walked(loader, counted, &result, place);
	text_error = profile_text_end(loader);
	if (!error)
		return text_error;
	pesa_error_free(text_error);
	return error;
}

struct pesa_error *profile_walk_all(struct profile_loader *loader)
{
	return pesa_record_table_empty(loader->table, walk_record, loader);
}
