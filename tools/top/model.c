// SPDX-License-Identifier: GPL-2.0-or-later
/* Cycle stacks of functions, threads and processes, interval by interval.  See model.h. */
#include "tools/top/model.h"

#include <stdlib.h>
#include <string.h>

#define uthash_malloc(size) malloc(size)
#define HASH_NONFATAL_OOM   1
#include <uthash.h>

#include "pesa/profile.h"
#include "pesa/symbols.h"

#define TASKS_MAX 8192u /* rows; above this, tasks without samples are removed */

/* A binary.  Its index in top_model.dsos does not change between intervals. */
struct dso {
	struct pesa_dso dso;
};

struct key {
	uint64_t first, second; /* function: dso, symbol; task: process id, thread id */
};

struct entry {
	struct top_row row;
	struct key key;
	char *task_name; /* allocated; NULL: a function, or not known yet */
	UT_hash_handle hh;
};

struct table {
	struct entry *entries; /* hash */
	struct top_rows rows;
};

struct top_model {
	char *root;
	struct dso **dsos;
	size_t dso_count, dso_room;
	struct pesa_symbols *symbols;
	struct table tables[TOP_KINDS];
	struct top_stacks whole;
	struct pesa_capabilities capabilities;
	char event[128];
	bool plain;
	enum top_unit unit;
	struct top_number samples, lost, unattributed;
};

/* ---- Rows ---------------------------------------------------------------------------------- */

static void free_entry(struct entry *entry)
{
	cycle_stack_free(&entry->row.stacks.now);
	cycle_stack_free(&entry->row.stacks.total);
	free(entry->task_name);
	free(entry);
}

static void clear_table(struct table *table)
{
	for (size_t i = 0; i < table->rows.count; i++) {
		struct entry *entry = (struct entry *)(void *)table->rows.row[i];

		HASH_DEL(table->entries, entry);
		free_entry(entry);
	}
	free(table->rows.row);
	*table = (struct table){0};
}

static struct entry *add_entry(struct table *table, struct key key)
{
	struct entry *entry;

	if (table->rows.count == table->rows.room) {
		size_t room = table->rows.room ? table->rows.room * 2 : 256;
		struct top_row **grown = reallocarray(table->rows.row, room, sizeof(*grown));

		if (!grown)
			return NULL;
		table->rows.row = grown;
		table->rows.room = room;
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->key = key;
	entry->row.name = entry->row.binary = "";
	HASH_ADD(hh, table->entries, key, sizeof(entry->key), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return NULL;
	}
	table->rows.row[table->rows.count++] = &entry->row;
	return entry;
}

/* Find or add an entry.  NULL: out of memory. */
static struct entry *find_entry(struct table *table, struct key key)
{
	struct entry *entry;

	HASH_FIND(hh, table->entries, &key, sizeof(key), entry);
	return entry ? entry : add_entry(table, key);
}

static struct pesa_error *add_weight(struct top_stacks *stacks, unsigned int state, uint16_t cause,
				     uint64_t weight)
{
	struct pesa_error *error = cycle_stack_add_weight(&stacks->now, state, cause, weight);

	return error ? error : cycle_stack_add_weight(&stacks->total, state, cause, weight);
}

/* Clear the stacks of the last interval. */
static void clear_interval(struct table *table)
{
	for (size_t i = 0; i < table->rows.count; i++) {
		struct cycle_stack *now = &table->rows.row[i]->stacks.now;

		cycle_stack_free(now);
	}
}

/* Remove tasks without samples if there are too many. */
static void remove_inactive(struct table *table)
{
	size_t kept = 0;

	if (table->rows.count < TASKS_MAX)
		return;
	for (size_t i = 0; i < table->rows.count; i++) {
		struct entry *entry = (struct entry *)(void *)table->rows.row[i];

		if (entry->row.stacks.now.weight) {
			table->rows.row[kept++] = &entry->row;
		} else {
			HASH_DEL(table->entries, entry);
			free_entry(entry);
		}
	}
	table->rows.count = kept;
}

/* ---- Binaries ------------------------------------------------------------------------------ */

static const struct pesa_dso *dso_of_number(void *context, uint32_t index)
{
	const struct top_model *model = context;

	return index < model->dso_count ? &model->dsos[index]->dso : NULL;
}

static void free_dso(struct dso *dso)
{
	free((char *)dso->dso.path);
	free((char *)dso->dso.file);
	free((char *)dso->dso.problem);
	free(dso);
}

static bool same_dso(const struct pesa_dso *left, const struct pesa_dso *right)
{
	return left->kind == right->kind && left->pid == right->pid &&
	       left->status == right->status && left->build_id_size == right->build_id_size &&
	       !memcmp(left->build_id, right->build_id, left->build_id_size) &&
	       !strcmp(left->path, right->path);
}

static bool copy_text(const char *from, const char **to)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to;
}

