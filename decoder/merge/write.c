// SPDX-License-Identifier: GPL-2.0-or-later
/* Writing the merged file: facts of its recordings, then their records.  See inside.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/merge/inside.h"
#include "decoder/perfdata/buffer.h"
#include "decoder/perfdata/reader.h"

#define RECORDS_A_ROUND 8192
#define FACTS_MAX	16
#define FACT_BYTES	136		   /* size of a fact without its value, including padding */
#define SECTION_BYTES	(60 * 1024 * 1024) /* limit of a feature section */
#define NAMED		3		   /* number of commands listed */

/* ---- Facts ----------------------------------------------------------------------------------- */

struct facts {
	struct pesa_recording *recordings;
	size_t count;
};

/* Add a fact and take ownership of its value; NULL value: out of memory. */
static bool add_fact(struct pesa_recording *facts, const char *name, char *value)
{
	struct pesa_fact *fact = (struct pesa_fact *)&facts->fact[facts->facts];

	if (!value)
		return false;
	*fact = (struct pesa_fact){strdup(name), value};
	facts->facts++;
	return fact->name;
}

static char *number_text(uint64_t number)
{
	char *text;

	return asprintf(&text, "%" PRIu64, number) < 0 ? NULL : text;
}

/* "EVENT=NUMBER EVENT=NUMBER": names have neither character (input.c). */
static bool add_counts(const struct merge_recording *recording, struct pesa_recording *facts)
{
	struct perfdata_buffer text = {0};
	bool added;

	for (size_t i = 0; i < recording->count_count; i++) {
		const struct pesa_count *count = &recording->counts[i];
		char number[24];

		if (i)
			perfdata_buffer_append(&text, " ", 1);
		perfdata_buffer_append(&text, count->event, strlen(count->event));
		perfdata_buffer_append(&text, number,
				       (size_t)sprintf(number, "=%" PRIu64, count->value));
	}
	perfdata_buffer_zeros(&text, 1);
	added = !text.failed && add_fact(facts, "counts", strdup((const char *)text.bytes));
	perfdata_buffer_free(&text);
	return added;
}

/* Facts of a recording, and the changes made to it. */
static bool facts_of(const struct merge_recording *recording, struct pesa_recording *facts)
{
	const struct {
		const char *name, *text;
	} texts[] = {
		{"hostname", recording->hostname},
		{"os_release", recording->os_release},
		{"cmdline", recording->cmdline},
		{"arch", recording->arch},
		{"cpu_description", recording->cpu_description},
	};
	const struct {
		const char *name;
		uint64_t number;
		bool always;
	} numbers[] = {
		{"cpus", recording->cpus, false},
		{"capabilities", recording->has_capabilities, false},
		{"ids", recording->ids, true},
		{"begin", recording->begin, true},
		{"moved", recording->moved, true},
		{"left_out", recording->left_out, false},
		{"damaged_records", recording->damaged_records, false},
		{"damaged_bytes", recording->damaged_bytes, false},
	};

	facts->fact = calloc(FACTS_MAX, sizeof(*facts->fact));
	if (!facts->fact)
		return false;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i].text && !add_fact(facts, texts[i].name, strdup(texts[i].text)))
			return false;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if ((numbers[i].always || numbers[i].number) &&
		    !add_fact(facts, numbers[i].name, number_text(numbers[i].number)))
			return false;
	if (recording->renumber.count &&
	    !add_fact(facts, "renumbered", merge_runs_text(&recording->renumber)))
		return false;
	return !recording->count_count || add_counts(recording, facts);
}

static struct pesa_error *make_facts(const struct pesa_merge *merge, struct facts *facts)
{
	size_t size = 0;

	facts->recordings = calloc(merge->distinct, sizeof(*facts->recordings));
	if (!facts->recordings)
		return pesa_error_no_memory();
	for (size_t i = 0; i < merge->distinct; i++) {
		struct pesa_recording *recording = &facts->recordings[facts->count++];

		if (!facts_of(merge->recordings[i], recording))
			return pesa_error_no_memory();
		for (size_t j = 0; j < recording->facts; j++)
			size += strlen(recording->fact[j].value) + FACT_BYTES;
	}
	if (size <= SECTION_BYTES)
		return NULL;
	return pesa_error_create(PESA_ERROR_UNSUPPORTED,
				 "%zu recordings are more than one file can tell of; merge fewer",
				 merge->distinct);
}

