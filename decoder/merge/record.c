// SPDX-License-Identifier: GPL-2.0-or-later
/* The canonical form of a record: see inside.h. */
#include "decoder/merge/inside.h"

#define HEADER_SIZE sizeof(struct perfdata_record)
/* PERF_FORMAT_LOST, Linux 6.0, newer than the installed header */
#define READ_FORMAT_LOST (1ull << 4)
#define FIXED_FIELDS                                                                    \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	 PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |  \
	 PERF_SAMPLE_PERIOD)
#define FIXED_FIELDS_MADE                                                               \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

/* ---- Building -------------------------------------------------------------------------------- */

static void begin(struct merge_record *record, uint32_t type, uint64_t time)
{
	record->size = HEADER_SIZE;
	record->type = type;
	record->time = time;
	record->lost = 0;
	record->numbers = record->times = record->ids = 0;
}

static enum merge_made end(struct merge_record *record, uint16_t misc)
{
	const struct perfdata_record header = {record->type, misc, (uint16_t)record->size};

	if (record->size > PERFDATA_RECORD_MAX)
		return MERGE_LEFT_OUT;
	memcpy(record->bytes, &header, sizeof(header));
	return MERGE_MADE;
}

static void put_u32(struct merge_record *record, uint32_t value)
{
	memcpy(record->bytes + record->size, &value, sizeof(value));
	record->size += sizeof(value);
}

static void put_u64(struct merge_record *record, uint64_t value)
{
	memcpy(record->bytes + record->size, &value, sizeof(value));
	record->size += sizeof(value);
}

static void put_number(struct merge_record *record, const struct merge_recording *recording,
		       uint32_t number)
{
	record->number_at[record->numbers++] = (uint16_t)record->size;
	put_u32(record, merge_runs_back(&recording->renumbered, number));
}

static void put_time(struct merge_record *record)
{
	record->time_at[record->times++] = (uint16_t)record->size;
	put_u64(record, record->time);
}

static void put_id(struct merge_record *record, uint64_t id)
{
	record->id_at[record->ids++] = (uint16_t)record->size;
	put_u64(record, id);
}

/* The fields at the end of every record that is not a sample. */
static void put_trailer(struct merge_record *record, const struct merge_recording *recording,
			uint32_t pid, uint32_t tid, uint32_t cpu, uint64_t id)
{
	put_number(record, recording, pid);
	put_number(record, recording, tid);
	put_time(record);
	put_u32(record, cpu);
	put_u32(record, 0);
	put_id(record, id);
}

/* ---- Identifiers ----------------------------------------------------------------------------- */

/* The recording's identifier for one of the input; 0: none. */
static uint32_t id_of(const struct merge_recording *recording, uint64_t of_input)
{
	const struct merge_input *input = recording->input;
	size_t low = 0, high = input->id_count;

	if (input->merged)
		return of_input > recording->input_id_base &&
				       of_input - recording->input_id_base <= recording->ids
			       ? (uint32_t)(of_input - recording->input_id_base)
			       : 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (input->ids[middle].of_input < of_input)
			low = middle + 1;
		else
			high = middle;
	}
	return low < input->id_count && input->ids[low].of_input == of_input ? input->ids[low].id
									     : 0;
}

/* ---- Attributes ------------------------------------------------------------------------------ */

bool merge_attribute_has_ids(const struct perf_event_attr *attr)
{
	return attr->sample_type & PERF_SAMPLE_READ;
}

/*
 * Keep the fields that determine which samples are taken and their contents; drop those that
 * concern only the recorder and the kernel.
 */
