/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "decoder/pgo/write.h"

static const struct {
	const char *name;
	bool binary, gcc;
	pgo_tree_writer *tree;
	pgo_branch_writer *branches;
} formats[PESA_PGO_FORMATS] = {
	[PESA_PGO_LLVM_SAMPLE] = {.name = "llvm-sample", .tree = pgo_write_llvm_text},
	[PESA_PGO_LLVM_BINARY] = {.name = "llvm-binary",
				  .binary = true,
				  .tree = pgo_write_llvm_binary},
	[PESA_PGO_BOLT] = {.name = "bolt", .branches = pgo_write_bolt},
	[PESA_PGO_BOLT_BASIC] = {.name = "bolt-basic", .branches = pgo_write_bolt_basic},
	[PESA_PGO_PREAGGREGATED] = {.name = "bolt-preaggregated",
				    .branches = pgo_write_preaggregated},
	[PESA_PGO_AUTOFDO] = {.name = "autofdo-text", .branches = pgo_write_autofdo},
	[PESA_PGO_BRANCH_STACK] = {.name = "branch-stack", .branches = pgo_write_branch_stack},
	[PESA_PGO_GCC] = {.name = "gcc-afdo", .binary = true, .gcc = true, .tree = pgo_write_gcc},
};

const char *pesa_pgo_format_name(enum pesa_pgo_format format)
{
	return formats[format].name;
}

bool pesa_pgo_format_parse(const char *name, enum pesa_pgo_format *format)
{
	for (unsigned int i = 0; i < PESA_PGO_FORMATS; i++) {
		if (strcmp(name, formats[i].name))
			continue;
		*format = (enum pesa_pgo_format)i;
		return true;
	}
	return false;
}

bool pesa_pgo_format_is_of_one_binary(enum pesa_pgo_format format)
{
	return formats[format].branches;
}

bool pesa_pgo_format_is_binary(enum pesa_pgo_format format)
{
	return formats[format].binary;
}

/* "libc.so.6", "plugin.so": by its name. */
static bool is_library(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *suffix = strstr(slash ? slash : path, ".so");

	return suffix && (!suffix[3] || suffix[3] == '.');
}

/* Of those that are wanted the program with the most executions; if there is none, the library.  Of several
 * builds one whose code is at hand. */
static uint32_t main_binary(const struct pesa_profile *profile,
			    const struct pesa_control_flow *flow, uint32_t wanted)
{
	uint32_t blocks = pesa_control_flow_block_count(flow), best = PESA_PGO_ANY_DSO;
	bool best_is_library = true;
	double most = 0;

	for (uint32_t i = 0; i < blocks;) {
		uint32_t dso = pesa_control_flow_block_at(flow, i)->dso;
		const struct pesa_dso *what = pesa_profile_dso(profile, dso);
		bool library = is_library(what->path);
		double sum = 0;

		for (; i < blocks && pesa_control_flow_block_at(flow, i)->dso == dso; i++)
			sum += pesa_control_flow_block_at(flow, i)->executions *
			       pesa_control_flow_block_at(flow, i)->instructions;
		if (!pgo_is_wanted(profile, wanted, dso) || !(sum > 0) ||
		    (wanted != PESA_PGO_ANY_DSO && what->problem) ||
		    (library == best_is_library ? sum <= most : library))
			continue;
		most = sum;
		best = dso;
		best_is_library = library;
	}
	return best;
}

/* A program that was sampled and whose code is not at hand, or PESA_PGO_ANY_DSO. */
static uint32_t unread_program(const struct pesa_profile *profile)
{
	for (size_t i = 0; i < pesa_profile_instruction_count(profile); i++) {
		uint32_t dso = pesa_profile_instruction(profile, i)->dso;
		const struct pesa_dso *what = pesa_profile_dso(profile, dso);

		if (what->kind == PESA_DSO_FILE && what->problem && !is_library(what->path))
			return dso;
	}
	return PESA_PGO_ANY_DSO;
}

/* The binary that a profile of one binary is of: the one that was chosen, or the program. */
static struct pesa_error *choose_binary(const struct pesa_profile *profile,
					const struct pesa_control_flow *flow, uint32_t *dso)
{
	const uint32_t wanted = *dso, found = main_binary(profile, flow, wanted);

	if (found != PESA_PGO_ANY_DSO)
		*dso = found;
	if (wanted == PESA_PGO_ANY_DSO) {
		uint32_t unread = unread_program(profile);

		if (unread != PESA_PGO_ANY_DSO &&
		    (*dso == PESA_PGO_ANY_DSO || is_library(pesa_profile_dso(profile, *dso)->path)))
			*dso = unread;
	}
	if (*dso == PESA_PGO_ANY_DSO)
		return pesa_error_create(PESA_ERROR_NOT_FOUND, "no code of a file was sampled");
	if (pesa_profile_dso(profile, *dso)->problem)
		return pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "%s: the profile would be of this binary, whose code is "
					 "not at hand",
					 pesa_profile_dso(profile, *dso)->path);
	return NULL;
}

static struct pesa_error *write_tree(enum pesa_pgo_format format,
				     const struct pesa_profile *profile,
				     struct pesa_symbols *symbols,
				     const struct pesa_control_flow *flow, uint32_t dso, FILE *out,
				     struct pesa_pgo_summary *summary)
{
	struct pgo_tree tree;
	struct pesa_error *error =
		pgo_tree_create(profile, symbols, flow, dso, formats[format].gcc, &tree, summary);

	if (error)
		return error;
	error = formats[format].tree(&tree, summary, out);
	pgo_tree_free(&tree);
	return error;
}

static struct pesa_error *write_branches(enum pesa_pgo_format format,
					 const struct pesa_profile *profile,
					 struct pesa_symbols *symbols,
					 const struct pesa_control_flow *flow, uint32_t dso,
					 FILE *out, struct pesa_pgo_summary *summary)
{
	struct pgo_branches branches;
	struct pesa_error *error;

	summary->dso = dso;
	error = choose_binary(profile, flow, &summary->dso);
	if (error)
		return error;
	error = pgo_branches_create(profile, symbols, flow, summary->dso, &branches, summary);
	if (error)
		return error;
	error = formats[format].branches(&branches, summary, out);
	pgo_branches_free(&branches);
	return error;
}

struct pesa_error *pesa_pgo_write(enum pesa_pgo_format format, const struct pesa_profile *profile,
				  struct pesa_symbols *symbols,
				  const struct pesa_control_flow *flow, uint32_t dso, FILE *out,
				  struct pesa_pgo_summary *summary)
{
	struct pesa_error *error;

	*summary = (struct pesa_pgo_summary){.dso = dso};
	error = formats[format].tree
			? write_tree(format, profile, symbols, flow, dso, out, summary)
			: write_branches(format, profile, symbols, flow, dso, out, summary);
	if (!error && ferror(out))
		error = pesa_error_system(errno, "the profile could not be written in full");
	if (!error && !summary->records)
		error = pesa_error_create(
			PESA_ERROR_NOT_FOUND,
			"nothing that was sampled has a place in %s: is there debug information "
			"(-g) of the program, or symbols?",
			formats[format].name);
	return error;
}
