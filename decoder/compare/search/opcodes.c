/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The number that each opcode of a finding shows: see search.h.
 *
 * Opcodes share an entry of the model, and a finding may be due to the executions of one opcode
 * alone.  So the effect of the finding is determined for each opcode, while all others keep the
 * finding, and is fitted like that of a candidate.  The result is the number that this opcode
 * shows:  the finding's (moved), the model's (contradicts), or undetermined (hidden).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/search/search.h"
#include "decoder/mca/model/registers.h"

#define CONTRADICTS 0.5 /* minimum deviation from the finding, relative to its effect */

static int more_often_first(const void *left, const void *right)
{
	double a = ((const struct pesa_compare_opcode *)left)->executions;
	double b = ((const struct pesa_compare_opcode *)right)->executions;

	return a > b ? -1 : a < b;
}

/* The finding that an opcode has of its own for the same number; NULL: none. */
static const struct pesa_compare_finding *own_finding(const struct compare_search *search,
						      const struct compare_candidate *finding,
						      unsigned int opcode)
{
	for (unsigned int i = 0; i < search->candidates; i++) {
		const struct compare_candidate *other = &search->candidate[i];

		if (other == finding || other->finding == COMPARE_NONE ||
		    other->kind != finding->kind || other->resource != finding->resource)
			continue;
		for (unsigned int j = 0; j < other->opcodes; j++)
			if (other->only[j] == opcode)
				return &search->compare->finding[other->finding];
	}
	return NULL;
}

/* Fit the effect of a finding on one opcode. */
static struct pesa_error *fit_opcode(struct compare_search *search,
				     const struct compare_candidate *finding, unsigned int opcode,
				     struct pesa_compare_opcode *result)
{
	struct compare_candidate one = *finding;
	double limit = pesa_estimate_deviations(search->compare->options.confidence), part, value;
	struct pesa_error *error;
	int step = finding->value - finding->base_value;
	bool applies = !finding->opcodes;

	for (unsigned int i = 0; i < finding->opcodes; i++)
		applies |= finding->only[i] == opcode;
	one.effect = NULL;
	one.effects = 0;
	one.only[0] = (uint16_t)opcode;
	one.opcodes = 1;
	error = compare_try_opcode(search, &one, applies);
	free(one.effect);
	result->evidence = PESA_COMPARE_HIDDEN;
	if (error || !(one.error > 0) || !(one.shifted > 0))
		return error;
	/* If the finding applies to this opcode, theta is relative to it: the residuals include
	 * it. */
	part = applies + one.theta;
	if (fabs(part - 1) - search->deviations * one.error > CONTRADICTS)
		result->evidence = PESA_COMPARE_CONTRADICTS;
	else if (part - limit * one.error > 0 && limit * one.error < 1)
		result->evidence = PESA_COMPARE_MOVED;
	else
		return NULL;
	value = finding->base_value + step * part;
	result->estimate = (struct pesa_estimate){
		.value = value,
		.low = value - limit * abs(step) * one.error,
		.high = value + limit * abs(step) * one.error,
		.enough = true,
	};
	return NULL;
}

/* Mark the opcodes of an entry of the model. */
static void choose_opcodes(const struct compare_search *search, const bool *classes, bool *chosen)
{
	for (unsigned int id = 0; id < pesa_opcode_count(); id++) {
		const char *name = pesa_opcode_get(id)->name;
		int opcode = mca_opcode_find(name, strlen(name));

		chosen[id] = opcode >= 0 &&
			     mca_model_opcode_has(search->original, (unsigned int)opcode, classes);
	}
}

/* The instructions of an opcode that have the entry. */
struct executed {
	double executions;
	const struct mca_identity *identity; /* of the first of them */
};

/* Add up the executions of each opcode on paths, in the classes that the candidate changes. */
static void sum_executions(const struct compare_search *search,
			   const struct compare_candidate *candidate, struct executed *executed)
{
	const struct compare_code *code = &search->compare->code;

	for (uint32_t i = 0; i < code->count; i++) {
		const struct compare_node *node = &code->node[i];
		struct executed *one = &executed[node->insn.opcode];

		if (!(node->occurrences > 0) ||
		    !compare_touches_node(search->original, candidate, node))
			continue;
		one->executions += node->executions;
		/* The names are those of the caller's model, which lives longer. */
		if (!one->identity)
			one->identity = &search->compare->base->identities[node->class];
	}
}

static struct pesa_error *weigh(struct compare_search *search,
				const struct compare_candidate *candidate, const bool *chosen,
				const struct executed *executed, struct compare_opcodes *opcodes)
{
	struct pesa_error *error = NULL;

	free(opcodes->one);
	opcodes->count = 0;
	opcodes->one = calloc(pesa_opcode_count(), sizeof(*opcodes->one));
	if (!opcodes->one)
		return pesa_error_no_memory();
	for (unsigned int id = 0; id < pesa_opcode_count() && !error; id++) {
		const struct pesa_opcode *description = pesa_opcode_get(id);
		struct pesa_compare_opcode *one = &opcodes->one[opcodes->count];
		const struct pesa_compare_finding *own;

		if (!chosen[id] && !(executed[id].executions > 0))
			continue;
		opcodes->count++;
		*one = (struct pesa_compare_opcode){
			.name = description->name,
			.mnemonic = description->mnemonic,
			.evidence = PESA_COMPARE_NOT_EXECUTED,
			.executions = executed[id].executions,
		};
		if (executed[id].identity) {
			one->write = executed[id].identity->write;
			one->from = executed[id].identity->from;
		}
		own = own_finding(search, candidate, id);
		if (own) {
			one->evidence = PESA_COMPARE_CONTRADICTS;
			one->estimate = own->estimate;
		} else if (executed[id].executions > 0) {
			error = fit_opcode(search, candidate, id, one);
		}
	}
	qsort(opcodes->one, opcodes->count, sizeof(*opcodes->one), more_often_first);
	return error;
}

