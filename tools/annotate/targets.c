/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/annotate/targets.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/names/match.h"

#define HOTTEST_MAX   5	  /* functions when none is named, or a part of a name is in many */
#define HOTTEST_SHARE 0.1 /* of all cycles, of those after the first */

static bool wanted_dso(const struct targets *targets, uint32_t index)
{
	const char *wanted = targets->dso;

	return !wanted ||
	       name_in_list(wanted, pesa_profile_dso(targets->input->profile, index)->path);
}

static uint64_t weight_of(const struct targets *targets, uint32_t dso,
			  const struct pesa_symbol *symbol)
{
	for (size_t i = 0; i < targets->functions->count; i++) {
		const struct profile_group *group = &targets->functions->group[i];

		if (group->dso == dso && group->symbol == symbol)
			return group->weight;
	}
	return 0;
}

static void add_target(struct targets *targets, uint32_t dso, const struct pesa_symbol *symbol)
{

	for (size_t i = 0; i < targets->count; i++)
		if (targets->target[i].dso == dso && targets->target[i].symbol == symbol)
			return;
	if (targets->count < TARGETS_MAX)
		targets->target[targets->count++] = (struct target){
			.dso = dso, .symbol = symbol, .weight = weight_of(targets, dso, symbol)};
}

static void add_hottest(struct targets *targets)
{
	size_t shown = 0;

	for (size_t i = 0; i < targets->functions->count && shown < HOTTEST_MAX; i++) {
		const struct profile_group *group = &targets->functions->group[i];

		if (!wanted_dso(targets, group->dso))
			continue;
		if (shown && profile_share(targets->input, group->weight) < HOTTEST_SHARE)
			break;
		add_target(targets, group->dso, group->symbol);
		shown++;
	}
}

static struct pesa_error *add_named(struct targets *targets, const char *name)
{
	const struct pesa_profile *profile = targets->input->profile;
	const struct pesa_symbol *found[TARGETS_MAX];

	for (uint32_t dso = 0; dso < pesa_profile_dso_count(profile); dso++) {
		struct pesa_error *error;
		size_t count;

		if (!wanted_dso(targets, dso))
			continue;
		error = pesa_symbols_by_name(targets->input->symbols, dso, name, found, TARGETS_MAX,
					     &count);
		if (error)
			return error;
		for (size_t i = 0; i < count; i++)
			add_target(targets, dso, found[i]);
	}
	return NULL;
}

static const char *function_name(const struct profile_group *group)
{
	return profile_symbol_name(group->symbol);
}

/*
 * Add the functions with samples that a name means which is not one exactly.  *nearest: otherwise the
 * name that is nearest to it, or NULL.
 */
static struct pesa_error *add_meant(struct targets *targets, const char *name, const char **nearest)
{
	const struct profile_groups *functions = targets->functions;
	struct name_search search;
	struct pesa_error *error = name_search_begin(&search, name);

	if (error)
		return error;
	for (size_t i = 0; i < functions->count && !error; i++) {
		const struct profile_group *group = &functions->group[i];

		if (wanted_dso(targets, group->dso))
			error = name_search_consider(&search, function_name(group),
						     group->symbol ? group->symbol->linkage_name
								   : NULL);
	}
	for (size_t i = 0; i < functions->count && !error; i++) {
		const struct profile_group *group = &functions->group[i];
		bool means = false;

		if (wanted_dso(targets, group->dso))
			error = name_search_means(
				&search, function_name(group),
				group->symbol ? group->symbol->linkage_name : NULL, &means);
		if (means)
			add_target(targets, group->dso, group->symbol);
	}
	*nearest = search.suggestion;
	name_search_end(&search);
	return error;
}

/* A part of a name may be in many: leave the hottest. */
static void limit_parts(struct targets *targets, const char *name)
{

	if (targets->count <= HOTTEST_MAX)
		return;
	profile_complain("annotate", "'%s' is in the names of %zu functions: the hottest %d follow",
			 name, targets->count, HOTTEST_MAX);
	targets->count = HOTTEST_MAX;
}

/* Add an address, in every binary that has samples or a symbol there.  Only in one of this name, if
 * `length` is not 0. */
