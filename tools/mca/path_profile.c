/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths through a program from a profile, see path.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pesa/profile.h"
#include "pesa/symbols.h"
#include "tools/mca/path.h"

#define CALLS_MAX 4096

/* How often the path executed an instruction so far, and took each of its successors. */
struct branch_state {
	uint64_t visits;
	uint64_t *chosen;
};

struct walker {
	const struct mca_path_from *from;
	const struct pesa_profile *profile;
	uint32_t dso;
	size_t first, count; /* instructions of the dso in the profile */
	struct branch_state *states;
	uint64_t calls[CALLS_MAX]; /* stack of return addresses; the oldest are overwritten */
	unsigned int depth;
	struct mca_path *path;
};

/* ---- The program in the profile ------------------------------------------------------------ */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool same_file(const struct walker *walker, const struct pesa_dso *dso)
{
	unsigned int size;
	const uint8_t *id = pesa_image_build_id(walker->from->image, &size);

	if (dso->kind != PESA_DSO_FILE)
		return false;
	if (size && dso->build_id_size)
		return size == dso->build_id_size && !memcmp(id, dso->build_id, size);
	return !strcmp(base_name(dso->path), base_name(walker->from->program));
}

static struct pesa_error *find_program(struct walker *walker)
{
	unsigned int dsos = pesa_profile_dso_count(walker->profile);
	size_t total = pesa_profile_instruction_count(walker->profile);

	for (walker->dso = 0; walker->dso < dsos; walker->dso++)
		if (same_file(walker, pesa_profile_dso(walker->profile, walker->dso)))
			break;
	if (walker->dso == dsos)
		return pesa_error_create(
			PESA_ERROR_NOT_FOUND,
			"%s: %s was not measured; pesa list shows the measured binaries",
			walker->from->profile, walker->from->program);
	for (size_t i = 0; i < total; i++)
		if (pesa_profile_instruction(walker->profile, i)->dso == walker->dso) {
			walker->first = walker->count ? walker->first : i;
			walker->count++;
		}
	if (!walker->count)
		return pesa_error_create(PESA_ERROR_NOT_FOUND, "%s: there are no samples of %s",
					 walker->from->profile, walker->from->program);
	walker->states = calloc(walker->count, sizeof(*walker->states));
	return walker->states ? NULL : pesa_error_no_memory();
}

/* The index of an instruction among those of the dso; walker->count: it was not measured. */
static size_t find_instruction(const struct walker *walker, uint64_t address)
{
	size_t low = 0, high = walker->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pesa_profile_instruction(walker->profile, walker->first + middle)->address <
		    address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < walker->count &&
	    pesa_profile_instruction(walker->profile, walker->first + low)->address != address)
		low = walker->count;
	return low;
}

/* The start of the function with the instruction executed most often. */
static struct pesa_error *hottest(const struct walker *walker, uint64_t *entry)
{
	const struct pesa_symbol *symbol;
	struct pesa_symbols *symbols;
	struct pesa_error *error;

	const struct pesa_instruction *best =
		pesa_profile_instruction(walker->profile, walker->first);

	for (size_t i = 1; i < walker->count; i++) {
		const struct pesa_instruction *other =
			pesa_profile_instruction(walker->profile, walker->first + i);

		if (other->executions > best->executions)
			best = other;
	}
	error = pesa_symbols_create(walker->profile, NULL, &symbols);
	if (error)
		return error;
	error = pesa_symbols_find(symbols, walker->dso, best->address, &symbol);
	if (!error)
		*entry = symbol ? symbol->start : best->address;
	pesa_symbols_free(symbols);
	return error;
}

/* ---- Choosing successors ------------------------------------------------------------------- */

/* Choose the successor that is furthest behind its share of the visits, including this one. */
static bool choose(struct branch_state *state, const uint64_t *weights, unsigned int count,
		   unsigned int *choice)
{
	double total = 0, most = 0;

	if (!state->chosen)
		state->chosen = calloc(count, sizeof(*state->chosen));
	if (!state->chosen)
		return false;
	for (unsigned int i = 0; i < count; i++)
		total += weights[i];
	state->visits++;
	*choice = 0;
	for (unsigned int i = 0; i < count; i++) {
		double behind = weights[i] / total * state->visits - state->chosen[i];

		if (weights[i] && (!most || behind > most)) {
			most = behind;
			*choice = i;
		}
	}
	state->chosen[*choice]++;
	return true;
}

enum step { STEP_ON, STEP_END, STEP_NO_MEMORY };

/* End the walk.  The path keeps the first reason only, because it can be restarted. */
static enum step end(struct walker *walker, enum mca_path_end reason, uint64_t address)
{
	if (walker->path->end == MCA_PATH_COMPLETE) {
		walker->path->end = reason;
		walker->path->end_address = address;
	}
	return STEP_END;
}

static void push(struct walker *walker, uint64_t address)
{
	if (walker->depth == CALLS_MAX) {
		memmove(walker->calls, walker->calls + 1, (CALLS_MAX - 1) * sizeof(*walker->calls));
		walker->depth--;
	}
	walker->calls[walker->depth++] = address;
}

