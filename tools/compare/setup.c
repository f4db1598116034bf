/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model of a comparison, what is known of the core beyond it, and the comparison. */
#include <stdlib.h>
#include <string.h>

#include "tools/compare/comparison.h"
#include "tools/record/virtual_core.h"
#include "tools/ui/progress.h"
#include "tools/ui/safe_output.h"

static bool is_built_in(const char *cpu)
{
	const char *name;

	for (unsigned int i = 0; (name = pesa_mca_builtin_processor(i)); i++)
		if (!strcmp(name, cpu))
			return true;
	return false;
}

static struct pesa_error *choose_model(struct comparison *comparison)
{
	const struct compare_options *wanted = comparison->wanted;
	const struct pesa_capabilities *capabilities =
		pesa_profile_capabilities(comparison->input.profile);
	size_t length;

	comparison->cpu = wanted->cpu;
	/* Only a built-in model: never open a file that a recording names. */
	if (!comparison->cpu && *capabilities->model && is_built_in(capabilities->model))
		comparison->cpu = capabilities->model;
	if (wanted->model) {
		struct pesa_error *error = pesa_mca_model_load(wanted->model, &comparison->model);

		comparison->model_path = strdup(wanted->model);
		if (!error && !comparison->model_path)
			error = pesa_error_no_memory();
		if (error)
			return error;
		comparison->processor =
			comparison->cpu
				? pesa_mca_model_processor(comparison->model, comparison->cpu)
				: NULL;
		if (!comparison->processor && wanted->cpu)
			return pesa_error_create(PESA_ERROR_ARGUMENT, "%s has no processor %s",
						 wanted->model, wanted->cpu);
		if (!comparison->processor)
			comparison->processor = pesa_mca_model_processor(comparison->model, NULL);
		comparison->cpu = wanted->model;
		return NULL;
	}
	if (!comparison->cpu)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "%s does not name a processor model that is built in%s%s; "
					 "choose one with -mcpu=NAME or --model FILE",
					 wanted->input.path, *capabilities->model ? ", but " : "",
					 capabilities->model);
	length = pesa_mca_model_path_length(comparison->cpu);
	if (length) {
		comparison->model_path = strndup(comparison->cpu, length);
		if (!comparison->model_path)
			return pesa_error_no_memory();
	}
	return pesa_mca_model_open(comparison->cpu, &comparison->model, &comparison->processor);
}

struct pesa_error *compare_describe_core(const struct pesa_capabilities *capabilities,
					 struct pesa_compare_core *result, bool *known)
{
	struct pesa_core core;
	struct pesa_error *error;

	*known = false;
	result->retire_width = capabilities->retire_width;
	if (!*capabilities->core)
		return NULL;
	error = virtual_core_load(capabilities->core, &core);
	if (error && error->code == PESA_ERROR_NO_MEMORY)
		return error;
	if (error) {
		safe_output_message("pesa: the model is used without widths, queues and penalties "
				    "of the core: %s",
				    error->message);
		pesa_error_free(error);
		return NULL;
	}
	*known = true;
	*result = (struct pesa_compare_core){
		.dispatch_width = core.dispatch_width,
		.retire_width = core.retire_width,
		.retired_branches = core.retire_transfers,
		.reorder_buffer = core.rob_entries,
		.load_queue = core.load_queue,
		.store_queue = core.store_queue,
		.store_ports = core.store_ports,
		.store_latency = core.dcache.latency,
		.forward_latency = core.forward_latency,
		/* A store leaves after it has retired, the load follows.  In order that is a cycle
		 * later than the engine has it retire, see below. */
		.load_latency = core.dcache.latency,
		.drain_latency = (core.out_of_order ? 1 : 2) + 2 * core.dcache.latency,
		.fetch_width = core.fetch_width,
		.taken_branches = 1,
		.fetch_buffer = core.fetch_buffer,
		.fetch_bytes = core.fetch_bytes,
		.mispredict_penalty = core.redirect + core.fetch_depth,
		/* An instruction enters the core a cycle before it can issue, and retires a cycle
		 * after it is complete; the engine does both in the same cycle.  Except after a
		 * redirect, these cycles overlap with those of the previous instruction. */
		.redirect_stall = 2,
		/* The others have what has retired. */
		.integer_results = core.out_of_order ? core.integer_registers - 32 : 0,
		.float_results = core.out_of_order ? core.float_registers - 32 : 0,
	};
	return NULL;
}

/* A model of another XLEN does not apply to this code. */
static struct pesa_error *check_width(const struct comparison *comparison)
{
	const char *isa = comparison->processor->isa;
	unsigned int xlen = pesa_profile_capabilities(comparison->input.profile)->xlen;

	for (unsigned int i = 0; i < pesa_profile_dso_count(comparison->input.profile); i++) {
		const char *code = pesa_profile_isa(comparison->input.profile, i);

		if (code)
			xlen = strncmp(code, "rv32", 4) ? 64 : 32;
	}
	if (!isa || strncmp(isa, xlen == 32 ? "rv64" : "rv32", 4))
		return NULL;
	return pesa_error_create(
		PESA_ERROR_ARGUMENT,
		"%s: the model is for %.4s, the code of %s is for rv%u; choose another one with -mcpu=NAME",
		comparison->processor->name, isa, comparison->wanted->input.path, xlen);
}

struct pesa_error *compare_choose(struct comparison *comparison)
{
	struct pesa_error *error = choose_model(comparison);

	if (!error)
		error = check_width(comparison);
	return error ? error
		     : compare_describe_core(pesa_profile_capabilities(comparison->input.profile),
					     &comparison->core, &comparison->core_known);
}

struct pesa_error *compare_make(struct comparison *comparison, double min_share, bool no_findings)
{
	struct pesa_compare_options chosen;
	struct ui_progress progress;
	struct pesa_error *error = compare_choose(comparison);

	if (error)
		return error;
	pesa_compare_options_default(&chosen);
	chosen.processor = comparison->processor->name;
	chosen.core = comparison->core;
	chosen.min_share = min_share;
	chosen.no_findings = no_findings;
	chosen.progress = ui_progress_update;
	chosen.progress_context = &progress;
	ui_progress_start(&progress, "predicting");
	error = pesa_compare_create(comparison->input.profile, comparison->input.symbols,
				    comparison->model, &chosen, &comparison->compare);
	ui_progress_finish(&progress);
	return error;
}

void compare_release(struct comparison *comparison)
{
	pesa_compare_free(comparison->compare);
	pesa_timed_compare_free(comparison->timed);
	pesa_mca_model_free(comparison->model);
	free(comparison->model_path);
}