/* ---- Facts about the recordings -------------------------------------------------------------- */

typedef const char *text_function(const struct merge_recording *recording);

static const char *hostname_of(const struct merge_recording *recording)
{
	return recording->hostname;
}

static const char *os_release_of(const struct merge_recording *recording)
{
	return recording->os_release;
}

static const char *cpu_description_of(const struct merge_recording *recording)
{
	return recording->cpu_description;
}

static const char *cmdline_of(const struct merge_recording *recording)
{
	return recording->cmdline;
}

/* Whether no earlier recording has the same text. */
static bool is_first(const struct pesa_merge *merge, size_t index, text_function *text_of)
{
	const char *text = text_of(merge->recordings[index]);

	for (size_t i = 0; i < index; i++) {
		const char *other = text_of(merge->recordings[i]);

		if (other && !strcmp(other, text))
			return false;
	}
	return true;
}

/*
 * One text for all recordings: the common text or, if they differ, their number and the first
 * texts; "" if no recording has one.  The caller frees it; NULL: out of memory.
 */
static char *common_text(const struct pesa_merge *merge, text_function *text_of,
			 const char *several)
{
	struct perfdata_buffer named = {0};
	const char *only = NULL;
	size_t count = 0;
	char *text = NULL;

	for (size_t i = 0; i < merge->distinct && count <= NAMED; i++) {
		const char *one = text_of(merge->recordings[i]);

		if (!one || !is_first(merge, i, text_of))
			continue;
		only = one;
		if (count++)
			perfdata_buffer_append(&named, "; ", 2);
		if (count > NAMED)
			one = "...";
		perfdata_buffer_append(&named, one, strlen(one));
	}
	perfdata_buffer_zeros(&named, 1);
	if (!named.failed && count <= 1)
		text = strdup(only ? only : "");
	else if (!named.failed &&
		 asprintf(&text, "%zu %s: %s", merge->distinct, several, named.bytes) < 0)
		text = NULL;
	perfdata_buffer_free(&named);
	return text;
}

/* ---- Creating the file ----------------------------------------------------------------------- */

struct output {
	char *path, *temporary;
	struct pesa_perfdata_writer_attribute *attributes;
	char *hostname, *os_release, *cpu_description, *cmdline; /* "": unknown */
	struct facts facts;
	struct pesa_perfdata_writer *writer;
	struct merge_record *record;
	uint64_t since_round; /* records written since the last round */
};

/* Resolve links in `path`, and make the name of a temporary file in the same directory. */
static struct pesa_error *name_output(struct output *output, const char *path)
{
	struct stat status;

	if (!strcmp(path, "-"))
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "a merged file cannot go to standard output; name a file");
	if (!stat(path, &status)) {
		if (!S_ISREG(status.st_mode))
			return pesa_error_create(PESA_ERROR_ARGUMENT, "%s: is no file", path);
		output->path = realpath(path, NULL);
	} else {
		output->path = strdup(path);
	}
	if (!output->path ||
	    asprintf(&output->temporary, "%s.%ld.part", output->path, (long)getpid()) < 0) {
		output->temporary = NULL;
		return pesa_error_no_memory();
	}
	return NULL;
}

static void output_free(struct output *output)
{
	pesa_perfdata_writer_abandon(output->writer);
	perfdata_recordings_free(output->facts.recordings, output->facts.count);
	free(output->path);
	free(output->temporary);
	free(output->attributes);
	free(output->hostname);
	free(output->os_release);
	free(output->cpu_description);
	free(output->cmdline);
	free(output->record);
}

static const char *or_null(const char *text)
{
	return text && *text ? text : NULL;
}

