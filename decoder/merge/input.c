// SPDX-License-Identifier: GPL-2.0-or-later
/* Inputs of a merge: their recordings, and reading the records.  See inside.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "decoder/merge/inside.h"
#include "decoder/base/number.h"

/* Times above this (146 years) are damage. */
#define TIME_MAX	(1ull << 62)
#define NAME_MAX_LENGTH 255 /* bytes */

/* ---- Opening --------------------------------------------------------------------------------- */

struct pesa_error *merge_input_open(struct merge_input *input)
{
	struct pesa_error *error;
	struct stat status;

	if (stat(input->path, &status))
		return pesa_error_system(errno, "cannot open %s", input->path);
	if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
		return pesa_error_create(
			PESA_ERROR_UNSUPPORTED,
			"%s: is no file, and an input is read twice; save it first", input->path);
	error = pesa_perfdata_open(input->path, &input->reader);
	if (error)
		return error;
	input->pending = input->ended = input->losses_reported = input->separator = false;
	input->current = NULL;
	input->time = input->lost_reported = input->misplaced = 0;
	if (!pesa_perfdata_swapped(input->reader))
		return NULL;
	merge_input_close(input);
	return pesa_error_create(
		PESA_ERROR_UNSUPPORTED,
		"%s: was recorded on a machine of the other byte order; merge such files on one of that order",
		input->path);
}

void merge_input_close(struct merge_input *input)
{
	pesa_perfdata_close(input->reader);
	input->reader = NULL;
}

void merge_input_free(struct merge_input *input)
{
	if (!input)
		return;
	merge_input_close(input);
	free(input->path);
	free(input->recordings);
	free(input->damage);
	free(input->attribute_of);
	free(input->ids);
	free(input);
}

void merge_recording_free(struct merge_recording *recording)
{
	if (!recording)
		return;
	for (unsigned int i = 0; i < recording->attribute_count; i++)
		free(recording->attributes[i].name);
	free(recording->attributes);
	for (size_t i = 0; i < recording->count_count; i++)
		free((char *)recording->counts[i].event);
	free(recording->counts);
	free(recording->hostname);
	free(recording->os_release);
	free(recording->cmdline);
	free(recording->arch);
	free(recording->cpu_description);
	free(recording->numbers);
	merge_runs_free(&recording->renumbered);
	merge_runs_free(&recording->renumber);
	free(recording);
}

/* ---- Recordings ------------------------------------------------------------------------------ */

static bool copy(const char *from, char **to)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to;
}

static bool add_count(struct merge_recording *recording, const char *event, uint64_t value)
{
	struct pesa_count *grown =
		realloc(recording->counts, (recording->count_count + 1) * sizeof(*grown));
	char *name = strndup(event, NAME_MAX_LENGTH);

	if (grown)
		recording->counts = grown;
	if (!grown || !name) {
		free(name);
		return false;
	}
	for (char *at = name; (at = strpbrk(at, " =")); at++)
		*at = '_'; /* the separator of counts in a merged file */
	grown[recording->count_count++] = (struct pesa_count){name, value};
	return true;
}

static struct merge_recording *recording_new(struct merge_input *input)
{
	struct merge_recording *recording = calloc(1, sizeof(*recording));

	if (!recording)
		return NULL;
	recording->input = input;
	recording->index = input->recording_count;
	input->recordings[input->recording_count++] = recording;
	return recording;
}

/* Index of the canonical attribute in the recording, added if new; UINT32_MAX: out of memory. */
static uint32_t add_attribute(struct merge_recording *recording,
			      const struct pesa_attribute *attribute)
{
	struct merge_attribute made = {0}, *grown;

	merge_attribute_make(attribute, &made.attr);
	for (unsigned int i = 0; i < recording->attribute_count; i++)
		if (!memcmp(&recording->attributes[i].attr, &made.attr, sizeof(made.attr)) &&
		    !strcmp(recording->attributes[i].name, attribute->name))
			return i;
	grown = realloc(recording->attributes, (recording->attribute_count + 1) * sizeof(*grown));
	if (!grown)
		return UINT32_MAX;
	recording->attributes = grown;
	made.name = strdup(attribute->name);
	if (!made.name)
		return UINT32_MAX;
	grown[recording->attribute_count] = made;
	return recording->attribute_count++;
}

static int compare_ids(const void *left, const void *right)
{
	const struct merge_id *a = left, *b = right;

	return a->of_input < b->of_input ? -1 : a->of_input > b->of_input;
}