static enum step step_conditional(struct walker *walker, uint64_t *address, uint64_t target,
				  uint64_t next)
{
	size_t index = find_instruction(walker, *address);
	const struct pesa_instruction *instruction;
	unsigned int choice;
	uint64_t weights[2];

	if (index == walker->count)
		return end(walker, MCA_PATH_UNMEASURED, *address);
	instruction = pesa_profile_instruction(walker->profile, walker->first + index);
	if (!instruction->transfers_known)
		return end(walker, MCA_PATH_UNMEASURED, *address);
	weights[0] = instruction->transfers_taken;
	weights[1] = instruction->transfers_known - instruction->transfers_taken;
	if (!choose(&walker->states[index], weights, 2, &choice))
		return STEP_NO_MEMORY;
	*address = choice ? next : target;
	return STEP_ON;
}

/*
 * Control goes to another binary or to unmeasured code: continue at the return address, which after
 * a tail call is that of the caller.
 */
static enum step step_over(struct walker *walker, uint64_t *address, uint64_t next, bool call)
{
	if (!call && !walker->depth)
		return end(walker, MCA_PATH_LEFT, *address);
	walker->path->outside++;
	*address = call ? next : walker->calls[--walker->depth];
	return STEP_ON;
}

static enum step step_indirect(struct walker *walker, uint64_t *address, uint64_t next, bool call)
{
	size_t index = find_instruction(walker, *address);
	const struct pesa_instruction *instruction = NULL;
	unsigned int choice;
	uint64_t *weights;
	bool done;

	if (index < walker->count)
		instruction = pesa_profile_instruction(walker->profile, walker->first + index);
	if (!instruction || !instruction->edges)
		return step_over(walker, address, next, call);
	weights = calloc(instruction->edges, sizeof(*weights));
	if (!weights)
		return STEP_NO_MEMORY;
	for (unsigned int i = 0; i < instruction->edges; i++)
		weights[i] = instruction->edge[i].count;
	done = choose(&walker->states[index], weights, instruction->edges, &choice);
	free(weights);
	if (!done)
		return STEP_NO_MEMORY;
	if (instruction->edge[choice].target_dso != walker->dso)
		return step_over(walker, address, next, call);
	*address = instruction->edge[choice].target;
	if (call)
		push(walker, next);
	return STEP_ON;
}

/* Step from a control transfer instruction to its successor. */
static enum step step(struct walker *walker, const struct pesa_insn *insn, uint64_t *address)
{
	enum pesa_flow flow = pesa_insn_flow(insn);
	uint64_t next = *address + insn->length, target = 0;
	bool direct = pesa_insn_target(insn, *address, &target);

	if (pesa_isa_xlen(walker->from->isa) == 32)
		target = (uint32_t)target;
	if (flow == PESA_FLOW_BRANCH && direct)
		return step_conditional(walker, address, target, next);
	if (direct) {
		if (flow == PESA_FLOW_CALL)
			push(walker, next);
		*address = target;
		return STEP_ON;
	}
	if (flow == PESA_FLOW_RETURN && walker->depth) {
		*address = walker->calls[--walker->depth];
		return STEP_ON;
	}
	return step_indirect(walker, address, next,
			     flow == PESA_FLOW_CALL || flow == PESA_FLOW_INDIRECT_CALL);
}

static bool add_successor(struct mca_path *path, uint64_t address)
{
	unsigned int count = path->count;

	if (!(count & (count - 1))) {
		void *larger = realloc(path->successor,
				       (count ? 2 * (size_t)count : 1) * sizeof(*path->successor));

		if (!larger)
			return false;
		path->successor = larger;
	}
	path->successor[path->count++] = address;
	return true;
}

static struct pesa_error *walk(struct walker *walker)
{
	struct mca_path *path = walker->path;
	uint64_t address = path->entry;

	for (unsigned int i = 0; i < walker->from->length; i++) {
		struct pesa_insn insn;
		enum pesa_flow flow;
		enum step result;
		size_t size = 0;
		const uint8_t *bytes = pesa_image_text_at(walker->from->image, address, &size);

		if (!bytes || !pesa_insn_decode(walker->from->isa, bytes, size, &insn)) {
			if (!i)
				break; /* read_path() reports this when it decodes the entry */
			end(walker, MCA_PATH_UNDECODABLE, address);
			path->instructions = i;
			return NULL;
		}
		flow = pesa_insn_flow(&insn);
		if (flow == PESA_FLOW_NEXT || flow == PESA_FLOW_TRAP) {
			address += insn.length;
			continue;
		}
		result = step(walker, &insn, &address);
		if (result == STEP_END) {
			address = path->entry;
			walker->depth = 0;
			path->restarts += i + 1 < walker->from->length;
			result = STEP_ON;
		}
		if (result == STEP_NO_MEMORY || !add_successor(path, address))
			return pesa_error_no_memory();
	}
	path->instructions = walker->from->length;
	return NULL;
}

struct pesa_error *mca_path_from_profile(const struct mca_path_from *from, struct mca_path *path)
{
	struct walker *walker = calloc(1, sizeof(*walker));
	struct pesa_profile *profile = NULL;
	struct pesa_error *error;

	if (!walker)
		return pesa_error_no_memory();
	walker->from = from;
	walker->path = path;
	error = pesa_profile_load(from->profile, NULL, &profile);
	walker->profile = profile;
	if (!error)
		error = find_program(walker);
	if (!error) {
		path->entry = from->entry;
		if (!from->has_entry)
			error = hottest(walker, &path->entry);
	}
	if (!error) {
		error = walk(walker);
	}
	for (size_t i = 0; walker->states && i < walker->count; i++)
		free(walker->states[i].chosen);
	free(walker->states);
	free(walker);
	pesa_profile_free(profile);
	return error;
}