void merge_attribute_make(const struct pesa_attribute *attribute, struct perf_event_attr *made)
{
	const struct perf_event_attr *attr = &attribute->attr;

	*made = (struct perf_event_attr){
		.type = attr->type,
		.size = PERF_ATTR_SIZE_VER7,
		.config = attr->config,
		.sample_period = attr->sample_period,
		.sample_type = (attr->sample_type & ~(uint64_t)FIXED_FIELDS) | FIXED_FIELDS_MADE |
			       (attr->sample_type & PERF_SAMPLE_ADDR),
		.read_format = attr->read_format,
		.exclude_user = attr->exclude_user,
		.exclude_kernel = attr->exclude_kernel,
		.exclude_hv = attr->exclude_hv,
		.exclude_idle = attr->exclude_idle,
		.exclude_host = attr->exclude_host,
		.exclude_guest = attr->exclude_guest,
		.exclude_callchain_kernel = attr->exclude_callchain_kernel,
		.exclude_callchain_user = attr->exclude_callchain_user,
		.freq = attr->freq,
		.precise_ip = attr->precise_ip,
		.sample_id_all = 1,
		.bp_type = attr->bp_type,
		.config1 = attr->config1,
		.config2 = attr->config2,
		.branch_sample_type = attr->branch_sample_type,
		.sample_regs_user = attr->sample_regs_user,
		.sample_stack_user = attr->sample_stack_user,
		.sample_regs_intr = attr->sample_regs_intr,
		.sample_max_stack = attr->sample_max_stack,
	};
	/* The name of a dynamic PMU is the part before the slash. */
	if (made->type > PERF_TYPE_BREAKPOINT && strchr(attribute->name, '/'))
		made->type = MERGE_FIRST_PMU;
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* Find the identifiers in the PERF_SAMPLE_READ field, which starts at `at`.  False: they exceed the
 * record. */
static bool place_read_ids(const struct merge_recording *recording,
			   const struct perf_event_attr *attr, size_t at,
			   struct merge_record *record)
{
	uint64_t format = attr->read_format, count = 1, id;
	size_t times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		       !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	size_t each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & READ_FORMAT_LOST);

	if (!(format & PERF_FORMAT_ID))
		return true;
	if (format & PERF_FORMAT_GROUP) { /* count, times, { value, id } */
		memcpy(&count, record->bytes + at, sizeof(count));
		at += sizeof(count) + times * sizeof(uint64_t);
	} else {
		each = 1 + times;
	}
	for (uint64_t i = 0; i < count; i++) {
		size_t place = at + (format & PERF_FORMAT_GROUP ? i * each + 1 : each) * sizeof(id);

		if (record->ids == MERGE_PLACES_MAX || place + sizeof(id) > record->size)
			return false;
		memcpy(&id, record->bytes + place, sizeof(id));
		id = id_of(recording, id);
		memcpy(record->bytes + place, &id, sizeof(id));
		record->id_at[record->ids++] = (uint16_t)place;
	}
	return true;
}

static enum merge_made make_sample(const struct merge_recording *recording,
				   const struct pesa_event *event, uint64_t time,
				   struct merge_record *record)
{
	const struct merge_input *input = recording->input;
	const struct pesa_sample *sample = &event->sample;
	const struct perfdata_record header = perfdata_record_header(event->record, false);
	const struct merge_attribute *attribute;
	const struct perf_event_attr *attr;
	uint32_t id;
	size_t rest;

	if (sample->attribute >= input->attribute_count)
		return MERGE_LEFT_OUT;
	attr = &pesa_perfdata_attribute(input->reader, sample->attribute)->attr;
	rest = HEADER_SIZE + 8 * (size_t)__builtin_popcountll(attr->sample_type & FIXED_FIELDS);
	if (rest > header.size)
		return MERGE_LEFT_OUT;
	if (input->merged) {
		id = id_of(recording, sample->id);
	} else {
		if (input->attribute_of[sample->attribute] == UINT32_MAX)
			return MERGE_LEFT_OUT;
		attribute = &recording->attributes[input->attribute_of[sample->attribute]];
		id = attribute->ids > 1 ? id_of(recording, sample->id) : attribute->first_id;
	}
	if (!id)
		return MERGE_LEFT_OUT;
	begin(record, PERF_RECORD_SAMPLE, time);
	put_id(record, id);
	put_u64(record, sample->ip);
	put_number(record, recording, sample->pid);
	put_number(record, recording, sample->tid);
	put_time(record);
	if (attr->sample_type & PERF_SAMPLE_ADDR)
		put_u64(record, sample->address);
	put_u32(record, sample->cpu);
	put_u32(record, 0);
	put_u64(record, sample->period);
	if (record->size + header.size - rest > PERFDATA_RECORD_MAX)
		return MERGE_LEFT_OUT;
	memcpy(record->bytes + record->size, event->record + rest, header.size - rest);
	rest = record->size + header.size - rest;
	if (attr->sample_type & PERF_SAMPLE_READ) {
		size_t at = record->size;

		record->size = rest;
		if (!place_read_ids(recording, attr, at, record))
			return MERGE_LEFT_OUT;
	}
	record->size = rest;
	return end(record, header.misc);
}

/* ---- Side band ------------------------------------------------------------------------------- */