/* Determine the number that each opcode of a finding shows. */
static struct pesa_error *weigh_finding(struct compare_search *search,
					const struct compare_candidate *candidate,
					struct compare_opcodes *opcodes)
{
	const struct pesa_mca_model *model = search->original;
	struct compare_candidate entry = *candidate;
	bool *classes = calloc(model->class_count + 1, sizeof(*classes));
	bool *chosen = calloc(pesa_opcode_count(), sizeof(*chosen));
	struct executed *executed = calloc(pesa_opcode_count(), sizeof(*executed));
	struct pesa_error *error = NULL;

	if (!classes || !chosen || !executed)
		error = pesa_error_no_memory();
	for (unsigned int i = 0; i < model->class_count && !error; i++)
		classes[i] = compare_touches(model, candidate, (int)i);
	if (!error) {
		choose_opcodes(search, classes, chosen);
		entry.opcodes = 0;
		sum_executions(search, &entry, executed);
		error = weigh(search, candidate, chosen, executed, opcodes);
	}
	free(classes);
	free(chosen);
	free(executed);
	return error;
}

/* The opcodes that show a finding, if others contradict it; false: there are none to choose. */
static bool choose_moved(const struct compare_opcodes *opcodes, struct compare_candidate *candidate)
{
	bool contradicted = false;
	unsigned int moved = 0;

	for (unsigned int i = 0; i < opcodes->count; i++) {
		contradicted |= opcodes->one[i].evidence == PESA_COMPARE_CONTRADICTS;
		if (opcodes->one[i].evidence != PESA_COMPARE_MOVED)
			continue;
		if (moved < COMPARE_OPCODES_MAX)
			candidate->only[moved] = (uint16_t)pesa_opcode_find(opcodes->one[i].name);
		moved++;
	}
	if (!contradicted || !moved || moved > COMPARE_OPCODES_MAX)
		return false;
	candidate->opcodes = moved;
	return true;
}

/*
 * Replace a finding by the same change, restricted to the opcodes that show it, with the value that
 * explains most.  Keep the finding if that is not significant.
 */
static struct pesa_error *narrow(struct compare_search *search, struct compare_candidate *candidate)
{
	int value = candidate->value;
	/* Its ties explained it for all opcodes of the entry: do not list them again. */
	struct pesa_error *error = compare_take_back(search, candidate);

	if (!error)
		error = compare_try(search, candidate, value);
	if (!error)
		error = compare_choose_value(search, candidate);
	if (!error && !compare_is_significant(search, candidate)) {
		candidate->opcodes = 0;
		error = compare_try(search, candidate, value);
	}
	if (!error)
		error = compare_add_finding(search, candidate);
	if (!error)
		compare_make_residuals(search);
	return error;
}

/* Weigh the opcodes of all findings; `opcodes` is by candidate. */
static struct pesa_error *weigh_all(struct compare_search *search, struct compare_opcodes *opcodes)
{
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; i < search->candidates && !error; i++) {
		const struct compare_candidate *candidate = &search->candidate[i];

		if (candidate->finding != COMPARE_NONE && candidate->kind != PESA_COMPARE_UNITS)
			error = weigh_finding(search, candidate, &opcodes[i]);
	}
	return error;
}

/* Narrow the findings that some of their opcodes contradict. */
static struct pesa_error *narrow_all(struct compare_search *search,
				     const struct compare_opcodes *opcodes, bool *any)
{
	struct pesa_error *error = NULL;

	*any = false;
	for (unsigned int i = 0; i < search->candidates && !error; i++) {
		struct compare_candidate *candidate = &search->candidate[i];

		if (candidate->finding == COMPARE_NONE || candidate->opcodes ||
		    !choose_moved(&opcodes[i], candidate))
			continue;
		*any = true;
		error = narrow(search, candidate);
	}
	return error;
}

struct pesa_error *compare_weigh_opcodes(struct compare_search *search, bool *narrowed)
{
	struct compare_opcodes *opcodes = calloc(search->candidates + 1, sizeof(*opcodes));
	struct pesa_error *error;

	if (!opcodes)
		return pesa_error_no_memory();
	error = weigh_all(search, opcodes);
	if (!error && narrowed)
		error = narrow_all(search, opcodes, narrowed);
	for (unsigned int i = 0; i < search->candidates; i++) {
		if (!error && search->candidate[i].finding != COMPARE_NONE &&
		    !(narrowed && *narrowed))
			search->compare->opcodes[search->candidate[i].finding] = opcodes[i];
		else
			free(opcodes[i].one);
	}
	free(opcodes);
	return error;
}
