// SPDX-License-Identifier: GPL-2.0-or-later
/* A recording becomes distinct rows.  See fleet.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "decoder/base/digest.h"
#include "decoder/base/wall_time.h"
#include "decoder/binary/binaries.h"
#include "decoder/binary/unwind.h"
#include "decoder/fleet/fleet.h"
#include "decoder/profile/raw_record.h"
#include "decoder/profile/thread_names.h"
#include "pesa/csr.h"
#include "pesa/perfdata.h"
#include "pesa/space.h"

#define NS_PER_SECOND INT64_C(1000000000)
#define PIECE	      (1 << 20) /* bytes that are hashed at once */
#define CONTEXT_FIRST UINT64_C(0xfffffffffffff001)
#define NO_EVENT      UINT64_MAX

struct collector {
	struct fleet_recording *recording;
	const struct fleet_collect_options *options;
	struct pesa_perfdata *reader;
	struct pesa_spaces *spaces;
	struct pesa_binaries *binaries;
	struct pesa_unwinder *unwinder;
	struct thread_names *names;
	uint64_t *binary_of; /* by dso; 0: not known yet */
	unsigned int dsos;   /* that binary_of has room for */
	uint64_t *event_of;  /* by attribute; NO_EVENT: of no use */
	unsigned int attributes;
	bool raw_is_ours;
	int64_t began;	/* ns since 1970, wall time of the first sample, or of the last one */
	bool is_end;	/* of the last one */
	uint64_t first; /* ns, time of the first sample; valid if any sample was read */
	uint64_t last;
	struct fleet_place *place; /* of a chain that is being made */
	size_t room;
};

static struct pesa_error *text_number(struct fleet_recording *recording, const char *text,
				      uint32_t *number)
{
	char cut[FLEET_TEXT_MAX + 1];

	if (!text)
		text = "";
	if (strlen(text) > FLEET_TEXT_MAX) {
		memcpy(cut, text, FLEET_TEXT_MAX);
		cut[FLEET_TEXT_MAX] = '\0';
		text = cut;
	}
	*number = distinct_text_get(&recording->texts, text);
	return *number == DISTINCT_NONE ? pesa_error_no_memory() : NULL;
}

