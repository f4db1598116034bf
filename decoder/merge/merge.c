// SPDX-License-Identifier: GPL-2.0-or-later
/* The set of recordings: digests, order, compatibility.  See include/pesa/merge.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "decoder/merge/inside.h"

/* Limit of times in a merged file. */
#define TIME_MAX (1ull << 62)

struct pesa_error *pesa_merge_create(struct pesa_merge **merge)
{
	*merge = calloc(1, sizeof(**merge));
	return *merge ? NULL : pesa_error_no_memory();
}

static void attributes_free(struct pesa_merge *merge)
{
	for (unsigned int i = 0; i < merge->attribute_count; i++)
		free(merge->attributes[i].ids);
	free(merge->attributes);
	merge->attributes = NULL;
	merge->attribute_count = 0;
}

void pesa_merge_free(struct pesa_merge *merge)
{
	if (!merge)
		return;
	attributes_free(merge);
	for (size_t i = 0; i < merge->recording_count; i++)
		merge_recording_free(merge->recordings[i]);
	for (size_t i = 0; i < merge->input_count; i++)
		merge_input_free(merge->inputs[i]);
	free(merge->recordings);
	free(merge->inputs);
	free(merge);
}

/* ---- Reading for the first time -------------------------------------------------------------- */

/* Add the facts from the file, which identify a recording. */
static void digest_facts(struct merge_recording *recording)
{
	struct pesa_digest *digest = &recording->digest;

	pesa_digest_text(digest, recording->hostname);
	pesa_digest_text(digest, recording->os_release);
	pesa_digest_text(digest, recording->cmdline);
	pesa_digest_text(digest, recording->arch);
	pesa_digest_text(digest, recording->cpu_description);
	pesa_digest_word(digest, recording->cpus);
	pesa_digest_word(digest, recording->has_capabilities);
	pesa_digest_word(digest, recording->damaged_records);
	pesa_digest_word(digest, recording->damaged_bytes);
	pesa_digest_word(digest, recording->left_out);
	for (size_t i = 0; i < recording->count_count; i++) {
		pesa_digest_text(digest, recording->counts[i].event);
		pesa_digest_word(digest, recording->counts[i].value);
	}
	for (unsigned int i = 0; i < recording->attribute_count; i++) {
		const struct merge_attribute *attribute = &recording->attributes[i];

		pesa_digest_text(digest, attribute->name);
		pesa_digest_bytes(digest, &attribute->attr, PERF_ATTR_SIZE_VER7);
		pesa_digest_word(digest, attribute->ids);
	}
}

struct numbers_seen {
	struct merge_numbers numbers;
	uint32_t last[4]; /* the last ones looked up */
};

static struct pesa_error *see_numbers(struct numbers_seen *seen, const struct merge_record *record)
{
	for (unsigned int i = 0; i < record->numbers; i++) {
		uint32_t number = perfdata_u32(record->bytes + record->number_at[i], false);
		struct pesa_error *error;
		bool added;

		if (merge_number_is_special(number) || number == seen->last[i % 4])
			continue;
		seen->last[i % 4] = number;
		error = merge_numbers_add(&seen->numbers, number, &added);
		if (error)
			return error;
	}
	return NULL;
}

static struct pesa_error *read_recording(struct merge_input *input,
					 struct merge_recording *recording,
					 struct merge_record *record)
{
	struct numbers_seen seen = {0};
	struct pesa_error *error = NULL;

	while (!error && merge_input_next(input, recording, record)) {
		error = see_numbers(&seen, record);
		pesa_digest_bytes(&recording->digest, record->bytes, record->size);
		recording->records++;
		recording->samples += record->type == PERF_RECORD_SAMPLE;
		recording->lost += record->lost;
		recording->end = record->time;
		if (!recording->begin)
			recording->begin = record->time;
	}
	if (!error && !(recording->numbers = merge_numbers_sorted(&seen.numbers)))
		error = pesa_error_no_memory();
	recording->number_count = seen.numbers.index.count;
	merge_numbers_free(&seen.numbers);
	return error;
}

