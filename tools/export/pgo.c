/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "tools/export/pgo.h"
#include "tools/names/match.h"

/* Less than this share of the executions is not worth a line. */
#define SHARE_MIN 0.005

static struct pesa_error *find_binary(const struct profile_input *input, const char *name,
				      uint32_t *dso)
{
	*dso = PESA_PGO_ANY_DSO;
	for (unsigned int i = 0; name && i < pesa_profile_dso_count(input->profile); i++) {
		if (name_is_of_path(name, strlen(name),
				    pesa_profile_dso(input->profile, i)->path)) {
			*dso = i;
			return NULL;
		}
	}
	return name ? pesa_error_create(PESA_ERROR_NOT_FOUND,
					"%s: no binary of the recording has this name or path; "
					"'pesa report --by dso' lists them",
					name)
		    : NULL;
}

static void complain_of_probes(const struct profile_input *input,
			       const struct pesa_pgo_summary *summary)
{
	if (summary->damaged_probes)
		profile_complain(
			"export",
			"%s: pseudo probes of %llu %s are damaged: those behind the damage "
			"are left out",
			input->options->path, (unsigned long long)summary->damaged_probes,
			summary->damaged_probes == 1 ? "binary" : "binaries");
	if (summary->lost_probes)
		profile_complain("export",
				 "%s: %llu pseudo probes are left out: no symbol names their "
				 "functions",
				 input->options->path, (unsigned long long)summary->lost_probes);
}

struct pesa_error *export_pgo(const struct profile_input *input, enum pesa_pgo_format format,
			      const char *binary, FILE *out, struct pesa_pgo_summary *summary)
{
	struct pesa_control_flow *flow = NULL;
	struct pesa_error *error;
	uint32_t dso;

	error = find_binary(input, binary, &dso);
	if (!error)
		error = pesa_control_flow_create(input->profile, input->symbols, false, &flow);
	if (!error)
		error = pesa_pgo_write(format, input->profile, input->symbols, flow, dso, out,
				       summary);
	complain_of_probes(input, summary);
	pesa_control_flow_free(flow);
	return error;
}

static void complain_of(const struct profile_input *input, const struct pesa_pgo_summary *summary,
			double executions, const char *what)
{
	if (executions > SHARE_MIN * summary->executions)
		profile_complain("export", "%s: %.1f %% of the executions are left out: %s",
				 input->options->path, 100 * executions / summary->executions,
				 what);
}

void export_pgo_say_what_is_unread(const struct profile_input *input)
{
	for (unsigned int i = 0; i < pesa_profile_dso_count(input->profile); i++) {
		const struct pesa_dso *dso = pesa_profile_dso(input->profile, i);

		if (dso->problem && dso->status != PESA_DSO_NO_FILE)
			profile_complain("export", "%s", dso->problem);
	}
}

void export_pgo_complain(const struct profile_input *input, const struct pesa_pgo_summary *summary)
{
	if (pesa_profile_totals(input->profile)->paths)
		profile_complain("export",
				 "%s: numbers of executions and branch directions are those of "
				 "its branch stacks",
				 input->options->path);
	else if (input->plain)
		profile_complain(
			"export",
			"%s: its samples have only a PC: numbers of executions are cycles, "
			"and branch directions are guessed",
			input->options->path);
	complain_of(input, summary, summary->no_debug,
		    summary->probed
			    ? "they are in binaries without pseudo probes"
			    : "they are in binaries without debug information; compile with -g");
	complain_of(input, summary, summary->no_line,
		    summary->probed ? "they are in functions without pseudo probes"
				    : "debug information has no line of this code");
	complain_of(input, summary, summary->no_symbol, "they are in no function with a symbol");
}

void export_pgo_json(const struct profile_input *input, const struct pesa_pgo_summary *summary,
		     struct ui_json *json)
{
	ui_json_member(
		json, "binary",
		summary->dso == PESA_PGO_ANY_DSO
			? NULL
			: ui_json_string(pesa_profile_dso(input->profile, summary->dso)->path));
	ui_json_member(json, "pseudo_probes", json_object_new_boolean(summary->probed));
	ui_json_member(json, "functions", ui_json_count(summary->functions));
	ui_json_member(json, "records", ui_json_count(summary->records));
	ui_json_member(json, "executions", ui_json_number(summary->executions));
	ui_json_member(json, "no_debug_information", ui_json_number(summary->no_debug));
	ui_json_member(json, "no_line", ui_json_number(summary->no_line));
	ui_json_member(json, "no_symbol", ui_json_number(summary->no_symbol));
	ui_json_member(json, "lost_probes", ui_json_count(summary->lost_probes));
	ui_json_member(json, "damaged_probes", ui_json_count(summary->damaged_probes));
}