/* The hash by which the database knows something: never 0. */
static uint64_t number_of(const struct pesa_digest *digest)
{
	return digest->lane[0] ? digest->lane[0] : 1;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static struct pesa_error *digest_file(const char *path, char text[33])
{
	struct pesa_digest digest = {0};
	struct pesa_error *error = NULL;
	FILE *file = fopen(path, "re");
	uint8_t *piece = malloc(PIECE);
	size_t size;

	if (!file)
		error = pesa_error_system(errno, "%s", path);
	else if (!piece)
		error = pesa_error_no_memory();
	while (!error && (size = fread(piece, 1, PIECE, file)))
		pesa_digest_bytes(&digest, piece, size);
	if (!error && ferror(file))
		error = pesa_error_system(errno, "%s", path);
	if (file)
		fclose(file);
	free(piece);
	snprintf(text, 33, "%016" PRIx64 "%016" PRIx64, digest.lane[0], digest.lane[1]);
	return error;
}

static void add_capability(void *context, const char *name, const char *value)
{
	struct perfdata_buffer *text = context;

	perfdata_buffer_append(text, name, strlen(name));
	perfdata_buffer_append(text, "=", 1);
	perfdata_buffer_append(text, value, strlen(value));
	perfdata_buffer_append(text, "\n", 1);
}

static struct pesa_error *take_capabilities(struct collector *collector)
{
	const struct pesa_capabilities *capabilities =
		pesa_perfdata_capabilities(collector->reader);
	struct perfdata_buffer text = {0};
	struct pesa_error *error;

	if (capabilities)
		pesa_capabilities_each(capabilities, add_capability, &text);
	perfdata_buffer_append(&text, "", 1);
	error = text.failed ? pesa_error_no_memory()
			    : text_number(collector->recording, (const char *)text.bytes,
					  &collector->recording->capabilities);
	perfdata_buffer_free(&text);
	return error;
}

static uint64_t core_of(const struct fleet_recording *recording)
{
	struct pesa_digest digest = {0};

	pesa_digest_text(&digest, fleet_text(recording, recording->arch));
	pesa_digest_text(&digest, fleet_text(recording, recording->capabilities));
	return digest.lane[0];
}

static struct pesa_error *take_counts(struct collector *collector)
{
	struct fleet_recording *recording = collector->recording;
	size_t count;
	const struct pesa_count *counts = pesa_perfdata_counts(collector->reader, &count);
	struct pesa_error *error = NULL;

	recording->count = calloc(count ? count : 1, sizeof(*recording->count));
	if (!recording->count)
		return pesa_error_no_memory();
	for (size_t i = 0; i < count && !error; i++) {
		struct fleet_count *copy = &recording->count[recording->counts++];

		copy->value = counts[i].value;
		error = text_number(recording, counts[i].event, &copy->name);
	}
	return error;
}

static struct pesa_error *take_facts(struct collector *collector)
{
	struct fleet_recording *recording = collector->recording;
	const struct pesa_perfdata *reader = collector->reader;
	const struct {
		const char *text;
		uint32_t *number;
	} facts[] = {
		{pesa_perfdata_hostname(reader), &recording->host},
		{pesa_perfdata_os_release(reader), &recording->os_release},
		{pesa_perfdata_cmdline(reader), &recording->cmdline},
		{pesa_perfdata_arch(reader), &recording->arch},
		{pesa_perfdata_cpu_description(reader), &recording->cpu},
		{pesa_perfdata_cpu_id(reader), &recording->cpu_id},
	};
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts) && !error; i++)
		error = text_number(recording, facts[i].text, facts[i].number);
	recording->cpus = pesa_perfdata_cpus(reader);
	if (!error)
		error = take_capabilities(collector);
	recording->core = core_of(recording);
	return error ? error : take_counts(collector);
}

/* When the recording began, as far as its file tells: by its name, if it is an interval of pesad, else
 * it ended when it was last written. */
static struct pesa_error *find_begin(struct collector *collector, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat status;

	if (collector->options->begin) {
		collector->began = collector->options->begin * NS_PER_SECOND;
		return NULL;
	}
	if (wall_time_of_interval(slash ? slash + 1 : path, &collector->began))
		return NULL;
	if (stat(path, &status))
		return pesa_error_system(errno, "%s", path);
	collector->began = (int64_t)status.st_mtim.tv_sec * NS_PER_SECOND;
	collector->is_end = true;
	return NULL;
}

/* ---- Events, binaries, places ---------------------------------------------------------------- */

/* PMUs beyond these have numbers that differ from boot to boot, and a name. */
#define FIXED_TYPES 6
#define DYNAMIC_PMU 64

static struct pesa_error *add_event(struct collector *collector, unsigned int index)
{
	const struct pesa_attribute *attribute = pesa_perfdata_attribute(collector->reader, index);
	const struct perf_event_attr *attr = &attribute->attr;
	struct pesa_digest digest = {0};
	struct fleet_event event = {
		.type = attr->type >= FIXED_TYPES ? DYNAMIC_PMU : attr->type,
		.config = attr->config,
		.period = attr->sample_period,
		.is_frequency = attr->freq,
		.precise = attr->precise_ip,
	};
	struct fleet_event *kept;
	struct pesa_error *error;
	uint32_t number;

	collector->event_of[index] = NO_EVENT;
	if (attr->type == PERF_TYPE_TRACEPOINT ||
	    (attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY))
		return NULL;
	error = text_number(collector->recording, attribute->name, &event.name);
	if (error)
		return error;
	pesa_digest_text(&digest, fleet_text(collector->recording, event.name));
	pesa_digest_word(&digest, event.type);
	pesa_digest_word(&digest, event.config);
	pesa_digest_word(&digest, event.period);
	pesa_digest_word(&digest, event.is_frequency | event.precise << 1);
	event.number = number_of(&digest);
	number = distinct_records_get(&collector->recording->events, &event.number);
	if (number == DISTINCT_NONE)
		return pesa_error_no_memory();
	kept = distinct_records_at(&collector->recording->events, number);
	*kept = event;
	collector->event_of[index] = event.number;
	return NULL;
}