/* Damage from before a merge is counted in the recordings of the merged file. */
static void take_damage(struct merge_input *input)
{
	const struct pesa_perfdata_losses *losses = pesa_perfdata_losses(input->reader);
	struct merge_recording *first = input->recordings[0];
	uint64_t records = losses->damaged_records + input->misplaced,
		 bytes = losses->damaged_bytes;

	for (unsigned int i = 0; input->merged && i < input->recording_count; i++) {
		records -= input->recordings[i]->damaged_records;
		bytes -= input->recordings[i]->damaged_bytes;
	}
	first->damaged_records += records;
	first->damaged_bytes += bytes;
	if (records || bytes || (losses->damage && !input->merged))
		if (asprintf(&input->damage, "%s (%" PRIu64 " records, %" PRIu64 " bytes not read)",
			     losses->damage ? losses->damage : "records in the wrong place",
			     records, bytes) < 0)
			input->damage = NULL;
}

static struct pesa_error *read_input(struct merge_input *input)
{
	struct merge_record *record;
	struct pesa_error *error = merge_input_open(input);

	if (error)
		return error;
	record = malloc(sizeof(*record));
	error = record ? merge_input_describe(input) : pesa_error_no_memory();
	for (unsigned int i = 0; !error && i < input->recording_count; i++)
		error = read_recording(input, input->recordings[i], record);
	free(record);
	if (!error) {
		take_damage(input);
		for (unsigned int i = 0; i < input->recording_count; i++)
			digest_facts(input->recordings[i]);
	}
	merge_input_close(input);
	return error;
}

/* Take ownership of an input and its recordings; false: out of memory, and nothing has changed. */
static bool keep_input(struct pesa_merge *merge, struct merge_input *input)
{
	void *inputs = realloc(merge->inputs, (merge->input_count + 1) * sizeof(*merge->inputs));
	void *recordings;

	if (!inputs)
		return false;
	merge->inputs = inputs;
	recordings = realloc(merge->recordings, (merge->recording_count + input->recording_count) *
							sizeof(*merge->recordings));
	if (!recordings)
		return false;
	merge->recordings = recordings;
	merge->inputs[merge->input_count++] = input;
	memcpy(merge->recordings + merge->recording_count, input->recordings,
	       input->recording_count * sizeof(*merge->recordings));
	merge->recording_count += input->recording_count;
	return true;
}

struct pesa_error *pesa_merge_add(struct pesa_merge *merge, const char *path, const char **damage)
{
	struct merge_input *input = calloc(1, sizeof(*input));
	struct pesa_error *error = NULL;

	if (input)
		input->path = strdup(path);
	if (!input || !input->path)
		error = pesa_error_no_memory();
	if (!error)
		error = read_input(input);
	if (!error && !keep_input(merge, input))
		error = pesa_error_no_memory();
	if (!error) {
		*damage = input->damage;
		return NULL;
	}
	for (unsigned int i = 0; input && i < input->recording_count; i++)
		merge_recording_free(input->recordings[i]);
	merge_input_free(input);
	return error;
}

/* ---- Order ----------------------------------------------------------------------------------- */

/* Like strcmp(); NULL is first. */
static int compare_texts(const char *left, const char *right)
{
	if (!left || !right)
		return (left != NULL) - (right != NULL);
	return strcmp(left, right);
}

static int compare_u64(uint64_t left, uint64_t right)
{
	return left < right ? -1 : left > right;
}

static int compare_contents(const struct merge_recording *a, const struct merge_recording *b)
{
	int order = compare_texts(a->hostname, b->hostname);

	if (!order)
		order = compare_u64(a->begin, b->begin);
	for (unsigned int i = 0; !order && i < 2; i++)
		order = compare_u64(a->digest.lane[i], b->digest.lane[i]);
	return order ? order : compare_u64(a->records, b->records);
}

static int compare_recordings(const void *left, const void *right)
{
	const struct merge_recording *const *a = left, *const *b = right;
	int order = compare_contents(*a, *b);

	/* The choice between equal ones does not affect the output. */
	if (!order)
		order = compare_texts((*a)->input->path, (*b)->input->path);
	return order ? order : compare_u64((*a)->index, (*b)->index);
}

