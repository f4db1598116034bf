// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "decoder/perfdata/reader.h"

#define OWN_EVENTS "pesa" /* prefix of the names of pesa's own PMU events */

/* ---- Byte order ------------------------------------------------------------------------------ */

/* Fields of struct perf_event_attr that are byte-swapped; reverse_bit_fields() converts the bit
 * fields. */
static const struct {
	uint8_t offset, size;
} swapped_fields[] = {
#define FIELD(name)                                                 \
	{                                                           \
		offsetof(struct perf_event_attr, name),             \
			sizeof(((struct perf_event_attr *)0)->name) \
	}
	FIELD(type),
	FIELD(size),
	FIELD(config),
	FIELD(sample_period),
	FIELD(sample_type),
	FIELD(read_format),
	FIELD(wakeup_events),
	FIELD(bp_type),
	FIELD(config1),
	FIELD(config2),
	FIELD(branch_sample_type),
	FIELD(sample_regs_user),
	FIELD(sample_stack_user),
	FIELD(clockid),
	FIELD(sample_regs_intr),
	FIELD(aux_watermark),
	FIELD(sample_max_stack),
	FIELD(aux_sample_size),
	FIELD(sig_data),
#undef FIELD
};

#define BIT_FIELDS_OFFSET (offsetof(struct perf_event_attr, read_format) + sizeof(uint64_t))
#define PRECISE_IP_BIT	  15 /* and 16: the only used field of two bits */

/*
 * The other byte order allocates bit fields from the other end: the first flag is the top bit.
 * Reversing the 64 bits puts every flag in place, and the two bits of precise_ip in the wrong
 * order.
 */
static uint64_t reverse_bit_fields(uint64_t swapped)
{
	uint64_t bits = 0, low, high;

	for (unsigned int i = 0; i < 64; i++)
		bits |= (swapped >> (63 - i) & 1) << i;
	low = bits >> PRECISE_IP_BIT & 1;
	high = bits >> (PRECISE_IP_BIT + 1) & 1;
	bits &= ~(3ull << PRECISE_IP_BIT);
	return bits | high << PRECISE_IP_BIT | low << (PRECISE_IP_BIT + 1);
}

static void swap_attribute(struct perf_event_attr *attr)
{
	uint8_t *bytes = (uint8_t *)attr;
	uint64_t bits;

	for (size_t i = 0; i < sizeof(swapped_fields) / sizeof(swapped_fields[0]); i++) {
		uint8_t *field = bytes + swapped_fields[i].offset;
		unsigned int size = swapped_fields[i].size;

		for (unsigned int j = 0; j < size / 2; j++) {
			uint8_t byte = field[j];

			field[j] = field[size - 1 - j];
			field[size - 1 - j] = byte;
		}
	}
	bits = reverse_bit_fields(perfdata_u64(bytes + BIT_FIELDS_OFFSET, true));
	memcpy(bytes + BIT_FIELDS_OFFSET, &bits, sizeof(bits));
}

/* ---- Names ----------------------------------------------------------------------------------- */

static const char *const hardware_names[] = {
	"cycles",
	"instructions",
	"cache-references",
	"cache-misses",
	"branches",
	"branch-misses",
	"bus-cycles",
	"stalled-cycles-frontend",
	"stalled-cycles-backend",
	"ref-cycles",
};

static const char *const software_names[] = {
	"cpu-clock",	    "task-clock",   "page-faults",  "context-switches",
	"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
	"emulation-faults", "dummy",	    "bpf-output",   "cgroup-switches",
};

static char *made_name(const struct perf_event_attr *attr)
{
	const size_t hardware = sizeof(hardware_names) / sizeof(hardware_names[0]);
	const size_t software = sizeof(software_names) / sizeof(software_names[0]);
	char *name;

	if (attr->type == PERF_TYPE_HARDWARE && attr->config < hardware)
		return strdup(hardware_names[attr->config]);
	if (attr->type == PERF_TYPE_SOFTWARE && attr->config < software)
		return strdup(software_names[attr->config]);
	if (asprintf(&name, "type-%" PRIu32 "/config=0x%llx/", attr->type,
		     (unsigned long long)attr->config) < 0)
		return NULL;
	return name;
}