/* The events known so far: pipes deliver them by and by. */
static struct pesa_error *add_events(struct collector *collector)
{
	unsigned int count = pesa_perfdata_attribute_count(collector->reader);
	const char *arch = pesa_perfdata_arch(collector->reader);
	struct pesa_error *error = NULL;
	uint64_t *grown;

	collector->raw_is_ours = !arch || !strncmp(arch, "riscv", 5);
	grown = reallocarray(collector->event_of, count ? count : 1, sizeof(*grown));
	if (!grown)
		return pesa_error_no_memory();
	collector->event_of = grown;
	for (; collector->attributes < count && !error; collector->attributes++)
		error = add_event(collector, collector->attributes);
	return error;
}

static struct pesa_error *add_binary(struct collector *collector,
				     const struct pesa_mapping *mapping, uint64_t *result)
{
	const struct pesa_dso *dso = pesa_spaces_dso(collector->spaces, mapping->dso);
	struct fleet_recording *recording = collector->recording;
	struct fleet_binary binary = {.kind = (uint8_t)dso->kind,
				      .build_id_size = dso->build_id_size};
	struct pesa_digest digest = {0};
	struct pesa_error *error;
	uint32_t number;

	memcpy(binary.build_id, dso->build_id, dso->build_id_size);
	/* In two recordings one path without a build id may be two files: which, the file tells. */
	if (!binary.build_id_size && dso->kind == PESA_DSO_FILE)
		pesa_perfdata_build_id(collector->reader, dso->path, binary.build_id,
				       &binary.build_id_size);
	if (dso->kind == PESA_DSO_KERNEL)
		binary.base = mapping->start;
	error = text_number(recording, dso->path, &binary.path);
	if (error)
		return error;
	pesa_digest_word(&digest, binary.kind);
	pesa_digest_bytes(&digest, binary.build_id, binary.build_id_size);
	pesa_digest_text(&digest, fleet_text(recording, binary.path));
	binary.number = number_of(&digest);
	number = distinct_records_get(&recording->binaries, &binary.number);
	if (number == DISTINCT_NONE)
		return pesa_error_no_memory();
	*(struct fleet_binary *)distinct_records_at(&recording->binaries, number) = binary;
	*result = binary.number;
	return NULL;
}

static struct pesa_error *binary_of(struct collector *collector, const struct pesa_mapping *mapping,
				    uint64_t *binary)
{
	struct pesa_error *error = NULL;

	if (mapping->dso >= collector->dsos) {
		unsigned int count = pesa_spaces_dso_count(collector->spaces);
		uint64_t *grown = reallocarray(collector->binary_of, count, sizeof(*grown));

		if (!grown)
			return pesa_error_no_memory();
		memset(grown + collector->dsos, 0, (count - collector->dsos) * sizeof(*grown));
		collector->binary_of = grown;
		collector->dsos = count;
	}
	if (!collector->binary_of[mapping->dso])
		error = add_binary(collector, mapping, &collector->binary_of[mapping->dso]);
	*binary = collector->binary_of[mapping->dso];
	return error;
}

static struct pesa_error *place_of(struct collector *collector, const struct pesa_layout *layout,
				   uint64_t address, struct fleet_place *place)
{
	const struct pesa_mapping *mapping = NULL;

	*place = (struct fleet_place){FLEET_NO_BINARY, address};
	if (address < CONTEXT_FIRST)
		mapping = pesa_layout_find(layout, address);
	if (!mapping && address < CONTEXT_FIRST)
		mapping = pesa_layout_find(pesa_spaces_kernel(collector->spaces), address);
	if (!mapping)
		return NULL;
	place->offset = address - mapping->start;
	if (pesa_spaces_dso(collector->spaces, mapping->dso)->kind != PESA_DSO_KERNEL)
		place->offset += mapping->offset;
	return binary_of(collector, mapping, &place->binary);
}