static struct pesa_error *add_address(struct targets *targets, const char *binary, size_t length,
				      uint64_t address)
{
	const struct pesa_profile *profile = targets->input->profile;

	for (uint32_t dso = 0; dso < pesa_profile_dso_count(profile); dso++) {
		const struct pesa_symbol *symbol;
		struct pesa_error *error;

		if (!wanted_dso(targets, dso) ||
		    (length &&
		     !name_is_of_path(binary, length, pesa_profile_dso(profile, dso)->path)))
			continue;
		error = pesa_symbols_find(targets->input->symbols, dso, address, &symbol);
		if (error)
			return error;
		if (symbol || pesa_profile_find(profile, dso, address))
			add_target(targets, dso, symbol);
	}
	return NULL;
}

/* Add the functions that have a line of source, "FILE:LINE", with samples. */
static struct pesa_error *add_line(struct targets *targets, const char *file, size_t length,
				   unsigned long line)
{
	struct profile_groups lines;
	struct pesa_error *error = profile_groups_make(
		targets->input, GROUP_BY_DSO | GROUP_BY_SYMBOL | GROUP_BY_LINE, &lines);

	for (size_t i = 0; i < lines.count && !error; i++) {
		const struct profile_group *group = &lines.group[i];

		if (group->source.file && group->source.line == line &&
		    wanted_dso(targets, group->dso) &&
		    name_is_of_path(file, length, group->source.file))
			add_target(targets, group->dso, group->symbol);
	}
	profile_groups_free(&lines);
	return error;
}

/* Whether all of a text is a number. */
static bool is_number(const char *text, int base, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, base);
	return isxdigit((unsigned char)*text) && !*end && !errno;
}

/* Add what a name means that is a place and not a function. */
static struct pesa_error *add_place(struct targets *targets, const char *name)
{
	const char *offset = strrchr(name, '+'), *colon = strrchr(name, ':');
	uint64_t number;

	if (!strncmp(name, "0x", 2) && is_number(name + 2, 16, &number))
		return add_address(targets, NULL, 0, number);
	if (offset && !strncmp(offset, "+0x", 3) && is_number(offset + 3, 16, &number))
		return add_address(targets, name, (size_t)(offset - name), number);
	if (colon && colon > name && colon[-1] != ':' && is_number(colon + 1, 10, &number))
		return add_line(targets, name, (size_t)(colon - name), number);
	return NULL;
}

static int hotter_first(const void *left, const void *right)
{
	const struct target *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->dso < b->dso ? -1 : a->dso > b->dso;
}

/* Add the functions that a name means: all in one way.  *part: parts of names were looked at. */
static struct pesa_error *add_functions(struct targets *targets, const char *name, bool *part)
{
	struct pesa_error *error = add_named(targets, name);
	const char *nearest = NULL;
	uint64_t address;

	if (!error && !targets->count)
		error = add_place(targets, name);
	*part = !targets->count;
	if (!error && !targets->count)
		error = add_meant(targets, name, &nearest);
	/* As report prints the address of an instruction. */
	if (!error && !targets->count && is_number(name, 16, &address))
		error = add_address(targets, NULL, 0, address);
	if (error || targets->count)
		return error;
	return pesa_error_create(PESA_ERROR_NOT_FOUND,
				 "%s: no function '%s' in its binaries; %s%s%s'pesa report' lists "
				 "those that were sampled",
				 targets->input->options->path, name,
				 nearest ? "do you mean '" : "", nearest ? nearest : "",
				 nearest ? "'? " : "");
}

struct pesa_error *targets_choose(struct targets *targets, const char *name)
{
	struct pesa_error *error;
	size_t weighty;
	bool part;

	targets->count = 0;
	if (!name) {
		add_hottest(targets);
		if (targets->count)
			return NULL;
		return pesa_error_create(PESA_ERROR_NOT_FOUND, "%s: no samples%s%s",
					 targets->input->options->path, targets->dso ? " in " : "",
					 targets->dso ? targets->dso : "");
	}
	error = add_functions(targets, name, &part);
	if (error)
		return error;
	qsort(targets->target, targets->count, sizeof(*targets->target), hotter_first);
	/* If several functions have the name, choose those with samples. */
	for (weighty = 0; weighty < targets->count && targets->target[weighty].weight; weighty++)
		;
	if (weighty)
		targets->count = weighty;
	if (part)
		limit_parts(targets, name);
	return NULL;
}