struct pesa_error *perfdata_attribute_rename(struct pesa_perfdata *reader, uint32_t index,
					     const char *name, size_t length)
{
	struct perfdata_read_attribute *attribute = reader->attributes[index];
	char *copy = strndup(name, length);

	if (!copy)
		return pesa_error_no_memory();
	free(attribute->name);
	attribute->public.name = attribute->name = copy;
	return NULL;
}

/* ---- Ids ------------------------------------------------------------------------------------- */

static int compare_ids(const void *left, const void *right)
{
	const struct perfdata_id *a = left, *b = right;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->attribute < b->attribute ? -1 : a->attribute > b->attribute;
}

struct perfdata_id *perfdata_id_find(struct pesa_perfdata *reader, uint64_t id)
{
	size_t low = 0, high = reader->id_count;

	if (!reader->ids_sorted && reader->id_count) {
		qsort(reader->ids, reader->id_count, sizeof(*reader->ids), compare_ids);
		reader->last_id = reader->ids[0];
		reader->ids_sorted = true;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (reader->ids[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low == reader->id_count || reader->ids[low].id != id ? NULL : &reader->ids[low];
}

bool perfdata_attribute_find(struct pesa_perfdata *reader, uint64_t id, uint32_t *attribute)
{
	const struct perfdata_id *found = &reader->last_id;

	if (!reader->ids_sorted || !reader->id_count || found->id != id) {
		found = perfdata_id_find(reader, id);
		if (!found)
			return false;
		reader->last_id = *found;
	}
	*attribute = reader->last_id.attribute;
	return true;
}

/* ---- Adding ---------------------------------------------------------------------------------- */

static void find_places(struct perfdata_read_attribute *attribute)
{
	struct perfdata_places places = {0};
	const struct {
		uint64_t bit;
		uint8_t *place;
	} order[] = {
		{PERF_SAMPLE_IDENTIFIER, &places.identifier},
		{PERF_SAMPLE_IP, &places.ip},
		{PERF_SAMPLE_TID, &places.tid},
		{PERF_SAMPLE_TIME, &places.time},
		{PERF_SAMPLE_ADDR, &places.address},
		{PERF_SAMPLE_ID, &places.id},
		{PERF_SAMPLE_STREAM_ID, &places.stream_id},
		{PERF_SAMPLE_CPU, &places.cpu},
		{PERF_SAMPLE_PERIOD, &places.period},
	};
	uint64_t type = attribute->public.attr.sample_type;

	places.end = sizeof(struct perfdata_record);
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		if (!(type & order[i].bit))
			continue;
		*order[i].place = places.end;
		places.end += sizeof(uint64_t);
		type &= ~order[i].bit;
	}
	if (type & PERF_SAMPLE_RAW) {
		places.raw = places.end;
		places.end += sizeof(uint32_t);
		type &= ~(uint64_t)PERF_SAMPLE_RAW;
	}
	if (!type)
		attribute->places = places;
}

/* Offsets of time and id.  As in perf, the first attribute determines where ids are. */
static void find_fields(struct pesa_perfdata *reader, struct perfdata_read_attribute *attribute)
{
	const struct perf_event_attr *attr = &attribute->public.attr;
	uint64_t type = attr->sample_type;
	uint32_t at = sizeof(struct perfdata_record), behind_id = 0;

	if (type & PERF_SAMPLE_IDENTIFIER)
		at += 8;
	if (type & PERF_SAMPLE_IP)
		at += 8;
	if (type & PERF_SAMPLE_TID)
		at += 8;
	if (type & PERF_SAMPLE_TIME) {
		attribute->sample_time = at;
		at += 8;
	}
	if (type & PERF_SAMPLE_ADDR)
		at += 8;
	if (type & PERF_SAMPLE_IDENTIFIER) {
		behind_id += 8;
		at = sizeof(struct perfdata_record);
	}
	if (reader->attribute_count == 1 && type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID))
		reader->sample_id = at;
	if (reader->attribute_count == 1)
		reader->sample_time = attribute->sample_time;
	else if (reader->sample_time != attribute->sample_time)
		reader->sample_time = 0;
	if (!attr->sample_id_all)
		return;
	attribute->trailer_size = behind_id;
	if (type & PERF_SAMPLE_CPU)
		attribute->trailer_size += 8;
	if (type & PERF_SAMPLE_STREAM_ID)
		attribute->trailer_size += 8;
	if (type & PERF_SAMPLE_ID) {
		attribute->trailer_size += 8;
		if (!behind_id)
			behind_id = attribute->trailer_size;
	}
	if (reader->attribute_count == 1)
		reader->trailer_id = behind_id;
	if (type & PERF_SAMPLE_TIME) {
		attribute->trailer_size += 8;
		attribute->trailer_time = attribute->trailer_size;
	}
	if (type & PERF_SAMPLE_TID)
		attribute->trailer_size += 8;
}

static struct pesa_error *add_ids(struct pesa_perfdata *reader,
				  struct perfdata_read_attribute *attribute, const uint8_t *ids,
				  size_t count)
{
	if (reader->id_capacity - reader->id_count < count) {
		size_t capacity = reader->id_count + count + reader->id_capacity / 2;
		void *grown = realloc(reader->ids, capacity * sizeof(*reader->ids));

		if (!grown)
			return pesa_error_no_memory();
		reader->ids = grown;
		reader->id_capacity = capacity;
	}
	attribute->ids = malloc((count + 1) * sizeof(*attribute->ids));
	if (!attribute->ids)
		return pesa_error_no_memory();
	for (size_t i = 0; i < count; i++) {
		attribute->ids[i] = perfdata_u64(ids + i * sizeof(uint64_t), reader->swap);
		reader->ids[reader->id_count++] = (struct perfdata_id){
			.id = attribute->ids[i],
			.attribute = reader->attribute_count,
		};
	}
	attribute->public.ids = attribute->ids;
	attribute->public.id_count = count;
	reader->ids_sorted = false;
	return NULL;
}

struct pesa_error *perfdata_attribute_add(struct pesa_perfdata *reader, const uint8_t *bytes,
					  size_t size, const uint8_t *ids, size_t id_count)
{
	struct perfdata_read_attribute *attribute = calloc(1, sizeof(*attribute));
	struct pesa_error *error = NULL;
	void *grown;

	if (!attribute)
		return pesa_error_no_memory();
	memcpy(&attribute->public.attr, bytes,
	       size < sizeof(attribute->public.attr) ? size : sizeof(attribute->public.attr));
	if (reader->swap)
		swap_attribute(&attribute->public.attr);
	attribute->public.name = attribute->name = made_name(&attribute->public.attr);
	grown = realloc(reader->attributes,
			(reader->attribute_count + 1) * sizeof(*reader->attributes));
	if (grown)
		reader->attributes = grown;
	if (!grown || !attribute->name)
		error = pesa_error_no_memory();
	if (!error)
		error = add_ids(reader, attribute, ids, id_count);
	if (error) {
		free(attribute->ids);
		free(attribute->name);
		free(attribute);
		return error;
	}
	reader->attributes[reader->attribute_count++] = attribute;
	find_fields(reader, attribute);
	find_places(attribute);
	return NULL;
}

void perfdata_attributes_free(struct pesa_perfdata *reader)
{
	for (unsigned int i = 0; i < reader->attribute_count; i++) {
		free(reader->attributes[i]->ids);
		free(reader->attributes[i]->name);
		free(reader->attributes[i]);
	}
	free(reader->attributes);
	free(reader->ids);
}

unsigned int pesa_perfdata_attribute_count(const struct pesa_perfdata *reader)
{
	return reader->attribute_count;
}

const struct pesa_attribute *pesa_perfdata_attribute(const struct pesa_perfdata *reader,
						     unsigned int index)
{
	return index < reader->attribute_count ? &reader->attributes[index]->public : NULL;
}

bool pesa_attribute_is_own(const struct pesa_attribute *attribute)
{
	return attribute && attribute->name &&
	       !strncmp(attribute->name, OWN_EVENTS, strlen(OWN_EVENTS));
}

bool pesa_attribute_is_tagged(const struct pesa_attribute *attribute)
{
	static const char *const tagged[] = {"pesa/last-commit/", "pesa/next-commit/",
					     "pesa/dispatch/"};

	for (unsigned int i = 0; i < sizeof(tagged) / sizeof(tagged[0]); i++)
		if (attribute && attribute->name && !strcmp(attribute->name, tagged[i]))
			return true;
	return false;
}

bool pesa_attribute_has_exact_pc(const struct pesa_attribute *attribute)
{
	/* Events that the virtual core delivers for hardware without the register. */
	return pesa_attribute_is_own(attribute) && !pesa_attribute_is_tagged(attribute) &&
	       strcmp(attribute->name, "pesa/lcofi/") != 0;
}
