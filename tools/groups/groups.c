/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "decoder/export/data.h"
#include "tools/groups/choose.h"
#include "tools/groups/groups.h"

/* File and function names are interned, so that pointers can be keys. */
struct interned {
	UT_hash_handle hh;
	char text[];
};

struct key {		    /* no padding: hashed as bytes */
	const void *symbol; /* struct pesa_symbol, or an interned name if dso is not a key */
	const void *file;   /* interned */
	uint64_t address, time;
	uint32_t dso, line;
	uint32_t pid, tid, cpu, comm, cgroup; /* comm, cgroup: texts of the rows */
	uint32_t reserved;
};

struct entry {
	struct key key;
	size_t index; /* in groups->group */
	UT_hash_handle hh;
};

struct grouping {
	const struct profile_input *input;
	unsigned int keys;
	struct profile_groups *groups;
	struct interned *names;
	struct entry *entries;
	const struct entry *last; /* whose group was found last: what is sorted finds it again */
};

/* Where an instruction is; what no key needs is not looked up. */
struct code {
	uint32_t dso;
	uint64_t address;
	const struct pesa_symbol *symbol;
	struct pesa_source source;
};

/* NULL: out of memory. */
static const char *intern(struct grouping *grouping, const char *text)
{
	struct interned *name;
	size_t length = strlen(text);

	HASH_FIND(hh, grouping->names, text, length, name);
	if (!name) {
		name = malloc(sizeof(*name) + length + 1);
		if (!name)
			return NULL;
		memcpy(name->text, text, length + 1);
		HASH_ADD_KEYPTR(hh, grouping->names, name->text, length, name);
		if (!name->hh.tbl) {
			free(name);
			return NULL;
		}
	}
	return name->text;
}

static struct pesa_error *look_up(const struct grouping *grouping, struct code *code)
{
	struct pesa_symbols *symbols = grouping->input->symbols;
	struct pesa_error *error = NULL;

	if (grouping->keys & (GROUP_BY_SYMBOL | GROUP_BY_INSN))
		error = pesa_symbols_find(symbols, code->dso, code->address, &code->symbol);
	if (!error && grouping->keys & (GROUP_BY_LINE | GROUP_BY_FILE))
		error = pesa_symbols_source(symbols, code->dso, code->address, &code->source);
	return error;
}

/* Fill the part of a group key that is of the code. */
static struct pesa_error *make_key(struct grouping *grouping, const struct code *code,
				   struct key *key)
{
	if (grouping->keys & GROUP_BY_INSN) {
		key->dso = code->dso;
		key->address = code->address;
		return NULL;
	}
	if (grouping->keys & GROUP_BY_DSO)
		key->dso = code->dso;
	if (grouping->keys & GROUP_BY_SYMBOL && code->symbol) {
		key->symbol = grouping->keys & GROUP_BY_DSO ? (const void *)code->symbol
							    : intern(grouping, code->symbol->name);
		if (!key->symbol)
			return pesa_error_no_memory();
	}
	if (grouping->keys & (GROUP_BY_LINE | GROUP_BY_FILE) && code->source.file) {
		key->file = intern(grouping, code->source.file);
		key->line = grouping->keys & GROUP_BY_LINE ? code->source.line : 0;
		if (!key->file)
			return pesa_error_no_memory();
	}
	return NULL;
}

/* Find or add the group of a key.  NULL: out of memory. */
static struct profile_group *group_of(struct grouping *grouping, const struct key *key)
{
	struct profile_groups *groups = grouping->groups;
	struct entry *entry;

	if (grouping->last && !memcmp(&grouping->last->key, key, sizeof(*key)))
		return &groups->group[grouping->last->index];
	HASH_FIND(hh, grouping->entries, key, sizeof(*key), entry);
	grouping->last = entry;
	if (entry)
		return &groups->group[entry->index];
	if (groups->count == groups->room) {
		size_t room = groups->room ? groups->room * 2 : 64;
		struct profile_group *grown = realloc(groups->group, room * sizeof(*grown));

		if (!grown)
			return NULL;
		groups->group = grown;
		groups->room = room;
	}
	entry = malloc(sizeof(*entry));
	if (!entry)
		return NULL;
	entry->key = *key;
	entry->index = groups->count;
	HASH_ADD(hh, grouping->entries, key, sizeof(entry->key), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return NULL;
	}
	grouping->last = entry;
	groups->count++;
	groups->group[entry->index] = (struct profile_group){.dso = UINT32_MAX};
	return &groups->group[entry->index];
}