/* ---- Chains ---------------------------------------------------------------------------------- */

static struct pesa_error *chain_of(struct collector *collector, const struct pesa_layout *layout,
				   const uint8_t *addresses, size_t stride, size_t each,
				   size_t count, uint64_t *number)
{
	struct fleet_recording *recording = collector->recording;
	struct pesa_digest digest = {0};
	struct pesa_error *error = NULL;
	struct fleet_chain *kept;
	size_t places = count * each;
	uint32_t index, list;

	*number = 0;
	if (places > collector->room) {
		struct fleet_place *grown =
			reallocarray(collector->place, places, sizeof(*collector->place));

		if (!grown)
			return pesa_error_no_memory();
		collector->place = grown;
		collector->room = places;
	}
	for (size_t i = 0; i < places && !error; i++) {
		uint64_t address;

		memcpy(&address, addresses + i / each * stride + i % each * sizeof(address),
		       sizeof(address));
		error = place_of(collector, layout, address, &collector->place[i]);
	}
	if (error || !places)
		return error;
	pesa_digest_bytes(&digest, collector->place, places * sizeof(*collector->place));
	*number = number_of(&digest);
	list = distinct_bytes_get(&recording->places, collector->place,
				  places * sizeof(*collector->place));
	index = distinct_records_get(&recording->chains, number);
	if (list == DISTINCT_NONE || index == DISTINCT_NONE)
		return pesa_error_no_memory();
	kept = distinct_records_at(&recording->chains, index);
	kept->place = list;
	return NULL;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static bool has_payload(const struct collector *collector, const struct pesa_sample *sample)
{
	static const uint8_t zeros[sizeof(uint32_t)];

	return collector->raw_is_ours && sample->raw &&
	       (sample->raw_size > sizeof(zeros) ||
		memcmp(sample->raw, zeros, sample->raw_size) != 0);
}

/* The branches that the walk of a record may need: its transfers. */
static uint64_t branches_needed(const struct pesa_record *record, const struct pesa_sample *sample)
{
	uint64_t transfers = record->details >> PESA_DETAILS_CTS_SHIFT & PESA_DETAILS_CTS_MASK;

	if (!(record->flags & PESA_RECORD_HAS_DETAILS) || !sample->branches)
		return 0;
	return transfers < sample->branch_count ? transfers : sample->branch_count;
}

static struct pesa_error *take_time(struct collector *collector, const struct pesa_sample *sample,
				    uint32_t *time)
{
	struct fleet_recording *recording = collector->recording;
	uint64_t since;

	if (!recording->samples)
		collector->first = collector->last = sample->time;
	if (sample->time > collector->last)
		collector->last = sample->time;
	since = sample->time > collector->first ? sample->time - collector->first : 0;
	*time = (uint32_t)(since / NS_PER_SECOND / collector->options->bucket *
			   collector->options->bucket);
	return NULL;
}

static struct pesa_error *fill_key(struct collector *collector, struct pesa_sample *sample,
				   const struct pesa_record *record, struct fleet_key *key)
{
	const struct pesa_layout *layout = pesa_spaces_layout(collector->spaces, sample->pid);
	const struct perf_event_attr *attr =
		&pesa_perfdata_attribute(collector->reader, sample->attribute)->attr;
	struct fleet_recording *recording = collector->recording;
	struct pesa_error *error;

	key->event = collector->event_of[sample->attribute];
	error = take_time(collector, sample, &key->time);
	if (!error)
		error = text_number(recording, thread_names_get(collector->names, sample->pid),
				    &key->process);
	if (!error)
		error = text_number(recording, thread_names_get(collector->names, sample->tid),
				    &key->thread);
	if (!error)
		error = place_of(collector, layout, record->pc, &key->pc);
	for (unsigned int i = 0; i < 2 && !error; i++)
		if (record->flags & (i ? PESA_RECORD_HAS_BT2 : PESA_RECORD_HAS_BT1))
			error = place_of(collector, layout, record->bt[i], &key->target[i]);
	if (!error)
		error = pesa_unwinder_complete(collector->unwinder, layout, sample);
	if (!error && sample->callchain_count)
		error = chain_of(collector, layout, sample->callchain, sizeof(uint64_t), 1,
				 sample->callchain_count, &key->chain);
	if (!error && !(attr->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK))
		error = chain_of(collector, layout, sample->branches,
				 sizeof(struct pesa_branch_entry), 2,
				 branches_needed(record, sample), &key->branches);
	return error;
}

static struct pesa_error *take_sample(struct collector *collector, const struct pesa_sample *whole)
{
	const struct pesa_attribute *attribute;
	struct fleet_recording *recording = collector->recording;
	struct pesa_record record = {.xlen = 64, .pc = whole->ip};
	bool payload = has_payload(collector, whole), exact;
	struct pesa_sample sample = *whole;
	struct fleet_key key = {0};
	struct fleet_row *row;
	struct pesa_error *error;
	uint64_t period = whole->period;
	uint32_t number;

	if (whole->attribute >= collector->attributes) {
		error = add_events(collector);
		if (error)
			return error;
	}
	if (whole->attribute >= collector->attributes ||
	    collector->event_of[whole->attribute] == NO_EVENT) {
		recording->left_out++;
		return NULL;
	}
	attribute = pesa_perfdata_attribute(collector->reader, whole->attribute);
	key.kind = PESA_COUNTED_PLAIN;
	if (payload && whole->raw[0] == PESA_EXACT_VERSION)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "an exact profile has no samples to store");
	if (payload) {
		key.kind = raw_record_read(whole->raw, whole->raw_size, &record)
				   ? PESA_COUNTED_RECORD
				   : PESA_COUNTED_UNREADABLE;
		if (key.kind == PESA_COUNTED_UNREADABLE)
			record = (struct pesa_record){.xlen = 64, .pc = whole->ip};
	}
	exact = key.kind == PESA_COUNTED_RECORD &&
		record.flags & (PESA_RECORD_HAS_DETAILS | PESA_RECORD_HAS_DATA);
	exact |= whole->exact_ip ||
		 (!payload && collector->raw_is_ours && pesa_attribute_has_exact_pc(attribute));
	key.kind |= exact ? FLEET_EXACT_PC : 0;
	key.flags = (uint16_t)record.flags;
	key.xlen = record.xlen;
	key.details = record.details;
	error = fill_key(collector, &sample, &record, &key);
	if (error)
		return error;
	if (!period)
		period = !attribute->attr.freq && attribute->attr.sample_period
				 ? attribute->attr.sample_period
				 : 1;
	number = distinct_records_get(&recording->rows, &key);
	if (number == DISTINCT_NONE)
		return pesa_error_no_memory();
	row = distinct_records_at(&recording->rows, number);
	row->samples++;
	row->lost += record.flags >> PESA_RECORD_LOST_SHIFT & PESA_RECORD_LOST_MASK;
	row->periods_squared += (double)period * (double)period;
	recording->samples++;
	if (__builtin_add_overflow(row->periods, period, &row->periods))
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "equal samples have more cycles than can be counted");
	return NULL;
}

