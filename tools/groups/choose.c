/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/groups/choose.h"

#include <stdlib.h>
#include <string.h>

#include "tools/names/match.h"

static const char *path_of(const struct profile_input *input, const struct profile_group *group)
{
	return pesa_profile_dso(input->profile, group->dso)->path;
}

/* Keep the groups of which `kept` is set. */
static void keep(struct profile_groups *groups, const bool *kept)
{
	size_t count = 0;

	for (size_t i = 0; i < groups->count; i++) {
		struct profile_group *group = &groups->group[i];

		if (kept[i]) {
			groups->group[count++] = *group;
			continue;
		}
		cycle_stack_free(&group->stack);
		cycle_stack_free(&group->all);
	}
	groups->count = count;
}

/* ---- Binaries ------------------------------------------------------------------------------- */

/* A binary of the list that has no group; its length, 0: there is none. */
static size_t find_unknown(const struct profile_input *input, const struct profile_groups *groups,
			   const char *list, const char **unknown)
{
	for (;; list++) {
		size_t length = strcspn(list, ","), i = 0;

		while (i < groups->count &&
		       !name_is_of_path(list, length, path_of(input, &groups->group[i])))
			i++;
		*unknown = list;
		if (i == groups->count)
			return length;
		list += length;
		if (!*list)
			return 0;
	}
}

static struct pesa_error *choose_binaries(const struct profile_input *input, const char *list,
					  struct profile_groups *groups, bool *kept)
{
	const char *unknown;
	size_t length = find_unknown(input, groups, list, &unknown);

	if (length)
		return pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "no samples in a binary '%.*s'; --sort dso shows all",
					 (int)length, unknown);
	for (size_t i = 0; i < groups->count; i++)
		kept[i] = name_in_list(list, path_of(input, &groups->group[i]));
	keep(groups, kept);
	return NULL;
}

/* ---- Functions ------------------------------------------------------------------------------ */

static const char *linkage_of(const struct profile_group *group)
{
	return group->symbol ? group->symbol->linkage_name : NULL;
}

/* Set `kept` for the groups that a name means. */
static struct pesa_error *mark_function(const char *name, const struct profile_groups *groups,
					bool *kept)
{
	struct name_search search;
	struct pesa_error *error = name_search_begin(&search, name);
	bool found = false;

	if (error)
		return error;
	for (size_t i = 0; i < groups->count && !error; i++)
		error = name_search_consider(&search, profile_symbol_name(groups->group[i].symbol),
					     linkage_of(&groups->group[i]));
	for (size_t i = 0; i < groups->count && !error; i++) {
		bool means;

		error = name_search_means(&search, profile_symbol_name(groups->group[i].symbol),
					  linkage_of(&groups->group[i]), &means);
		kept[i] |= means;
		found |= means;
	}
	if (!error && !found)
		error = pesa_error_create(
			PESA_ERROR_NOT_FOUND, "no samples in a function '%s'%s%s%s", name,
			search.suggestion ? "; do you mean '" : "",
			search.suggestion ? search.suggestion : "", search.suggestion ? "'?" : "");
	name_search_end(&search);
	return error;
}

/* Names of functions may have commas between brackets. */
static size_t length_of_first(const char *list)
{
	size_t depth = 0, length = 0;

	for (; list[length] && (depth || list[length] != ','); length++) {
		if (strchr("(<[", list[length]))
			depth++;
		else if (depth && strchr(")>]", list[length]))
			depth--;
	}
	return length;
}

static struct pesa_error *choose_functions(const char *list, struct profile_groups *groups,
					   bool *kept)
{
	struct pesa_error *error = NULL;

	memset(kept, 0, groups->count * sizeof(*kept));
	while (!error && *list) {
		size_t length = length_of_first(list);
		char *name = strndup(list, length);

		error = name ? mark_function(name, groups, kept) : pesa_error_no_memory();
		free(name);
		list += length + (list[length] == ',');
	}
	if (!error)
		keep(groups, kept);
	return error;
}

struct pesa_error *profile_groups_choose(const struct profile_input *input,
					 const struct group_choice *wanted,
					 struct profile_groups *groups)
{
	struct pesa_error *error = NULL;
	bool *kept;

	if (!wanted->binaries && !wanted->functions)
		return NULL;
	kept = calloc(groups->count + 1, sizeof(*kept));
	if (!kept)
		return pesa_error_no_memory();
	if (wanted->binaries)
		error = choose_binaries(input, wanted->binaries, groups, kept);
	if (!error && wanted->functions)
		error = choose_functions(wanted->functions, groups, kept);
	free(kept);
	return error;
}