/* Whether the executions of an instruction may be those of its group (groups.h); notes whether the group
 * has executions. */
static bool may_count(const struct grouping *grouping, struct profile_group *group,
		      const struct pesa_symbol *symbol, uint64_t address)
{
	bool each = grouping->keys & (GROUP_BY_INSN | GROUP_BY_LINE);
	bool first = grouping->keys & GROUP_BY_SYMBOL && symbol;

	group->has_executions |= each || first;
	return each || (first && address == symbol->start);
}

static void take_executions(const struct grouping *grouping, struct profile_group *group,
			    const struct pesa_instruction *instruction,
			    const struct pesa_symbol *symbol)
{
	if (may_count(grouping, group, symbol, instruction->address) &&
	    (!group->entry || instruction->executions > group->entry->executions))
		group->entry = instruction;
}

static struct pesa_error *find_group(struct grouping *grouping, const struct key *key,
				     const struct code *code, struct profile_group **found)
{
	struct profile_group *group = group_of(grouping, key);

	*found = group;
	if (!group)
		return pesa_error_no_memory();
	if (group->dso == UINT32_MAX) {
		group->dso = code->dso;
		group->symbol = code->symbol;
		group->source = code->source;
	}
	return NULL;
}

static struct pesa_error *add_instruction(struct grouping *grouping,
					  const struct pesa_instruction *instruction)
{
	struct code code = {.dso = instruction->dso, .address = instruction->address};
	struct pesa_error *error = look_up(grouping, &code);
	struct profile_group *group;
	struct key key = {0};

	if (!error)
		error = make_key(grouping, &code, &key);
	if (!error)
		error = find_group(grouping, &key, &code, &group);
	if (error)
		return error;
	if (grouping->keys & GROUP_BY_INSN)
		group->instruction = instruction;
	take_executions(grouping, group, instruction, code.symbol);
	group->weight += instruction->weight;
	grouping->groups->weight += instruction->weight;
	return cycle_stack_add(&group->stack, instruction);
}

static struct pesa_error *add_instructions(struct grouping *grouping)
{
	const struct pesa_profile *profile = grouping->input->profile;
	size_t count = pesa_profile_instruction_count(profile);
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < count && !error; i++)
		error = add_instruction(grouping, pesa_profile_instruction(profile, i));
	return error;
}

/* ---- By task and call chain ---------------------------------------------------------------- */

/* What retired of an instruction in a group.  Up to the address is the key. */
struct retired {
	uint64_t address;
	uint32_t group, dso;
	uint64_t executions, samples;
};

struct row_grouping {
	struct grouping *grouping;
	const struct pesa_export *rows;
	struct code *code; /* by node; looked up if the flag is set */
	bool *looked_up;
	struct distinct_records retired;
	uint32_t *counted; /* by group: the last row that counted in it, plus one */
	size_t counted_room;
	unsigned int slice_shift;
};

/* The beginning of a slice plus one; 0: no time. */
static uint64_t time_key(const struct row_grouping *making, uint64_t time)
{
	return time ? (time >> making->slice_shift << making->slice_shift) + 1 : 0;
}

/* Fill the part of a group key that is of the task, and note what is not recorded. */
static void make_task_key(const struct row_grouping *making, const struct export_row *row,
			  struct key *key)
{
	const struct export_task *task = distinct_records_at(&making->rows->tasks, row->task);
	const unsigned int keys = making->grouping->keys;
	unsigned int *lacking = &making->grouping->groups->not_recorded;

