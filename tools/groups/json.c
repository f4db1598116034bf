// SPDX-License-Identifier: GPL-2.0-or-later
/* A group as a row of --json: see groups.h. */
#include "tools/groups/groups.h"

static void add_task(const struct profile_groups *groups, const struct profile_task *task,
		     json_object *result)
{
	const unsigned int keys = groups->keys;

	if (keys & GROUP_BY_TIME) {
		json_object_object_add(result, "time",
				       task->has_time ? ui_json_count(task->time) : NULL);
		json_object_object_add(result, "time_end",
				       task->has_time ? ui_json_count(task->time + groups->slice)
						      : NULL);
	}
	if (keys & GROUP_BY_COMM)
		json_object_object_add(result, "comm", ui_json_string(task->comm));
	if (keys & GROUP_BY_PID)
		json_object_object_add(result, "pid", ui_json_count(task->pid));
	if (keys & GROUP_BY_TID)
		json_object_object_add(result, "tid", ui_json_count(task->tid));
	if (keys & GROUP_BY_CPU)
		json_object_object_add(result, "cpu",
				       task->cpu == GROUP_NOT_RECORDED ? NULL
								       : ui_json_count(task->cpu));
	if (keys & GROUP_BY_CGROUP)
		json_object_object_add(result, "cgroup", ui_json_string(task->cgroup));
}

static void add_code(const struct profile_input *input, const struct profile_group *group,
		     unsigned int keys, json_object *result)
{
	if (keys & (GROUP_BY_LINE | GROUP_BY_FILE))
		json_object_object_add(result, "file", ui_json_string(group->source.file));
	if (keys & GROUP_BY_LINE)
		json_object_object_add(result, "line",
				       group->source.file ? ui_json_count(group->source.line)
							  : NULL);
	if (keys & (GROUP_BY_SYMBOL | GROUP_BY_INSN))
		json_object_object_add(result, "symbol",
				       ui_json_string(profile_symbol_name(group->symbol)));
	if (keys & GROUP_BY_SYMBOL) {
		json_object_object_add(
			result, "linkage_name",
			ui_json_string(group->symbol ? group->symbol->linkage_name : NULL));
		json_object_object_add(result, "address",
				       group->symbol ? ui_json_count(group->symbol->start) : NULL);
		json_object_object_add(result, "size",
				       group->symbol ? ui_json_count(group->symbol->size) : NULL);
	}
	if (keys & GROUP_BY_INSN)
		json_object_object_add(
			result, "instruction",
			group->instruction ? ui_json_count(group->instruction->address) : NULL);
	if (keys & (GROUP_BY_DSO | GROUP_BY_INSN))
		json_object_object_add(
			result, "dso",
			ui_json_string(pesa_profile_dso(input->profile, group->dso)->path));
}

json_object *profile_group_json(const struct profile_input *input,
				const struct profile_groups *groups,
				const struct profile_group *group)
{
	const struct pesa_capabilities *capabilities = pesa_profile_capabilities(input->profile);
	const struct pesa_profile_totals *totals = pesa_profile_totals(input->profile);
	double share = profile_share(input, group->weight);
	json_object *result = json_object_new_object();

	add_task(groups, &group->task, result);
	add_code(input, group, groups->keys, result);
	json_object_object_add(result, "cycles", ui_json_number(cycles_of(group->weight)));
	json_object_object_add(result, "share", ui_json_number(share));
	if (!totals->exact)
		json_object_object_add(result, "share_interval",
				       profile_json_interval(pesa_estimate_share(
					       share, totals->samples, PROFILE_CONFIDENCE)));
	if (groups->keys != GROUP_BY_DSO)
		json_object_object_add(
			result, "executions",
			group->has_executions
				? ui_json_count(profile_group_executions(input, group))
				: NULL);
	json_object_object_add(result, "stack", cycle_stack_json(&group->stack, capabilities));
	if (groups->children) {
		json_object_object_add(result, "children_cycles",
				       ui_json_number(cycles_of(group->all_weight)));
		json_object_object_add(result, "children_share",
				       ui_json_number(profile_share(input, group->all_weight)));
		json_object_object_add(result, "children_stack",
				       cycle_stack_json(&group->all, capabilities));
	}
	return result;
}