/*
 * Assign ids: one for each attribute, or all its ids if samples contain the ids of other events.
 * Until they are sorted, `id` is the index of the attribute.
 */
static void number_ids(struct merge_input *input, struct merge_recording *recording)
{
	size_t kept = 0;

	qsort(input->ids, input->id_count, sizeof(*input->ids), compare_ids);
	for (size_t i = 0; i < input->id_count; i++)
		if (!kept || input->ids[i].of_input != input->ids[kept - 1].of_input)
			input->ids[kept++] = input->ids[i];
	input->id_count = kept;
	for (unsigned int i = 0; i < recording->attribute_count; i++) {
		struct merge_attribute *attribute = &recording->attributes[i];
		bool many = merge_attribute_has_ids(&attribute->attr);

		attribute->first_id = recording->ids + 1;
		for (size_t j = 0; many && j < kept; j++)
			attribute->ids += input->ids[j].id == i;
		if (!attribute->ids)
			attribute->ids = 1;
		recording->ids += attribute->ids;
	}
	for (unsigned int i = 0; i < recording->attribute_count; i++)
		recording->attributes[i].index = 0; /* number of ids assigned, while numbering */
	for (size_t j = 0; j < kept; j++) {
		struct merge_attribute *attribute = &recording->attributes[input->ids[j].id];

		input->ids[j].id = attribute->first_id + attribute->index;
		if (attribute->index + 1 < attribute->ids)
			attribute->index++;
	}
}

/* Collect the attributes of an unmerged file, and map their ids. */
static bool describe_attributes(struct merge_input *input, struct merge_recording *recording)
{
	const struct pesa_perfdata *reader = input->reader;
	unsigned int count = pesa_perfdata_attribute_count(reader);
	size_t ids = 0;

	for (unsigned int i = 0; i < count; i++)
		ids += pesa_perfdata_attribute(reader, i)->id_count;
	input->attribute_of = malloc((count + 1) * sizeof(*input->attribute_of));
	input->ids = malloc((ids + 1) * sizeof(*input->ids));
	if (!input->attribute_of || !input->ids)
		return false;
	for (; input->attribute_count < count; input->attribute_count++) {
		const struct pesa_attribute *attribute =
			pesa_perfdata_attribute(reader, input->attribute_count);
		uint32_t *index = &input->attribute_of[input->attribute_count];

		*index = UINT32_MAX;
		/* Their formats are in trace data, without which stock perf refuses a whole
		 * file. */
		if (attribute->attr.type == PERF_TYPE_TRACEPOINT)
			continue;
		*index = add_attribute(recording, attribute);
		if (*index == UINT32_MAX)
			return false;
		for (uint32_t j = 0; j < attribute->id_count; j++)
			input->ids[input->id_count++] =
				(struct merge_id){attribute->ids[j], *index};
	}
	number_ids(input, recording);
	return true;
}

/* An unmerged file is one recording. */
static bool describe_whole(struct merge_input *input)
{
	const struct pesa_perfdata *reader = input->reader;
	const struct pesa_capabilities *capabilities = pesa_perfdata_capabilities(reader);
	struct merge_recording *recording;
	const struct pesa_count *counts;
	size_t count;

	input->recordings = calloc(1, sizeof(*input->recordings));
	recording = input->recordings ? recording_new(input) : NULL;
	if (!recording)
		return false;
	recording->cpus = pesa_perfdata_cpus(reader);
	recording->has_capabilities = capabilities;
	if (capabilities)
		recording->capabilities = *capabilities;
	counts = pesa_perfdata_counts(reader, &count);
	for (size_t i = 0; i < count; i++)
		if (!add_count(recording, counts[i].event, counts[i].value))
			return false;
	return copy(pesa_perfdata_hostname(reader), &recording->hostname) &&
	       copy(pesa_perfdata_os_release(reader), &recording->os_release) &&
	       copy(pesa_perfdata_cmdline(reader), &recording->cmdline) &&
	       copy(pesa_perfdata_arch(reader), &recording->arch) &&
	       copy(pesa_perfdata_cpu_description(reader), &recording->cpu_description) &&
	       describe_attributes(input, recording);
}

/* ---- Recordings of a merged file ------------------------------------------------------------- */

/* Facts with these names are copied unchanged. */
static const struct {
	const char *name;
	size_t offset;
} texts[] = {
	{"hostname", offsetof(struct merge_recording, hostname)},
	{"os_release", offsetof(struct merge_recording, os_release)},
	{"cmdline", offsetof(struct merge_recording, cmdline)},
	{"arch", offsetof(struct merge_recording, arch)},
	{"cpu_description", offsetof(struct merge_recording, cpu_description)},
};