	key->comm = keys & GROUP_BY_COMM ? task->thread : 0;
	key->pid = keys & GROUP_BY_PID ? task->pid : 0;
	key->tid = keys & GROUP_BY_TID ? task->tid : 0;
	key->cpu = keys & GROUP_BY_CPU ? task->cpu : 0;
	key->cgroup = keys & GROUP_BY_CGROUP ? task->cgroup : 0;
	if (keys & GROUP_BY_TIME)
		key->time = time_key(making, row->slice);
	if (key->comm == DISTINCT_NONE)
		*lacking |= GROUP_BY_COMM;
	if (key->cpu == GROUP_NOT_RECORDED)
		*lacking |= GROUP_BY_CPU;
	if (key->cgroup == DISTINCT_NONE)
		*lacking |= GROUP_BY_CGROUP;
	if (keys & GROUP_BY_TIME && !row->slice)
		*lacking |= GROUP_BY_TIME;
}

static const char *text_of(const struct row_grouping *making, unsigned int key, uint32_t text)
{
	return making->grouping->keys & key && text != DISTINCT_NONE
		       ? distinct_text_at(&making->rows->texts, text)
		       : NULL;
}

static const struct export_node *node_at(const struct row_grouping *making, uint32_t number)
{
	return distinct_records_at(&making->rows->nodes, number);
}

/* The code of a node; its dso is UINT32_MAX for one that is in no binary. */
static struct pesa_error *code_of(struct row_grouping *making, uint32_t number, struct code **code)
{
	const struct export_node *node = node_at(making, number);

	*code = &making->code[number];
	if (making->looked_up[number])
		return NULL;
	making->looked_up[number] = true;
	(*code)->dso = UINT32_MAX;
	if (node->dso != DISTINCT_NONE)
		(*code)->dso =
			pesa_profile_dso_of_number(making->grouping->input->profile, node->dso);
	(*code)->address = node->address;
	return (*code)->dso == UINT32_MAX ? NULL : look_up(making->grouping, *code);
}

/* The group of a node in the task of `key`; NULL: it is in no binary. */
static struct pesa_error *group_of_node(struct row_grouping *making, uint32_t number,
					struct key key, struct profile_group **group)
{
	struct pesa_error *error;
	struct code *code;

	*group = NULL;
	error = code_of(making, number, &code);
	if (error || code->dso == UINT32_MAX)
		return error;
	error = make_key(making->grouping, code, &key);
	if (!error)
		error = find_group(making->grouping, &key, code, group);
	if (error)
		return error;
	(*group)->task = (struct profile_task){
		.has_time = key.time,
		.time = key.time ? key.time - 1 : 0,
		.comm = text_of(making, GROUP_BY_COMM, key.comm),
		.cgroup = text_of(making, GROUP_BY_CGROUP, key.cgroup),
		.pid = key.pid,
		.tid = key.tid,
		.cpu = key.cpu,
	};
	return NULL;
}

static struct pesa_error *count_retired(struct row_grouping *making, const struct export_row *row,
					const struct profile_group *group)
{
	const struct code *code = &making->code[row->node];
	struct retired retired = {
		.address = code->address,
		.group = (uint32_t)(group - making->grouping->groups->group),
		.dso = code->dso,
	};
	uint32_t number = distinct_records_get(&making->retired, &retired);
	struct retired *found;

	if (number == DISTINCT_NONE)
		return pesa_error_no_memory();
	found = distinct_records_at(&making->retired, number);
	found->executions += row->executions;
	found->samples += row->retired_samples;
	return NULL;
}

/* Add a row to its own group.  *own: the group; NULL: the cycles are unattributed. */
static struct pesa_error *add_own(struct row_grouping *making, const struct export_row *row,
				  const struct key *key)
{
	struct profile_groups *groups = making->grouping->groups;
	struct profile_group *group;
	struct pesa_error *error = group_of_node(making, row->node, *key, &group);

	if (error || !group)
		return error;
	if (making->grouping->keys & GROUP_BY_INSN)
		group->instruction = pesa_profile_find(making->grouping->input->profile, group->dso,
						       making->code[row->node].address);
	group->weight += row->weight;
	groups->weight += row->weight;
	if (row->weight)
		error = cycle_stack_add_weight(&group->stack, row->state, (uint16_t)row->cause,
					       row->weight);
	return error ? error : count_retired(making, row, group);
}

