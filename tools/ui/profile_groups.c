/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "tools/ui/profile_groups.h"

/* File and function names are interned, so that pointers can be keys. */
struct interned {
	UT_hash_handle hh;
	char text[];
};

struct key {		    /* no padding: hashed as bytes */
	const void *symbol; /* struct pesa_symbol, or an interned name if dso is not a key */
	const void *file;   /* interned */
	uint64_t address;
	uint32_t dso, line;
};

struct entry {
	struct key key;
	size_t index; /* of the group */
	UT_hash_handle hh;
};

struct making {
	const struct profile_input *input;
	unsigned int keys;
	struct profile_groups *groups;
	struct interned *names;
	struct entry *entries;
};

unsigned int profile_keys_parse(const char *text)
{
	static const struct {
		const char *name;
		unsigned int key;
	} known[] = {
		{"dso", GROUP_BY_DSO},	 {"symbol", GROUP_BY_SYMBOL}, {"sym", GROUP_BY_SYMBOL},
		{"line", GROUP_BY_LINE}, {"srcline", GROUP_BY_LINE},  {"insn", GROUP_BY_INSN},
	};
	unsigned int keys = 0;

	for (;;) {
		size_t length = strcspn(text, ","), i;

		for (i = 0; i < sizeof(known) / sizeof(*known); i++)
			if (strlen(known[i].name) == length &&
			    !strncmp(known[i].name, text, length))
				break;
		if (i == sizeof(known) / sizeof(*known))
			return 0;
		keys |= known[i].key;
		if (!text[length])
			return keys;
		text += length + 1;
	}
}

/* NULL: out of memory. */
static const char *intern(struct making *making, const char *text)
{
	struct interned *name;
	size_t length = strlen(text);

	HASH_FIND(hh, making->names, text, length, name);
	if (!name) {
		name = malloc(sizeof(*name) + length + 1);
		if (!name)
			return NULL;
		memcpy(name->text, text, length + 1);
		HASH_ADD_KEYPTR(hh, making->names, name->text, length, name);
		if (!name->hh.tbl) {
			free(name);
			return NULL;
		}
	}
	return name->text;
}

/* Make the group key of an instruction. */
static struct pesa_error *make_key(struct making *making,
				   const struct pesa_instruction *instruction,
				   const struct pesa_symbol *symbol, struct pesa_source source,
				   struct key *key)
{
	memset(key, 0, sizeof(*key));
	if (making->keys & GROUP_BY_INSN) {
		key->dso = instruction->dso;
		key->address = instruction->address;
		return NULL;
	}
	if (making->keys & GROUP_BY_DSO)
		key->dso = instruction->dso;
	if (making->keys & GROUP_BY_SYMBOL && symbol) {
		key->symbol = making->keys & GROUP_BY_DSO ? (const void *)symbol
							  : intern(making, symbol->name);
		if (!key->symbol)
			return pesa_error_no_memory();
	}
	if (making->keys & GROUP_BY_LINE && source.file) {
		key->file = intern(making, source.file);
		key->line = source.line;
		if (!key->file)
			return pesa_error_no_memory();
	}
	return NULL;
}

/* Find or add the group of a key.  NULL: out of memory. */
static struct profile_group *group_of(struct making *making, const struct key *key)
{
	struct profile_groups *groups = making->groups;
	struct entry *entry;

	HASH_FIND(hh, making->entries, key, sizeof(*key), entry);
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
	HASH_ADD(hh, making->entries, key, sizeof(entry->key), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return NULL;
	}
	groups->count++;
	groups->group[entry->index] = (struct profile_group){.dso = UINT32_MAX};
	return &groups->group[entry->index];
}

static void take_executions(struct making *making, struct profile_group *group,
			    const struct pesa_instruction *instruction,
			    const struct pesa_symbol *symbol)
{
	if (making->keys & GROUP_BY_INSN) {
		group->has_executions = true;
		group->entry = instruction;
	} else if (making->keys & GROUP_BY_LINE) {
		group->has_executions = true;
		if (!group->entry || instruction->executions > group->entry->executions)
			group->entry = instruction;
	} else if (making->keys & GROUP_BY_SYMBOL && symbol) {
		group->has_executions = true;
		if (instruction->address == symbol->start &&
		    (!group->entry || instruction->executions > group->entry->executions))
			group->entry = instruction;
	}
}