static const struct {
	const char *name;
	size_t offset;
} numbers[] = {
	{"left_out", offsetof(struct merge_recording, left_out)},
	{"damaged_records", offsetof(struct merge_recording, damaged_records)},
	{"damaged_bytes", offsetof(struct merge_recording, damaged_bytes)},
	{"begin", offsetof(struct merge_recording, input_begin)},
	{"moved", offsetof(struct merge_recording, input_moved)},
};

/* Parse a decimal number; 0 if the text is empty.  False: not a number. */
static bool parse_number(const char *text, uint64_t limit, uint64_t *number)
{
	*number = 0;
	return !text || number_read(text, 10, 0, limit, number);
}

/* The fact with this name cannot be. */
static struct pesa_error *impossible(const char *name)
{
	return pesa_error_create(PESA_ERROR_FORMAT, "%s", name);
}

/* "EVENT=NUMBER EVENT=NUMBER" */
static struct pesa_error *describe_counts(struct merge_recording *recording, const char *text)
{
	while (text && *text) {
		size_t length = strcspn(text, " "), name_length = strcspn(text, "=");
		char name[256], number[24];
		uint64_t value;

		if (name_length >= length || name_length >= sizeof(name) ||
		    length - name_length > sizeof(number))
			return impossible("counts");
		snprintf(name, sizeof(name), "%.*s", (int)name_length, text);
		snprintf(number, sizeof(number), "%.*s", (int)(length - name_length - 1),
			 text + name_length + 1);
		if (!parse_number(number, UINT64_MAX, &value))
			return impossible("counts");
		if (!add_count(recording, name, value))
			return pesa_error_no_memory();
		text += length + (text[length] == ' ');
	}
	return NULL;
}

static struct pesa_error *describe_facts(struct merge_recording *recording,
					 const struct pesa_recording *facts)
{
	const char *runs = pesa_recording_fact(facts, "renumbered");
	const struct pesa_capabilities *capabilities =
		pesa_perfdata_capabilities(recording->input->reader);
	struct pesa_error *error;
	uint64_t number;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (!copy(pesa_recording_fact(facts, texts[i].name),
			  (char **)((char *)recording + texts[i].offset)))
			return pesa_error_no_memory();
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		if (!parse_number(pesa_recording_fact(facts, numbers[i].name), UINT64_MAX, &number))
			return impossible(numbers[i].name);
		memcpy((char *)recording + numbers[i].offset, &number, sizeof(number));
	}
	if (!parse_number(pesa_recording_fact(facts, "cpus"), PERFDATA_CPUS_MAX, &number))
		return impossible("cpus");
	recording->cpus = (unsigned int)number;
	if (!parse_number(pesa_recording_fact(facts, "ids"), UINT32_MAX / 2, &number))
		return impossible("ids");
	recording->ids = (uint32_t)number;
	if (!parse_number(pesa_recording_fact(facts, "capabilities"), 1, &number))
		return impossible("capabilities");
	recording->has_capabilities = number && capabilities;
	if (recording->has_capabilities)
		recording->capabilities = *capabilities;
	error = runs ? merge_runs_parse(runs, &recording->renumbered) : NULL;
	if (error && error->code == PESA_ERROR_FORMAT) {
		pesa_error_free(error);
		return impossible("renumbered");
	}
	if (error)
		return error;
	return describe_counts(recording, pesa_recording_fact(facts, "counts"));
}

/* The attributes of a recording, found by its ids. */
static struct pesa_error *describe_ids(struct merge_recording *recording)
{
	struct pesa_perfdata *reader = recording->input->reader;

	for (uint32_t id = 1; id <= recording->ids; id++) {
		uint32_t of_file, index;

		if (!perfdata_attribute_find(reader, recording->input_id_base + id, &of_file))
			return impossible("an id that no event has");
		index = add_attribute(recording, pesa_perfdata_attribute(reader, of_file));
		if (index == UINT32_MAX)
			return pesa_error_no_memory();
		if (!recording->attributes[index].ids)
			recording->attributes[index].first_id = id;
		if (recording->attributes[index].first_id + recording->attributes[index].ids++ !=
		    id)
			return impossible("ids of an event that are not consecutive");
	}
	return NULL;
}

static struct pesa_error *describe_merged(struct merge_input *input)
{
	size_t count;
	const struct pesa_recording *facts = pesa_perfdata_recordings(input->reader, &count);
	uint64_t base = 0;