/* Whether a row counts in a group for the first time. */
static struct pesa_error *count_once(struct row_grouping *making, size_t group, uint32_t row,
				     bool *first)
{
	*first = false;
	if (group >= making->counted_room) {
		size_t room = 2 * group + 64;
		uint32_t *grown = reallocarray(making->counted, room, sizeof(*grown));

		if (!grown)
			return pesa_error_no_memory();
		memset(grown + making->counted_room, 0,
		       (room - making->counted_room) * sizeof(*grown));
		making->counted = grown;
		making->counted_room = room;
	}
	*first = making->counted[group] != row + 1;
	making->counted[group] = row + 1;
	return NULL;
}

/* Add a row to the inclusive cycles of each group of its call chain. */
static struct pesa_error *add_inclusive(struct row_grouping *making, uint32_t number,
					const struct export_row *row, const struct key *key)
{
	struct pesa_error *error = NULL;

	for (uint32_t node = row->node; node != DISTINCT_NONE && row->weight;
	     node = node_at(making, node)->caller) {
		struct profile_group *group;
		bool first;

		error = group_of_node(making, node, *key, &group);
		if (!error && !group)
			continue;
		if (!error)
			error = count_once(making,
					   (size_t)(group - making->grouping->groups->group),
					   number, &first);
		if (error)
			break;
		if (!first)
			continue;
		group->all_weight += row->weight;
		error = cycle_stack_add_weight(&group->all, row->state, (uint16_t)row->cause,
					       row->weight);
		if (error)
			break;
	}
	return error;
}

static struct pesa_error *add_row(struct row_grouping *making, uint32_t number)
{
	const struct export_row *row = distinct_records_at(&making->rows->rows, number);
	struct pesa_error *error;
	struct key key = {0};

	make_task_key(making, row, &key);
	error = add_own(making, row, &key);
	if (!error && making->grouping->groups->children)
		error = add_inclusive(making, number, row, &key);
	return error;
}

/* What was counted of each instruction is the executions of groups: see groups.h. */
static void take_retired(struct row_grouping *making)
{
	for (uint32_t i = 0; i < making->retired.index.count; i++) {
		const struct retired *retired = distinct_records_at(&making->retired, i);
		struct profile_group *group = &making->grouping->groups->group[retired->group];

		if (!may_count(making->grouping, group, group->symbol, retired->address) ||
		    retired->executions <= group->executions)
			continue;
		group->executions = retired->executions;
		group->retired_samples = retired->samples;
	}
}

/* Choose the length of slices so that there are at most `slices`. */
static void choose_slices(struct row_grouping *making, unsigned int slices)
{
	const struct pesa_export *rows = making->rows;
	uint64_t first = UINT64_MAX, last = 0;

	for (uint32_t i = 0; i < rows->rows.index.count; i++) {
		const struct export_row *row = distinct_records_at(&rows->rows, i);

		if (row->slice && row->slice < first)
			first = row->slice;
		if (row->slice > last)
			last = row->slice;
	}
	making->slice_shift = rows->slice_shift;
	while (last && (last >> making->slice_shift) - (first >> making->slice_shift) >= slices)
		making->slice_shift++;
	making->grouping->groups->slice = UINT64_C(1) << making->slice_shift;
}

static struct pesa_error *add_rows(struct grouping *grouping, const struct profile_grouping *wanted)
{
	struct row_grouping making = {.grouping = grouping, .rows = wanted->rows};
	const size_t nodes = wanted->rows->nodes.index.count;
	struct pesa_error *error = NULL;

	distinct_records_begin(&making.retired, sizeof(struct retired),
			       offsetof(struct retired, executions));
	making.code = calloc(nodes + 1, sizeof(*making.code));
	making.looked_up = calloc(nodes + 1, sizeof(*making.looked_up));
	if (!making.code || !making.looked_up)
		error = pesa_error_no_memory();
	if (grouping->keys & GROUP_BY_TIME)
		choose_slices(&making, wanted->slices);
	for (uint32_t i = 0; i < wanted->rows->rows.index.count && !error; i++)
		error = add_row(&making, i);
	if (!error)
		take_retired(&making);
	free(making.code);
	free(making.looked_up);
	free(making.counted);
	distinct_records_free(&making.retired);
	return error;
}