/* Move duplicates to the end. */
static bool part_equal(struct pesa_merge *merge)
{
	struct merge_recording **again = calloc(merge->recording_count + 1, sizeof(*again));
	size_t count = 0, distinct = 0;

	if (!again)
		return false;
	for (size_t i = 0; i < merge->recording_count; i++) {
		struct merge_recording *recording = merge->recordings[i];

		recording->same_as = NULL;
		if (distinct && !compare_contents(merge->recordings[distinct - 1], recording)) {
			recording->same_as = merge->recordings[distinct - 1];
			again[count++] = recording;
		} else {
			merge->recordings[distinct++] = recording;
		}
	}
	memcpy(merge->recordings + distinct, again, count * sizeof(*again));
	merge->distinct = distinct;
	free(again);
	return true;
}

/* ---- Whether they can be merged -------------------------------------------------------------- */

struct capability_text {
	const char *name, *value[2];
	char text[2][1024];
	unsigned int side;
	struct pesa_capabilities sides[2];
};

static void find_capability(void *context, const char *name, const char *value)
{
	struct capability_text *text = context;

	if (strcmp(name, text->name))
		return;
	snprintf(text->text[text->side], sizeof(text->text[0]), "%s", value);
}

/* Callback of pesa_capabilities_each(): finds the first name whose values differ. */
static void compare_capability(void *context, const char *name, const char *value)
{
	struct capability_text *text = context, other = {.name = name};

	pesa_capabilities_each(&text->sides[1], find_capability, &other);
	if (text->name || !strcmp(other.text[0], value))
		return;
	text->name = name;
	snprintf(text->text[0], sizeof(text->text[0]), "%s", value);
	snprintf(text->text[1], sizeof(text->text[1]), "%s", other.text[0]);
}

static struct pesa_error *different_cores(const struct merge_recording *left,
					  const struct merge_recording *right)
{
	struct capability_text text = {.sides = {left->capabilities, right->capabilities}};
	const char *name;

	pesa_capabilities_each(&text.sides[0], compare_capability, &text);
	name = text.name ? text.name : "core or model";
	return pesa_error_create(
		PESA_ERROR_UNSUPPORTED,
		"%s and %s were recorded on different cores (%s: '%s' and '%s'), whose cycles do "
		"not add up: merge those of each core by themselves",
		left->input->path, right->input->path, name, text.text[0], text.text[1]);
}

static struct pesa_error *check(struct pesa_merge *merge)
{
	const struct merge_recording *with_arch = NULL, *with_capabilities = NULL;

	for (size_t i = 0; i < merge->distinct; i++) {
		const struct merge_recording *recording = merge->recordings[i];

		if (recording->arch && !with_arch)
			with_arch = recording;
		if (recording->arch && strcmp(recording->arch, with_arch->arch))
			return pesa_error_create(
				PESA_ERROR_UNSUPPORTED,
				"%s is from a %s machine and %s from a %s one: merge those of each "
				"instruction set by themselves",
				with_arch->input->path, with_arch->arch, recording->input->path,
				recording->arch);
		if (!recording->has_capabilities)
			continue;
		if (!with_capabilities)
			with_capabilities = recording;
		if (memcmp(&recording->capabilities, &with_capabilities->capabilities,
			   sizeof(recording->capabilities)))
			return different_cores(with_capabilities, recording);
	}
	merge->arch = with_arch ? with_arch->arch : NULL;
	merge->capabilities = with_capabilities ? &with_capabilities->capabilities : NULL;
	return NULL;
}

/* ---- Keeping them apart ---------------------------------------------------------------------- */

static struct pesa_error *arrange_times(struct pesa_merge *merge)
{
	const struct merge_recording *before = NULL;