/* Find or add a dso of a profile in model->dsos.  Returns its index; UINT32_MAX: out of memory. */
static uint32_t get_dso(struct top_model *model, const struct pesa_dso *dso)
{
	struct dso *copy;

	for (size_t i = 0; i < model->dso_count; i++)
		if (same_dso(&model->dsos[i]->dso, dso))
			return (uint32_t)i;
	if (model->dso_count == model->dso_room) {
		size_t room = model->dso_room ? model->dso_room * 2 : 64;
		struct dso **grown = reallocarray(model->dsos, room, sizeof(*grown));

		if (!grown)
			return UINT32_MAX;
		model->dsos = grown;
		model->dso_room = room;
	}
	copy = calloc(1, sizeof(*copy));
	if (!copy)
		return UINT32_MAX;
	copy->dso = *dso;
	copy->dso.path = copy->dso.file = copy->dso.problem = NULL;
	if (!copy_text(dso->path, &copy->dso.path) || !copy_text(dso->file, &copy->dso.file) ||
	    !copy_text(dso->problem, &copy->dso.problem)) {
		free_dso(copy);
		return UINT32_MAX;
	}
	model->dsos[model->dso_count] = copy;
	return (uint32_t)model->dso_count++;
}

/* ---- An interval --------------------------------------------------------------------------- */

static struct pesa_error *add_task(struct top_model *model, enum top_kind kind, uint32_t pid,
				   uint32_t tid, unsigned int state, uint16_t cause,
				   uint64_t weight)
{
	struct entry *entry = find_entry(&model->tables[kind], (struct key){pid, tid});

	if (!entry)
		return pesa_error_no_memory();
	entry->row.pid = pid;
	entry->row.tid = tid;
	return add_weight(&entry->row.stacks, state, cause, weight);
}

/* Profile listener: records the task of each sample. */
static struct pesa_error *take_sample(void *context, const struct pesa_profile_sample *sample)
{
	const struct pesa_record *record = sample->record;
	struct top_model *model = context;
	unsigned int state = PESA_STATE_UNKNOWN;
	struct pesa_error *error;
	uint64_t weight = sample->period * PESA_CYCLE;
	uint16_t cause = 0;

	if (record->flags & PESA_RECORD_HAS_DETAILS) {
		state = record->details >> PESA_DETAILS_RSTATE_SHIFT & PESA_DETAILS_RSTATE_MASK;
		cause = record->details >> PESA_DETAILS_CAUSE_SHIFT & PESA_DETAILS_CAUSE_MASK;
	}
	error = add_task(model, TOP_THREADS, sample->pid, sample->tid, state, cause, weight);
	if (!error)
		error = add_task(model, TOP_PROCESSES, sample->pid, sample->pid, state, cause,
				 weight);
	return error;
}

static void name_task(struct top_model *model, enum top_kind kind, uint32_t pid, uint32_t tid,
		      const char *name)
{
	struct key key = {pid, tid};
	struct entry *entry;
	char *copy;

	HASH_FIND(hh, model->tables[kind].entries, &key, sizeof(key), entry);
	if (!entry || (entry->task_name && !strcmp(entry->task_name, name)))
		return;
	copy = strdup(name);
	if (!copy)
		return; /* out of memory: keep the old name */
	free(entry->task_name);
	entry->task_name = copy;
	entry->row.name = copy;
}

/* Read the names of tasks from the file. */
static struct pesa_error *name_tasks(struct top_model *model, const char *path)
{
	struct pesa_perfdata *reader;
	struct pesa_error *error = pesa_perfdata_open(path, &reader);
	struct pesa_event event;

	if (error)
		return error;
	while (pesa_perfdata_next(reader, &event) == 1) {
		if (event.type != PERF_RECORD_COMM)
			continue;
		name_task(model, TOP_THREADS, event.comm.pid, event.comm.tid, event.comm.name);
		if (event.comm.pid == event.comm.tid)
			name_task(model, TOP_PROCESSES, event.comm.pid, event.comm.pid,
				  event.comm.name);
	}
	pesa_perfdata_close(reader);
	return NULL;
}

static struct pesa_error *add_function(struct top_model *model,
				       const struct pesa_instruction *instruction, uint32_t dso)
{
	const struct pesa_symbol *symbol;
	struct entry *entry;
	struct pesa_error *error =
		pesa_symbols_find(model->symbols, dso, instruction->address, &symbol);

	if (error)
		return error;
	entry = find_entry(&model->tables[TOP_FUNCTIONS], (struct key){dso, (uintptr_t)symbol});
	if (!entry)
		return pesa_error_no_memory();
	entry->row.name = symbol && symbol->name ? symbol->name : "[unknown]";
	entry->row.binary = model->dsos[dso]->dso.path;
	for (unsigned int i = 0; i < instruction->buckets && !error; i++) {
		const struct pesa_bucket *bucket = &instruction->bucket[i];

		if (!bucket->weight)
			continue;
		error = add_weight(&entry->row.stacks, bucket->state, bucket->cause,
				   bucket->weight);
		if (!error)
			error = add_weight(&model->whole, bucket->state, bucket->cause,
					   bucket->weight);
	}
	return error;
}