static struct pesa_error *take_event(struct collector *collector, const struct pesa_event *event)
{
	struct pesa_error *error;

	switch (event->type) {
	case PERF_RECORD_SAMPLE:
		return take_sample(collector, &event->sample);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		return NULL; /* the reader counts them */
	default:
		error = thread_names_apply(collector->names, event);
		return error ? error : pesa_spaces_apply(collector->spaces, event);
	}
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* Times of rows are those since the first sample until the last one is known. */
static void finish_times(struct collector *collector)
{
	struct fleet_recording *recording = collector->recording;
	uint32_t duration = (uint32_t)((collector->last - collector->first) / NS_PER_SECOND);
	int64_t began = collector->began / NS_PER_SECOND - (collector->is_end ? duration : 0);

	recording->begin = began < 0 ? 0 : began > UINT32_MAX ? UINT32_MAX : (uint32_t)began;
	if (__builtin_add_overflow(recording->begin, duration, &recording->end))
		recording->end = UINT32_MAX;
	for (uint32_t i = 0; i < recording->rows.index.count; i++) {
		struct fleet_row *row = distinct_records_at(&recording->rows, i);

		if (__builtin_add_overflow(row->key.time, recording->begin, &row->key.time))
			row->key.time = UINT32_MAX;
	}
}

static struct pesa_error *take_events(struct collector *collector)
{
	struct pesa_event event;
	struct pesa_error *error = add_events(collector);