static struct pesa_error *add_instruction(struct making *making,
					  const struct pesa_instruction *instruction)
{
	struct pesa_symbols *symbols = making->input->symbols;
	const struct pesa_symbol *symbol = NULL;
	struct pesa_source source = {0};
	struct profile_group *group;
	struct pesa_error *error;
	struct key key;

	if (making->keys & (GROUP_BY_SYMBOL | GROUP_BY_INSN))
		symbol = pesa_symbols_find(symbols, instruction->dso, instruction->address);
	if (making->keys & GROUP_BY_LINE)
		source = pesa_symbols_source(symbols, instruction->dso, instruction->address);
	error = make_key(making, instruction, symbol, source, &key);
	if (error)
		return error;
	group = group_of(making, &key);
	if (!group)
		return pesa_error_no_memory();
	if (group->dso == UINT32_MAX) {
		group->dso = instruction->dso;
		group->symbol = symbol;
		group->source = source;
		if (making->keys & GROUP_BY_INSN)
			group->instruction = instruction;
	}
	take_executions(making, group, instruction, symbol);
	group->weight += instruction->weight;
	making->groups->weight += instruction->weight;
	return cycle_stack_add(&group->stack, instruction);
}

static int larger_first(const void *left, const void *right)
{
	const struct profile_group *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	if (a->dso != b->dso)
		return a->dso < b->dso ? -1 : 1;
	if (a->instruction && b->instruction)
		return a->instruction->address < b->instruction->address ? -1 : 1;
	if (a->symbol && b->symbol)
		return a->symbol->start < b->symbol->start ? -1
							   : a->symbol->start > b->symbol->start;
	return 0;
}

struct pesa_error *profile_groups_make(const struct profile_input *input, unsigned int keys,
				       struct profile_groups *groups)
{
	struct making making = {.input = input, .keys = keys, .groups = groups};
	size_t count = pesa_profile_instruction_count(input->profile);
	struct interned *name, *next_name;
	struct entry *entry, *next_entry;
	struct pesa_error *error = NULL;

	*groups = (struct profile_groups){0};
	for (size_t i = 0; i < count && !error; i++)
		error = add_instruction(&making, pesa_profile_instruction(input->profile, i));
	for (size_t i = 0; i < groups->count; i++)
		cycle_stack_sort(&groups->group[i].stack);
	if (groups->count)
		qsort(groups->group, groups->count, sizeof(*groups->group), larger_first);
	HASH_ITER(hh, making.entries, entry, next_entry)
	{
		HASH_DEL(making.entries, entry);
		free(entry);
	}
	HASH_ITER(hh, making.names, name, next_name)
	{
		HASH_DEL(making.names, name);
		free(name);
	}
	if (error)
		profile_groups_free(groups);
	return error;
}

void profile_groups_free(struct profile_groups *groups)
{
	for (size_t i = 0; i < groups->count; i++)
		cycle_stack_free(&groups->group[i].stack);
	free(groups->group);
	*groups = (struct profile_groups){0};
}

uint64_t profile_group_executions(const struct profile_group *group)
{
	return group->entry ? group->entry->executions : 0;
}

json_object *profile_group_json(const struct profile_input *input,
				const struct profile_group *group, unsigned int keys)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(input->profile);
	const struct pesa_dso *dso = pesa_profile_dso(input->profile, group->dso);
	double share = profile_share(input, group->weight);
	json_object *result = json_object_new_object();

	if (keys & GROUP_BY_LINE) {
		json_object_object_add(result, "file", ui_json_string(group->source.file));
		json_object_object_add(result, "line",
				       group->source.file ? ui_json_count(group->source.line)
							  : NULL);
	}
	if (keys & GROUP_BY_SYMBOL) {
		json_object_object_add(
			result, "symbol",
			ui_json_string(group->symbol ? group->symbol->name : "[unknown]"));
		json_object_object_add(
			result, "linkage_name",
			ui_json_string(group->symbol ? group->symbol->linkage_name : NULL));
		json_object_object_add(result, "address",
				       group->symbol ? ui_json_count(group->symbol->start) : NULL);
		json_object_object_add(result, "size",
				       group->symbol ? ui_json_count(group->symbol->size) : NULL);
	}
	if (keys & GROUP_BY_DSO)
		json_object_object_add(result, "dso", ui_json_string(dso->path));
	json_object_object_add(result, "cycles", ui_json_number(cycles_of(group->weight)));
	json_object_object_add(result, "share", ui_json_number(share));
	if (!totals->exact)
		json_object_object_add(result, "share_interval",
				       profile_json_interval(pesa_estimate_share(
					       share, totals->samples, PROFILE_CONFIDENCE)));
	if (keys != GROUP_BY_DSO)
		json_object_object_add(result, "executions",
				       group->has_executions
					       ? ui_json_count(profile_group_executions(group))
					       : NULL);
	json_object_object_add(
		result, "stack",
		cycle_stack_json(&group->stack, pesa_profile_capabilities(input->profile)));
	return result;
}