/* ---- Groups -------------------------------------------------------------------------------- */

static int compare_tasks(const struct profile_task *a, const struct profile_task *b)
{
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

static int larger_first(const void *left, const void *right)
{
	const struct profile_group *a = left, *b = right;

	if (a->task.has_time != b->task.has_time)
		return a->task.has_time - b->task.has_time;
	if (a->task.time != b->task.time)
		return a->task.time < b->task.time ? -1 : 1;
	if (a->all_weight != b->all_weight)
		return a->all_weight > b->all_weight ? -1 : 1;
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	if (a->dso != b->dso)
		return a->dso < b->dso ? -1 : 1;
	if (a->instruction && b->instruction && a->instruction != b->instruction)
		return a->instruction->address < b->instruction->address ? -1 : 1;
	if (a->symbol && b->symbol && a->symbol != b->symbol)
		return a->symbol->start < b->symbol->start ? -1
							   : a->symbol->start > b->symbol->start;
	return compare_tasks(&a->task, &b->task);
}

static void free_names(struct grouping *grouping)
{
	struct interned *name, *next_name;
	struct entry *entry, *next_entry;

	HASH_ITER(hh, grouping->entries, entry, next_entry)
	{
		HASH_DEL(grouping->entries, entry);
		free(entry);
	}
	HASH_ITER(hh, grouping->names, name, next_name)
	{
		HASH_DEL(grouping->names, name);
		free(name);
	}
}

struct pesa_error *profile_groups_make_by(const struct profile_input *input,
					  const struct profile_grouping *wanted,
					  struct profile_groups *groups)
{
	struct grouping grouping = {.input = input, .keys = wanted->keys, .groups = groups};
	struct pesa_error *error;

	*groups = (struct profile_groups){.keys = wanted->keys, .children = wanted->children};
	error = profile_grouping_needs_rows(wanted->keys, wanted->children)
			? add_rows(&grouping, wanted)
			: add_instructions(&grouping);
	for (size_t i = 0; i < groups->count; i++) {
		cycle_stack_sort(&groups->group[i].stack);
		cycle_stack_sort(&groups->group[i].all);
	}
	if (groups->count)
		qsort(groups->group, groups->count, sizeof(*groups->group), larger_first);
	free_names(&grouping);
	if (!error)
		error = profile_groups_choose(input, &wanted->choice, groups);
	if (error)
		profile_groups_free(groups);
	return error;
}

struct pesa_error *profile_groups_make(const struct profile_input *input, unsigned int keys,
				       struct profile_groups *groups)
{
	return profile_groups_make_by(input, &(struct profile_grouping){.keys = keys}, groups);
}

struct pesa_error *profile_groups_make_functions(const struct profile_input *input,
						 const struct pesa_export *rows,
						 struct profile_groups *groups)
{
	return profile_groups_make_by(
		input,
		&(struct profile_grouping){
			.keys = GROUP_BY_DSO | GROUP_BY_SYMBOL, .children = true, .rows = rows},
		groups);
}

void profile_groups_free(struct profile_groups *groups)
{
	for (size_t i = 0; i < groups->count; i++) {
		cycle_stack_free(&groups->group[i].stack);
		cycle_stack_free(&groups->group[i].all);
	}
	free(groups->group);
	*groups = (struct profile_groups){0};
}

uint64_t profile_group_executions(const struct profile_input *input,
				  const struct profile_group *group)
{
	return group->entry ? profile_executions(input, group->entry) : group->executions;
}

bool profile_group_has_enough(const struct profile_input *input, const struct profile_group *group)
{
	if (group->entry)
		return pesa_estimate_executions(input->profile, group->entry, PROFILE_CONFIDENCE)
			.enough;
	return group->executions && (pesa_profile_totals(input->profile)->exact ||
				     group->retired_samples >= PESA_ESTIMATE_SAMPLES_MIN);
}

bool profile_calls_recorded(const struct pesa_export *rows)
{
	for (uint32_t i = 0; i < rows->nodes.index.count; i++) {
		const struct export_node *node = distinct_records_at(&rows->nodes, i);

		if (node->caller != DISTINCT_NONE)
			return true;
	}
	return false;
}