	for (size_t i = 0; i < merge->distinct; i++) {
		struct merge_recording *recording = merge->recordings[i];
		/* Records without a time precede it. */
		uint64_t free = before ? before->end + before->moved + 2 : 2;

		recording->moved = 0;
		/* Recordings of one host keep their distance in time. */
		if (before && !compare_texts(before->hostname, recording->hostname))
			recording->moved = before->moved;
		if (merge_begin(recording) < free)
			recording->moved = free - recording->begin;
		if (recording->end + recording->moved >= TIME_MAX)
			return pesa_error_create(PESA_ERROR_UNSUPPORTED,
						 "%s: its times, behind those of the others, are "
						 "beyond what can be written; merge fewer files",
						 recording->input->path);
		before = recording;
	}
	return NULL;
}

static struct pesa_error *arrange_numbers(struct pesa_merge *merge)
{
	struct merge_numbers all = {0}, used = {0};
	uint32_t next = MERGE_FIRST_NUMBER;
	struct pesa_error *error = NULL;
	bool added;

	for (size_t i = 0; !error && i < merge->distinct; i++)
		for (size_t j = 0; !error && j < merge->recordings[i]->number_count; j++)
			error = merge_numbers_add(&all, merge->recordings[i]->numbers[j], &added);
	for (size_t i = 0; !error && i < merge->distinct; i++) {
		struct merge_recording *recording = merge->recordings[i];

		merge_runs_free(&recording->renumber);
		for (size_t j = 0; !error && j < recording->number_count; j++) {
			uint32_t number = recording->numbers[j];

			error = merge_numbers_add(&used, number, &added);
			if (error || added)
				continue;
			while (merge_numbers_has(&all, next))
				next++;
			if (next > INT32_MAX)
				break;
			error = merge_runs_add(&recording->renumber, number, next++);
		}
	}
	merge_numbers_free(&all);
	merge_numbers_free(&used);
	if (error)
		return error;
	if (next > INT32_MAX)
		return pesa_error_create(
			PESA_ERROR_UNSUPPORTED,
			"there are more processes than numbers; merge fewer files");
	return NULL;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static int compare_likes(const struct merge_attribute *a, const struct merge_attribute *b)
{
	int order = strcmp(a->name, b->name);

	return order ? order : memcmp(&a->attr, &b->attr, PERF_ATTR_SIZE_VER7);
}

/* Tools show the first event of a file by default: events that are first in a recording stay
 * first. */
static int compare_output(const void *left, const void *right)
{
	const struct merge_output_attribute *a = left, *b = right;

	if (a->position != b->position)
		return a->position < b->position ? -1 : 1;
	return compare_likes(a->like, b->like);
}

static struct merge_output_attribute *find_output(struct pesa_merge *merge,
						  const struct merge_attribute *like)
{
	for (unsigned int i = 0; i < merge->attribute_count; i++)
		if (!compare_likes(merge->attributes[i].like, like))
			return &merge->attributes[i];
	return NULL;
}

static struct pesa_error *collect_attributes(struct pesa_merge *merge)
{
	attributes_free(merge);
	for (size_t i = 0; i < merge->distinct; i++) {
		const struct merge_recording *recording = merge->recordings[i];

		for (unsigned int j = 0; j < recording->attribute_count; j++) {
			const struct merge_attribute *like = &recording->attributes[j];
			struct merge_output_attribute *output = find_output(merge, like);
			void *grown;

			if (output && output->position > j)
				output->position = j;
			if (output)
				continue;
			grown = realloc(merge->attributes,
					(merge->attribute_count + 1) * sizeof(*merge->attributes));
			if (!grown)
				return pesa_error_no_memory();
			merge->attributes = grown;
			merge->attributes[merge->attribute_count++] =
				(struct merge_output_attribute){.like = like, .position = j};
		}
	}
	if (merge->attribute_count)
		qsort(merge->attributes, merge->attribute_count, sizeof(*merge->attributes),
		      compare_output);
	return NULL;
}

static size_t pmu_length(const struct merge_output_attribute *output)
{
	return strcspn(output->like->name, "/");
}

static int compare_pmus(const struct merge_output_attribute *a,
			const struct merge_output_attribute *b)
{
	size_t length = pmu_length(a), other = pmu_length(b);
	int order = strncmp(a->like->name, b->like->name, length < other ? length : other);

	return order ? order : compare_u64(length, other);
}

/* PMUs are numbered in the order of their names. */
static void number_pmus(struct pesa_merge *merge)
{
	for (unsigned int i = 0; i < merge->attribute_count; i++) {
		struct merge_output_attribute *output = &merge->attributes[i];

		output->type = output->like->attr.type;
		if (output->type != MERGE_FIRST_PMU)
			continue;
		/* one more for each PMU before it, recognised by its first event */
		for (unsigned int j = 0; j < merge->attribute_count; j++) {
			bool first = merge->attributes[j].like->attr.type == MERGE_FIRST_PMU &&
				     compare_pmus(&merge->attributes[j], output) < 0;

			for (unsigned int k = 0; first && k < j; k++)
				first = merge->attributes[k].like->attr.type != MERGE_FIRST_PMU ||
					compare_pmus(&merge->attributes[k], &merge->attributes[j]);
			output->type += first;
		}
	}
}

/* The ids of each recording follow those of the previous one. */
static struct pesa_error *arrange_ids(struct pesa_merge *merge)
{
	uint32_t base = 0;