/* The sample_id_all fields. */
struct trailer {
	uint32_t pid, tid, cpu;
	uint64_t id;
	size_t size; /* bytes */
};

static void read_trailer(struct pesa_perfdata *reader, const uint8_t *bytes,
			 const struct perfdata_record *header, struct trailer *trailer)
{
	uint32_t index = perfdata_trailer_attribute(reader, bytes, header);
	const struct perf_event_attr *attr = &reader->attributes[index]->public.attr;
	uint32_t size = reader->attributes[index]->trailer_size;
	uint64_t type = attr->sample_type;
	const uint8_t *at;

	*trailer = (struct trailer){0};
	if (header->size < HEADER_SIZE + size || !size)
		return;
	trailer->size = size;
	at = bytes + header->size - size;
	if (type & PERF_SAMPLE_TID) {
		trailer->pid = perfdata_u32(at, false);
		trailer->tid = perfdata_u32(at + sizeof(uint32_t), false);
		at += 8;
	}
	if (type & PERF_SAMPLE_TIME)
		at += 8;
	if (type & PERF_SAMPLE_ID) {
		trailer->id = perfdata_u64(at, false);
		at += 8;
	}
	if (type & PERF_SAMPLE_STREAM_ID)
		at += 8;
	if (type & PERF_SAMPLE_CPU) {
		trailer->cpu = perfdata_u32(at, false);
		at += 8;
	}
	if (type & PERF_SAMPLE_IDENTIFIER)
		trailer->id = perfdata_u64(at, false);
}

uint64_t merge_trailer_id(struct pesa_perfdata *reader, const uint8_t *bytes)
{
	const struct perfdata_record header = perfdata_record_header(bytes, false);
	struct trailer trailer;

	read_trailer(reader, bytes, &header, &trailer);
	return trailer.id;
}

/* First fields of a record type: process numbers, then a time and event ids. */
static const struct kind {
	uint8_t numbers;
	bool time;
	uint8_t ids;
	bool used;
} kinds[] = {
	[PERF_RECORD_MMAP] = {.numbers = 2, .used = true},
	[PERF_RECORD_COMM] = {.numbers = 2, .used = true},
	[PERF_RECORD_EXIT] = {.numbers = 4, .time = true, .used = true},
	[PERF_RECORD_THROTTLE] = {.time = true, .ids = 2, .used = true},
	[PERF_RECORD_UNTHROTTLE] = {.time = true, .ids = 2, .used = true},
	[PERF_RECORD_FORK] = {.numbers = 4, .time = true, .used = true},
	[PERF_RECORD_MMAP2] = {.numbers = 2, .used = true},
	[PERF_RECORD_SWITCH] = {.used = true},
	[PERF_RECORD_SWITCH_CPU_WIDE] = {.numbers = 2, .used = true},
	[PERF_RECORD_NAMESPACES] = {.numbers = 2, .used = true},
	[PERF_RECORD_KSYMBOL] = {.used = true},
	[PERF_RECORD_BPF_EVENT] = {.used = true},
	[PERF_RECORD_CGROUP] = {.used = true},
	[PERF_RECORD_TEXT_POKE] = {.used = true},
};

static bool find_build_id(struct pesa_perfdata *reader, struct pesa_mmap *mmap)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(mmap->path), suffix = sizeof(deleted) - 1;
	const char *bracket = strchr(mmap->path, ']');
	char path[4096];

	if (pesa_perfdata_build_id(reader, mmap->path, mmap->build_id, &mmap->build_id_size))
		return mmap->build_id_size;
	/* A reference symbol follows the name of the kernel's map; " (deleted)" may follow a file's
	 * path. */
	if (mmap->path[0] == '[' && bracket)
		length = (size_t)(bracket + 1 - mmap->path);
	else if (length > suffix && !strcmp(mmap->path + length - suffix, deleted))
		length -= suffix;
	else
		return false;
	if (length >= sizeof(path))
		return false;
	memcpy(path, mmap->path, length);
	path[length] = '\0';
	return pesa_perfdata_build_id(reader, path, mmap->build_id, &mmap->build_id_size) &&
	       mmap->build_id_size;
}

/* A map with a build id from the feature section. */
static enum merge_made make_map(const struct merge_recording *recording,
				const struct pesa_event *event, const struct pesa_mmap *mmap,
				const struct trailer *trailer, uint64_t id,
				struct merge_record *record)
{
	const uint32_t read = 1, execute = 4, private = 2; /* PROT_*, MAP_PRIVATE */
	bool old = event->type == PERF_RECORD_MMAP;
	size_t length = strlen(mmap->path) + 1, padded = (length + 7) & ~(size_t)7;