	while (!error && pesa_perfdata_next(collector->reader, &event) > 0)
		error = take_event(collector, &event);
	return error;
}

static struct pesa_error *collect(struct collector *collector, const char *path)
{
	const struct pesa_perfdata_losses *losses;
	struct pesa_origin origin;
	struct pesa_error *error = pesa_perfdata_open(path, &collector->reader);
	size_t merged;

	if (error)
		return error;
	pesa_perfdata_recordings(collector->reader, &merged);
	if (merged)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "%s: a merged file: store the recordings that it was "
					 "made of, which belong to hosts and times",
					 path);
	origin = pesa_perfdata_origin(collector->reader);
	error = pesa_spaces_create(&collector->spaces);
	if (error)
		return error;
	collector->binaries =
		pesa_binaries_create(collector->spaces, collector->options->symbol_root);
	collector->names = thread_names_create();
	if (!collector->binaries || !collector->names)
		return pesa_error_no_memory();
	pesa_binaries_set_origin(collector->binaries, &origin);
	collector->unwinder = pesa_unwinder_create(collector->binaries, collector->spaces,
						   pesa_perfdata_arch(collector->reader));
	if (!collector->unwinder)
		return pesa_error_no_memory();
	error = find_begin(collector, path);
	if (!error)
		error = take_events(collector);
	if (!error)
		error = take_facts(collector);
	losses = pesa_perfdata_losses(collector->reader);
	collector->recording->lost = losses->lost;
	collector->recording->damaged_records = losses->damaged_records;
	collector->recording->damaged_bytes = losses->damaged_bytes;
	finish_times(collector);
	return pesa_error_prefix(error, "%s: ", path);
}

struct pesa_error *fleet_collect(const char *path, const struct fleet_collect_options *options,
				 struct fleet_recording *recording)
{
	struct collector collector = {.recording = recording, .options = options};
	struct pesa_error *error;
	uint32_t number;

	*recording = (struct fleet_recording){0};
	distinct_records_begin(&recording->rows, sizeof(struct fleet_row),
			       sizeof(struct fleet_key));
	distinct_records_begin(&recording->binaries, sizeof(struct fleet_binary), sizeof(uint64_t));
	distinct_records_begin(&recording->chains, sizeof(struct fleet_chain), sizeof(uint64_t));
	distinct_records_begin(&recording->events, sizeof(struct fleet_event), sizeof(uint64_t));
	/* Text 0 is "". */
	error = text_number(recording, "", &number);
	if (!error)
		error = digest_file(path, recording->digest);
	if (!error)
		error = collect(&collector, path);
	pesa_unwinder_free(collector.unwinder);
	thread_names_free(collector.names);
	pesa_binaries_free(collector.binaries);
	pesa_spaces_free(collector.spaces);
	pesa_perfdata_close(collector.reader);
	free(collector.binary_of);
	free(collector.event_of);
	free(collector.place);
	return error;
}

void fleet_recording_free(struct fleet_recording *recording)
{
	free(recording->count);
	distinct_bytes_free(&recording->texts);
	distinct_bytes_free(&recording->places);
	distinct_records_free(&recording->rows);
	distinct_records_free(&recording->binaries);
	distinct_records_free(&recording->chains);
	distinct_records_free(&recording->events);
}