	for (size_t i = 0; i < merge->distinct; i++) {
		struct merge_recording *recording = merge->recordings[i];

		recording->id_base = base;
		base += recording->ids;
		for (unsigned int j = 0; j < recording->attribute_count; j++) {
			struct merge_attribute *attribute = &recording->attributes[j];
			struct merge_output_attribute *output = find_output(merge, attribute);
			uint64_t *grown;

			attribute->index = (unsigned int)(output - merge->attributes);
			grown = realloc(output->ids,
					(output->id_count + attribute->ids) * sizeof(*grown));
			if (!grown)
				return pesa_error_no_memory();
			output->ids = grown;
			for (uint32_t k = 0; k < attribute->ids; k++)
				grown[output->id_count++] =
					(uint64_t)recording->id_base + attribute->first_id + k;
		}
	}
	return NULL;
}

struct pesa_error *pesa_merge_arrange(struct pesa_merge *merge)
{
	struct pesa_error *error;

	if (merge->recording_count)
		qsort(merge->recordings, merge->recording_count, sizeof(*merge->recordings),
		      compare_recordings);
	if (!part_equal(merge))
		return pesa_error_no_memory();
	error = check(merge);
	if (!error)
		error = arrange_times(merge);
	if (!error)
		error = arrange_numbers(merge);
	if (!error)
		error = collect_attributes(merge);
	if (error)
		return error;
	number_pmus(merge);
	return arrange_ids(merge);
}

/* ---- Results --------------------------------------------------------------------------------- */

size_t pesa_merge_count(const struct pesa_merge *merge)
{
	return merge->recording_count;
}

void pesa_merge_recording(const struct pesa_merge *merge, size_t index,
			  struct pesa_merge_recording *result)
{
	const struct merge_recording *recording = merge->recordings[index];

	*result = (struct pesa_merge_recording){
		.path = recording->input->path,
		.hostname = recording->hostname,
		.cmdline = recording->cmdline,
		.begin = recording->begin,
		.end = recording->end,
		.samples = recording->samples,
		.lost = recording->lost,
		.left_out = recording->left_out,
		.damaged_records = recording->damaged_records,
		.damaged_bytes = recording->damaged_bytes,
		.moved = recording->moved,
		.processes_renumbered = recording->renumber.numbers,
		.process = recording->number_count ? recording->numbers[0] : 0,
		.same_as = recording->same_as ? recording->same_as->input->path : NULL,
	};
	snprintf(result->digest, sizeof(result->digest), "%016" PRIx64 "%016" PRIx64,
		 recording->digest.lane[0], recording->digest.lane[1]);
}

const char *pesa_merge_divided_event(const struct pesa_merge *merge, size_t index)
{
	for (unsigned int i = 0; i < merge->attribute_count; i++) {
		const char *name = merge->attributes[i].like->name;
		bool divided = false;

		for (unsigned int j = 0; j < merge->attribute_count; j++) {
			if (strcmp(merge->attributes[j].like->name, name))
				continue;
			if (j < i) { /* it was reported */
				divided = false;
				break;
			}
			divided |= j > i;
		}
		if (divided && !index--)
			return name;
	}
	return NULL;
}