	begin(record, PERF_RECORD_MMAP2, record->time);
	if (padded > PERFDATA_RECORD_MAX - 256)
		return MERGE_LEFT_OUT;
	put_number(record, recording, mmap->pid);
	put_number(record, recording, mmap->tid);
	put_u64(record, mmap->address);
	put_u64(record, mmap->length);
	put_u64(record, mmap->offset);
	put_u32(record, mmap->build_id_size);
	memcpy(record->bytes + record->size, mmap->build_id, PESA_BUILD_ID_MAX);
	record->size += PESA_BUILD_ID_MAX;
	put_u32(record, old ? (mmap->data ? read : read | execute) : mmap->protection);
	put_u32(record, old ? private : mmap->flags);
	memset(record->bytes + record->size, 0, padded);
	memcpy(record->bytes + record->size, mmap->path, length);
	record->size += padded;
	put_trailer(record, recording, trailer->pid, trailer->tid, trailer->cpu, id);
	return end(record, event->misc | PERF_RECORD_MISC_MMAP_BUILD_ID);
}

static enum merge_made make_side_band(const struct merge_recording *recording,
				      const struct pesa_event *event, uint64_t time,
				      struct merge_record *record)
{
	struct pesa_perfdata *reader = recording->input->reader;
	const struct perfdata_record header = perfdata_record_header(event->record, false);
	const struct kind *kind;
	struct trailer trailer;
	size_t size, fields;
	uint64_t id;

	if (header.type >= sizeof(kinds) / sizeof(*kinds) || !kinds[header.type].used)
		return MERGE_LEFT_OUT;
	kind = &kinds[header.type];
	read_trailer(reader, event->record, &header, &trailer);
	size = header.size - trailer.size;
	id = id_of(recording, trailer.id);
	if (!id)
		id = recording->ids > 0; /* the first attribute determines it for all */
	fields = HEADER_SIZE + kind->numbers * sizeof(uint32_t) + kind->time * sizeof(uint64_t) +
		 kind->ids * sizeof(uint64_t);
	if (size < fields || size > PERFDATA_RECORD_MAX - 64)
		return MERGE_LEFT_OUT;
	begin(record, header.type, time);
	if (header.type == PERF_RECORD_MMAP || header.type == PERF_RECORD_MMAP2) {
		struct pesa_mmap mmap = event->mmap;

		if (!mmap.build_id_size && find_build_id(reader, &mmap))
			return make_map(recording, event, &mmap, &trailer, id, record);
	}
	for (unsigned int i = 0; i < kind->numbers; i++)
		put_number(record, recording,
			   perfdata_u32(event->record + HEADER_SIZE + i * sizeof(uint32_t), false));
	if (kind->time)
		put_time(record);
	for (unsigned int i = 0; i < kind->ids; i++)
		put_id(record, id);
	memcpy(record->bytes + record->size, event->record + fields, size - fields);
	record->size += size - fields;
	put_trailer(record, recording, trailer.pid, trailer.tid, trailer.cpu, id);
	return end(record, header.misc);
}

bool merge_is_other_kernel(const struct pesa_event *event)
{
	return event->type == PERF_RECORD_MMAP2 && event->mmap.data &&
	       event->mmap.pid == UINT32_MAX && !strcmp(event->mmap.path, MERGE_OTHER_KERNEL);
}

void merge_record_make_lost(uint64_t count, uint64_t time, struct merge_record *record)
{
	static const struct merge_recording nobody;

	begin(record, PERF_RECORD_LOST_SAMPLES, time);
	put_u64(record, count);
	put_trailer(record, &nobody, 0, 0, 0, 1);
	record->lost = count;
	end(record, 0);
}

enum merge_made merge_record_make(const struct merge_recording *recording,
				  const struct pesa_event *event, uint64_t time,
				  struct merge_record *record)
{
	switch (event->type) {
	case PERF_RECORD_SAMPLE:
		return make_sample(recording, event, time, record);
	case PERF_RECORD_LOST:
		return MERGE_FOLDED;
	case PERF_RECORD_LOST_SAMPLES:
		if (!event->time)
			return MERGE_FOLDED;
		merge_record_make_lost(event->lost.count, time, record);
		return MERGE_MADE;
	default:
		return make_side_band(recording, event, time, record);
	}
}