static struct pesa_error *add_functions(struct top_model *model, const struct pesa_profile *profile)
{
	unsigned int dsos = pesa_profile_dso_count(profile);
	uint32_t *numbers = calloc(dsos + 1, sizeof(*numbers));
	struct pesa_error *error = numbers ? NULL : pesa_error_no_memory();

	for (unsigned int i = 0; i < dsos && !error; i++) {
		numbers[i] = get_dso(model, pesa_profile_dso(profile, i));
		if (numbers[i] == UINT32_MAX)
			error = pesa_error_no_memory();
	}
	for (size_t i = 0; i < pesa_profile_instruction_count(profile) && !error; i++) {
		const struct pesa_instruction *instruction = pesa_profile_instruction(profile, i);

		if (instruction->weight)
			error = add_function(model, instruction, numbers[instruction->dso]);
	}
	free(numbers);
	return error;
}

static void set_number(struct top_number *number, uint64_t value)
{
	number->now = value;
	number->total += value;
}

static struct pesa_error *add_profile(struct top_model *model, const struct pesa_profile *profile)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(profile);
	const char *event = pesa_profile_event(profile);
	uint64_t unattributed = 0;

	model->capabilities = *pesa_profile_capabilities(profile);
	model->plain = totals->samples && totals->plain_samples == totals->samples;
	model->unit = !model->plain || totals->is_cycles ? TOP_CYCLES
		      : totals->is_time			 ? TOP_TIME
							 : TOP_OTHER;
	snprintf(model->event, sizeof(model->event), "%s", event ? event : "unknown");
	for (unsigned int i = 0; i < PESA_UNATTRIBUTED_REASONS; i++)
		unattributed += totals->unattributed[i];
	set_number(&model->samples, totals->samples);
	set_number(&model->lost, totals->lost + totals->impossible);
	set_number(&model->unattributed, unattributed);
	return add_functions(model, profile);
}

struct pesa_error *top_model_load(struct top_model *model, const char *path,
				  const struct top_filter *filter)
{
	struct pesa_profile_listener listener = {.sample = take_sample, .context = model};
	struct pesa_profile_options options;
	struct pesa_profile *profile;
	struct pesa_error *error;

	for (unsigned int kind = 0; kind < TOP_KINDS; kind++)
		clear_interval(&model->tables[kind]);
	cycle_stack_free(&model->whole.now);
	for (unsigned int kind = TOP_THREADS; kind < TOP_KINDS; kind++)
		remove_inactive(&model->tables[kind]);
	model->samples.now = model->lost.now = model->unattributed.now = 0;
	pesa_profile_options_default(&options);
	options.pid = filter->pid;
	options.tid = filter->tid;
	options.symbol_root = model->root;
	options.listener = &listener;
	error = pesa_profile_load(path, &options, &profile);
	if (error)
		return error;
	error = add_profile(model, profile);
	pesa_profile_free(profile);
	return error ? error : name_tasks(model, path);
}

/* ---- Model --------------------------------------------------------------------------------- */

struct pesa_error *top_model_create(const char *root, struct top_model **result)
{
	struct top_model *model = calloc(1, sizeof(*model));
	struct pesa_error *error = NULL;

	if (!model)
		return pesa_error_no_memory();
	pesa_capabilities_default(&model->capabilities);
	model->root = root ? strdup(root) : NULL;
	if (root && !model->root)
		error = pesa_error_no_memory();
	if (!error)
		error = pesa_symbols_create_for(dso_of_number, model, model->root, &model->symbols);
	if (error) {
		free(model->root);
		free(model);
		return error;
	}
	*result = model;
	return NULL;
}

void top_model_reset(struct top_model *model)
{
	for (unsigned int kind = 0; kind < TOP_KINDS; kind++)
		clear_table(&model->tables[kind]);
	cycle_stack_free(&model->whole.now);
	cycle_stack_free(&model->whole.total);
	model->samples = model->lost = model->unattributed = (struct top_number){0};
}

void top_model_free(struct top_model *model)
{
	if (!model)
		return;
	top_model_reset(model);
	pesa_symbols_free(model->symbols);
	for (size_t i = 0; i < model->dso_count; i++)
		free_dso(model->dsos[i]);
	free(model->dsos);
	free(model->root);
	free(model);
}

const struct top_rows *top_model_rows(const struct top_model *model, enum top_kind kind)
{
	return &model->tables[kind].rows;
}

const struct top_stacks *top_model_whole(const struct top_model *model)
{
	return &model->whole;
}

const struct pesa_capabilities *top_model_capabilities(const struct top_model *model)
{
	return &model->capabilities;
}

const char *top_model_event(const struct top_model *model)
{
	return model->event;
}

enum top_unit top_model_unit(const struct top_model *model)
{
	return model->unit;
}

bool top_model_plain(const struct top_model *model)
{
	return model->plain;
}

struct top_number top_model_samples(const struct top_model *model)
{
	return model->samples;
}

struct top_number top_model_lost(const struct top_model *model)
{
	return model->lost;
}

struct top_number top_model_unattributed(const struct top_model *model)
{
	return model->unattributed;
}