/* Counts are added up by event; the sum saturates. */
static struct pesa_error *write_counts(const struct pesa_merge *merge, struct output *output)
{
	struct pesa_error *error = NULL;
	struct pesa_count *sum = NULL;
	size_t sums = 0;

	for (size_t i = 0; !error && i < merge->distinct; i++)
		for (size_t j = 0; !error && j < merge->recordings[i]->count_count; j++) {
			const struct pesa_count *count = &merge->recordings[i]->counts[j];
			struct pesa_count *grown;
			size_t k = 0;

			while (k < sums && strcmp(sum[k].event, count->event))
				k++;
			if (k < sums) {
				if (__builtin_add_overflow(sum[k].value, count->value,
							   &sum[k].value))
					sum[k].value = UINT64_MAX;
				continue;
			}
			grown = realloc(sum, (sums + 1) * sizeof(*sum));
			if (!grown)
				error = pesa_error_no_memory();
			else
				(sum = grown)[sums++] = *count;
		}
	for (size_t k = 0; !error && k < sums; k++)
		error = pesa_perfdata_write_count(output->writer, sum[k].event, sum[k].value);
	free(sum);
	return error;
}

static struct pesa_error *create(const struct pesa_merge *merge, struct output *output,
				 int compression)
{
	struct pesa_perfdata_machine machine;
	char *command[2] = {NULL};
	struct pesa_perfdata_writer_options options = {
		.attribute_count = merge->attribute_count,
		.compression = compression,
		.arch = merge->arch,
		.capabilities = merge->capabilities,
		.machine = &machine,
		.reproducible = true,
	};
	struct pesa_error *error = make_facts(merge, &output->facts);

	if (error)
		return error;
	output->attributes = calloc(merge->attribute_count + 1, sizeof(*output->attributes));
	output->record = malloc(sizeof(*output->record));
	output->hostname = common_text(merge, hostname_of, "recordings of hosts");
	output->os_release = common_text(merge, os_release_of, "recordings of kernels");
	output->cpu_description = common_text(merge, cpu_description_of, "recordings of CPUs");
	output->cmdline = common_text(merge, cmdline_of, "recordings");
	if (!output->attributes || !output->record || !output->hostname || !output->os_release ||
	    !output->cpu_description || !output->cmdline)
		return pesa_error_no_memory();
	for (unsigned int i = 0; i < merge->attribute_count; i++) {
		const struct merge_output_attribute *attribute = &merge->attributes[i];

		output->attributes[i] = (struct pesa_perfdata_writer_attribute){
			.attr = attribute->like->attr,
			.name = attribute->like->name,
			.ids = attribute->ids,
			.id_count = attribute->id_count,
		};
		output->attributes[i].attr.type = attribute->type;
	}
	for (size_t i = 0; i < merge->distinct; i++)
		if (merge->recordings[i]->cpus > options.cpus)
			options.cpus = merge->recordings[i]->cpus;
	machine = (struct pesa_perfdata_machine){or_null(output->hostname),
						 or_null(output->os_release)};
	command[0] = *output->cmdline ? output->cmdline : NULL;
	options.command = command;
	options.cpu_description = or_null(output->cpu_description);
	options.attributes = output->attributes;
	options.recordings = output->facts.recordings;
	options.recording_count = output->facts.count;
	error = pesa_perfdata_writer_create(output->temporary, &options, &output->writer);
	return error ? error : write_counts(merge, output);
}

/* ---- Records --------------------------------------------------------------------------------- */

static void patch_u32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

static void patch_u64(uint8_t *at, uint64_t value)
{
	memcpy(at, &value, sizeof(value));
}

/* Convert the canonical form of a record to that in the output. */
static void place_record(const struct merge_recording *recording, struct merge_record *record)
{
	uint64_t begin = merge_begin(recording);
	uint64_t time = record->time ? record->time + recording->moved : begin - 1;

	for (unsigned int i = 0; i < record->numbers; i++) {
		uint8_t *at = record->bytes + record->number_at[i];

		patch_u32(at, merge_runs_forth(&recording->renumber, perfdata_u32(at, false)));
	}
	for (unsigned int i = 0; i < record->times; i++)
		patch_u64(record->bytes + record->time_at[i], time);
	for (unsigned int i = 0; i < record->ids; i++) {
		uint8_t *at = record->bytes + record->id_at[i];
		uint64_t id = perfdata_u64(at, false);

		if (id)
			patch_u64(at, id + recording->id_base);
	}
}

