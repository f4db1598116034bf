/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The complete search for findings: see search.h. */
#include <stdlib.h>

#include "decoder/compare/search.h"

static void search_free(struct compare_search *search)
{
	for (unsigned int i = 0; i < search->candidates; i++)
		free(search->candidate[i].effect);
	free(search->candidate);
	compare_tried_free(&search->tried);
	compare_screen_free(&search->screen);
	pesa_mca_model_free(search->original);
	free(search->residuals.node);
	free(search->residuals.block);
	free(search->change);
	free(search->touched);
	free(search->trial);
	free(search->affected);
	free(search->class_used);
	free(search->sum);
	free(search->difference);
}

/* Search among the candidates so far. */
static struct pesa_error *select_findings(struct compare_search *search)
{
	struct pesa_error *error;

	/* A one-sided test, corrected for the number of candidates. */
	if (search->candidates)
		search->deviations = pesa_estimate_deviations(
			1 - 2 * (1 - search->compare->options.confidence) / search->candidates);
	error = compare_select_forward(search);
	if (!error)
		error = compare_exchange(search);
	if (!error)
		error = compare_weigh_evidence(search);
	return error;
}

/* Most wrong entries of a model are wrong for all their opcodes.  If such changes do not explain
 * the measurement, or opcodes contradict a finding, changes of single opcodes are tried too. */
static struct pesa_error *find_all(struct compare_search *search)
{
	struct pesa_error *error = select_findings(search);
	bool narrowed = false, single = false;

	if (!error)
		single = compare_has_unexplained_regions(search);
	if (single) {
		error = compare_list_opcodes(search);
		if (!error)
			error = select_findings(search);
	}
	if (!error)
		error = compare_weigh_opcodes(search, &narrowed);
	if (error || !narrowed)
		return error;
	if (!single)
		error = compare_list_opcodes(search);
	if (!error)
		error = select_findings(search);
	return error ? error : compare_weigh_opcodes(search, NULL);
}

struct pesa_error *compare_find(struct pesa_compare *compare)
{
	uint32_t nodes = compare->code.count, blocks = compare->regions.groups;
	struct compare_search search = {
		.compare = compare,
		.residuals = {.node = calloc(nodes + 1, sizeof(*search.residuals.node)),
			      .block = calloc(blocks + 1, sizeof(*search.residuals.block)),
			      .regions = compare->regions.count},
		.change = calloc(nodes + 1, sizeof(*search.change)),
		.touched = calloc(blocks + 1, sizeof(*search.touched)),
		.trial = calloc(compare->paths.steps + 1, sizeof(*search.trial)),
		.affected = calloc(compare->paths.count + 1, sizeof(*search.affected)),
		.class_used = calloc(compare->model->class_count + 1, sizeof(*search.class_used)),
		.sum = calloc(compare->regions.count + 1, sizeof(*search.sum)),
		.difference = calloc(nodes + 1, sizeof(*search.difference)),
		.core = compare->totals.time.core,
	};
	struct pesa_error *error = NULL;

	compare->finding = calloc(FINDINGS_MAX, sizeof(*compare->finding));
	compare->opcodes = calloc(FINDINGS_MAX, sizeof(*compare->opcodes));
	if (!compare->opcodes || !search.residuals.node || !search.residuals.block ||
	    !search.touched || !search.change || !search.trial || !search.affected ||
	    !search.class_used || !compare->finding || !search.sum || !search.difference)
		error = pesa_error_no_memory();
	if (!error)
		error = pesa_mca_model_vary(compare->model, &search.original);
	if (!error)
		error = compare_screen_choose(&search);
	if (!error)
		error = compare_list_candidates(&search);
	if (!error)
		error = find_all(&search);
	if (!error)
		compare_name_nearest(&search);
	if (!error)
		error = compare_find_spread(&search);
	search_free(&search);
	return error;
}

unsigned int pesa_compare_finding_count(const struct pesa_compare *compare)
{
	return compare->findings;
}

const struct pesa_compare_finding *pesa_compare_finding(const struct pesa_compare *compare,
							unsigned int index)
{
	return &compare->finding[index];
}

unsigned int pesa_compare_opcode_count(const struct pesa_compare *compare, unsigned int finding)
{
	return compare->opcodes[finding].count;
}

const struct pesa_compare_opcode *pesa_compare_opcode(const struct pesa_compare *compare,
						      unsigned int finding, unsigned int index)
{
	return &compare->opcodes[finding].one[index];
}

const char *pesa_compare_evidence_name(enum pesa_compare_evidence evidence)
{
	static const char *const names[PESA_COMPARE_EVIDENCES] = {
		[PESA_COMPARE_MOVED] = "moved",
		[PESA_COMPARE_CONTRADICTS] = "contradicts",
		[PESA_COMPARE_HIDDEN] = "hidden",
		[PESA_COMPARE_NOT_EXECUTED] = "not executed",
	};

	return names[evidence];
}

const char *pesa_compare_change_name(enum pesa_compare_change kind)
{
	static const char *const names[PESA_COMPARE_CHANGES] = {
		[PESA_COMPARE_LATENCY] = "latency", [PESA_COMPARE_CYCLES] = "resource",
		[PESA_COMPARE_ADVANCE] = "advance", [PESA_COMPARE_UNITS] = "units",
		[PESA_COMPARE_ISSUE] = "issue",
	};

	return names[kind];
}