	input->merged = true;
	input->attribute_count = pesa_perfdata_attribute_count(input->reader);
	input->recordings = calloc(count, sizeof(*input->recordings));
	if (!input->recordings)
		return pesa_error_no_memory();
	for (size_t i = 0; i < count; i++) {
		struct merge_recording *recording = recording_new(input);
		struct pesa_error *error, *problem;

		if (!recording)
			return pesa_error_no_memory();
		recording->input_id_base = base;
		problem = describe_facts(recording, &facts[i]);
		if (!problem)
			problem = describe_ids(recording);
		if (problem && problem->code == PESA_ERROR_FORMAT) {
			error = pesa_error_create(
				PESA_ERROR_FORMAT,
				"%s: what it says of recording %zu cannot be (%s): the file is "
				"damaged; merge what it was made of",
				input->path, i + 1, problem->message);
			pesa_error_free(problem);
			return error;
		}
		if (problem)
			return problem;
		base += recording->ids;
	}
	return NULL;
}

struct pesa_error *merge_input_describe(struct merge_input *input)
{
	size_t count;

	pesa_perfdata_recordings(input->reader, &count);
	if (count)
		return describe_merged(input);
	if (!describe_whole(input))
		return pesa_error_no_memory();
	if (input->recordings[0]->attribute_count)
		return NULL;
	return pesa_error_create(PESA_ERROR_UNSUPPORTED,
				 "%s: has tracepoints only, which cannot be merged", input->path);
}

/* ---- Records --------------------------------------------------------------------------------- */

/* Read the next event; false at the end. */
static bool read_event(struct merge_input *input)
{
	if (input->ended || pesa_perfdata_next(input->reader, &input->event) <= 0) {
		input->ended = true;
		return false;
	}
	if (input->event.type == PERF_RECORD_LOST_SAMPLES && input->event.time)
		input->lost_reported += input->event.lost.count;
	return input->pending = true;
}

/* Position of an event of a merged file relative to the recording being read: below 0 before it (or
 * in none), above 0 after it. */
static int belongs(struct merge_input *input, const struct merge_recording *recording)
{
	const struct pesa_event *event = &input->event;
	uint64_t id;

	if (!input->merged)
		return 0;
	id = event->type == PERF_RECORD_SAMPLE ? event->sample.id
					       : merge_trailer_id(input->reader, event->record);
	if (id <= recording->input_id_base)
		return -1;
	if (id - recording->input_id_base <= recording->ids)
		return 0;
	return 1;
}

/* Canonical time of the current event. */
static uint64_t time_of(const struct merge_input *input, const struct merge_recording *recording)
{
	uint64_t time = input->event.time, begin;

	if (!time || time >= TIME_MAX)
		return input->time;
	if (input->merged) {
		begin = recording->input_begin + recording->input_moved;
		time = time < begin ? 0 : time - recording->input_moved;
	}
	return time < input->time ? input->time : time;
}

/* At the end of an input: report the losses not reported yet. */
static bool rest_of_losses(struct merge_input *input, struct merge_record *record)
{
	uint64_t lost = pesa_perfdata_losses(input->reader)->lost;

	if (input->losses_reported || lost <= input->lost_reported)
		return false;
	input->losses_reported = true;
	merge_record_make_lost(lost - input->lost_reported, input->time, record);
	return true;
}

/* The map before a recording of a merged file, which ends the previous kernel, is not a record of
 * the recording. */
static bool is_separator(struct merge_input *input, const struct merge_recording *recording)
{
	bool first = input->separator;

	input->separator = false;
	return first && recording->index && merge_is_other_kernel(&input->event);
}

bool merge_input_next(struct merge_input *input, struct merge_recording *recording,
		      struct merge_record *record)
{
	if (input->current != recording) {
		input->current = recording;
		input->separator = input->merged;
		input->time = 0;
	}
	for (;;) {
		int place;

		if (!input->pending && !read_event(input))
			break;
		place = belongs(input, recording);
		if (place > 0)
			return false;
		input->pending = false;
		if (place < 0) {
			input->misplaced++;
			continue;
		}
		if (is_separator(input, recording))
			continue;
		switch (merge_record_make(recording, &input->event, time_of(input, recording),
					  record)) {
		case MERGE_MADE:
			input->time = record->time;
			return true;
		case MERGE_LEFT_OUT:
			recording->left_out++;
			break;
		case MERGE_FOLDED:
			break;
		}
	}
	if (recording->index + 1 == input->recording_count)
		return rest_of_losses(input, record);
	return false;
}