static struct pesa_error *write_record(struct output *output, const void *bytes, size_t size)
{
	struct pesa_error *error = pesa_perfdata_write_raw(output->writer, bytes, size);

	if (!error && ++output->since_round == RECORDS_A_ROUND) {
		output->since_round = 0;
		error = pesa_perfdata_write_round(output->writer);
	}
	return error;
}

/* Write the map that ends the previous recording's kernel. */
static struct pesa_error *write_other_kernel(struct output *output,
					     const struct merge_recording *recording)
{
	struct {
		struct perfdata_record header;
		uint32_t pid, tid;
		uint64_t address, length, offset, file[3];
		uint32_t protection, flags;
		char path[(sizeof(MERGE_OTHER_KERNEL) + 7) & ~7u];
		uint32_t trailer_pid, trailer_tid;
		uint64_t time;
		uint32_t cpu, reserved;
		uint64_t id;
	} map = {
		.header = {PERF_RECORD_MMAP2, PERF_RECORD_MISC_KERNEL | PERF_RECORD_MISC_MMAP_DATA,
			   sizeof(map)},
		.pid = UINT32_MAX,
		.length = UINT64_MAX,
		.path = MERGE_OTHER_KERNEL,
		.trailer_pid = UINT32_MAX,
		.time = merge_begin(recording) - 1,
		.id = (uint64_t)recording->id_base + 1,
	};

	return write_record(output, &map, sizeof(map));
}

static struct pesa_error *changed(const struct merge_input *input)
{
	return pesa_error_create(
		PESA_ERROR_FORMAT,
		"%s: changed while it was merged; merge again when its recorder is done",
		input->path);
}

/* Copy one recording, whose input is open. */
static struct pesa_error *write_recording(struct output *output, struct merge_recording *recording)
{
	struct merge_record *record = output->record;
	struct pesa_error *error = NULL;
	uint64_t records = 0;

	while (!error && merge_input_next(recording->input, recording, record)) {
		if (++records > recording->records || record->time > recording->end ||
		    (record->time && record->time < recording->begin))
			return changed(recording->input);
		place_record(recording, record);
		error = write_record(output, record->bytes, record->size);
	}
	if (!error && records != recording->records)
		error = changed(recording->input);
	return error;
}

static struct pesa_error *write_recordings(struct pesa_merge *merge, struct output *output)
{
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < merge->distinct; i++)
		merge->recordings[i]->input->last = merge->recordings[i];
	for (size_t i = 0; !error && i < merge->distinct; i++) {
		struct merge_recording *recording = merge->recordings[i];
		struct merge_input *input = recording->input;

		if (!input->reader)
			error = merge_input_open(input);
		if (!error && i)
			error = write_other_kernel(output, recording);
		if (!error)
			error = write_recording(output, recording);
		if (input->last == recording)
			merge_input_close(input);
	}
	for (size_t i = 0; i < merge->input_count; i++)
		merge_input_close(merge->inputs[i]);
	return error;
}

struct pesa_error *pesa_merge_write(struct pesa_merge *merge, const char *path, int compression)
{
	struct output output = {0};
	struct pesa_error *error = name_output(&output, path);
	bool created = false;

	if (!error) {
		error = create(merge, &output, compression);
		created = output.writer;
	}
	if (!error)
		error = write_recordings(merge, &output);
	if (!error) {
		error = pesa_perfdata_writer_finish(output.writer);
		output.writer = NULL;
	}
	if (!error && rename(output.temporary, output.path))
		error = pesa_error_system(errno, "cannot rename %s to %s", output.temporary,
					  output.path);
	if (error && created)
		unlink(output.temporary);
	output_free(&output);
	return error;
}
