// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Decoding a record's bytes into an event.  The layouts are those of
 * include/uapi/linux/perf_event.h; every field is checked against the size of the record.
 */
#include <stdlib.h>

#include "decoder/perfdata/reader.h"

/* Fields that are newer than the installed header. */
#define SAMPLE_BRANCH_COUNTERS (1ull << 19) /* PERF_SAMPLE_BRANCH_COUNTERS, Linux 6.8 */
#define READ_FORMAT_LOST       (1ull << 4)  /* PERF_FORMAT_LOST, Linux 6.0 */

#define HEADER_SIZE sizeof(struct perfdata_record)

/* ---- A reader of one record's fields --------------------------------------------------------- */

struct fields {
	uint8_t *at, *end;
	bool swap;
	bool failed; /* the record ends before its last field */
};

static inline uint64_t take_u64(struct fields *fields)
{
	uint64_t value;

	if ((size_t)(fields->end - fields->at) < sizeof(value)) {
		fields->failed = true;
		return 0;
	}
	value = perfdata_u64(fields->at, fields->swap);
	fields->at += sizeof(value);
	return value;
}

static inline uint32_t take_u32(struct fields *fields)
{
	uint32_t value;

	if ((size_t)(fields->end - fields->at) < sizeof(value)) {
		fields->failed = true;
		return 0;
	}
	value = perfdata_u32(fields->at, fields->swap);
	fields->at += sizeof(value);
	return value;
}

/* `count` items of `size` bytes; NULL if the record has fewer. */
static inline uint8_t *take_bytes(struct fields *fields, uint64_t count, size_t size)
{
	uint8_t *bytes = fields->at;

	if (count > (size_t)(fields->end - fields->at) / size) {
		fields->failed = true;
		return NULL;
	}
	fields->at += count * size;
	return bytes;
}

/* A string that is terminated within the record. */
static inline const char *take_text(struct fields *fields)
{
	const char *text = (const char *)fields->at;
	uint8_t *zero = memchr(fields->at, '\0', fields->end - fields->at);

	if (!zero) {
		fields->failed = true;
		return NULL;
	}
	fields->at = zero + 1;
	return text;
}

static void swap_u64s(uint8_t *bytes, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t value = perfdata_u64(bytes + i * 8, true);

		memcpy(bytes + i * 8, &value, sizeof(value));
	}
}

/* ---- Samples --------------------------------------------------------------------------------- */

/*
 * Counts.  Those of a group are kept: perf record -e '{LEADER,MEMBER}:S' samples only the leader.  Of
 * threads that inherit counters, each has counts of its own, which the ids do not tell apart: there the
 * sample is the leader's alone.
 */
static void take_read(struct fields *fields, const struct perf_event_attr *attr,
		      struct perfdata_members *members)
{
	const uint64_t format = attr->read_format;
	unsigned int per_value = 1 + !!(format & PERF_FORMAT_ID) + !!(format & READ_FORMAT_LOST);
	unsigned int times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			     !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);

	if (format & PERF_FORMAT_GROUP) {
		uint64_t count = take_u64(fields);

		take_bytes(fields, times, 8);
		members->size = 8 * per_value;
		members->next = take_bytes(fields, count, members->size);
		if (members->next && format & PERF_FORMAT_ID && !attr->inherit)
			members->left = count;
	} else {
		take_bytes(fields, per_value + times, 8);
	}
}

static struct perfdata_id *id_of_member(struct pesa_perfdata *reader, const uint8_t *member)
{
	return perfdata_id_find(reader, perfdata_u64(member + sizeof(uint64_t), reader->swap));
}

bool perfdata_knows_members(struct pesa_perfdata *reader)
{
	const struct perfdata_members *members = &reader->members;

	for (uint64_t i = 0; i < members->left; i++)
		if (id_of_member(reader, members->next + i * members->size))
			return true;
	reader->members.left = 0;
	return false;
}

bool perfdata_next_member(struct pesa_perfdata *reader, struct pesa_event *event)
{
	struct perfdata_members *members = &reader->members;

	while (members->left) {
		uint64_t value = perfdata_u64(members->next, reader->swap);
		struct perfdata_id *id = id_of_member(reader, members->next);
		uint64_t grown;

		members->left--;
		members->next += members->size;
		if (!id)
			continue;
		grown = value > id->counted ? value - id->counted : 0;
		id->counted = value;
		if (!grown)
			continue;
		*event = members->event;
		event->sample.attribute = id->attribute;
		event->sample.id = id->id;
		event->sample.period = grown;
		return true;
	}
	return false;
}

static void skip_registers(struct fields *fields, uint64_t mask)
{
	uint64_t abi = take_u64(fields);

	if (abi != PERF_SAMPLE_REGS_ABI_NONE)
		take_bytes(fields, __builtin_popcountll(mask), 8);
}

/*
 * The flags of a branch entry are bit fields, in reverse order in the other byte order.  Widths
 * from struct perf_branch_entry: mispred, predicted, in_tx, abort, cycles, type, spec, new_type,
 * priv; the rest is reserved.
 */
static uint64_t reverse_branch_flags(uint64_t swapped)
{
	static const uint8_t widths[] = {1, 1, 1, 1, 16, 4, 2, 4, 3};
	unsigned int from = 64, to = 0;
	uint64_t flags = 0;

	for (unsigned int i = 0; i < sizeof(widths); i++) {
		from -= widths[i];
		flags |= (swapped >> from & ((1ull << widths[i]) - 1)) << to;
		to += widths[i];
	}
	return flags;
}

static void take_branches(struct fields *fields, const struct perf_event_attr *attr,
			  struct pesa_sample *sample)
{
	uint64_t count = take_u64(fields);

	if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		sample->branch_next = take_u64(fields) + 1;
	sample->branches = take_bytes(fields, count, sizeof(struct pesa_branch_entry));
	if (!sample->branches)
		return;
	sample->branch_count = count;
	if (fields->swap) {
		uint8_t *entries = fields->at - count * sizeof(struct pesa_branch_entry);

		swap_u64s(entries, count * 3);
		for (uint64_t i = 0; i < count; i++) {
			uint8_t *place = entries + i * sizeof(struct pesa_branch_entry) +
					 offsetof(struct pesa_branch_entry, flags);
			uint64_t flags = reverse_branch_flags(perfdata_u64(place, false));

			memcpy(place, &flags, sizeof(flags));
		}
	}
	if (attr->branch_sample_type & SAMPLE_BRANCH_COUNTERS)
		take_bytes(fields, count, 8);
}

static void take_callchain(struct fields *fields, struct pesa_sample *sample)
{
	uint64_t count = take_u64(fields);
	uint8_t *chain = take_bytes(fields, count, sizeof(uint64_t));

	if (!chain)
		return;
	if (fields->swap)
		swap_u64s(chain, count);
	sample->callchain = chain;
	sample->callchain_count = count;
}

static uint64_t take_weight(struct fields *fields, uint64_t type)
{
	uint64_t weight;

	if (type & PERF_SAMPLE_WEIGHT)
		return take_u64(fields);
	/* var1_dw, var2_w, var3_w: the first is the weight, at the lowest address in either byte
	 * order */
	weight = take_u32(fields);
	take_u32(fields);
	return weight;
}

/* The fields after the weight.  They are checked for size; all but the control group are not passed on. */
static void take_rest(struct fields *fields, const struct perf_event_attr *attr,
		      struct pesa_sample *sample)
{
	uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_DATA_SRC)
		take_u64(fields);
	if (type & PERF_SAMPLE_TRANSACTION)
		take_u64(fields);
	if (type & PERF_SAMPLE_REGS_INTR)
		skip_registers(fields, attr->sample_regs_intr);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		take_u64(fields);
	if (type & PERF_SAMPLE_CGROUP)
		sample->cgroup = take_u64(fields);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		take_u64(fields);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		take_u64(fields);
	if (type & PERF_SAMPLE_AUX)
		take_bytes(fields, take_u64(fields), 1);
}

/* Registers and stack in user mode.  They are skipped if they have the other byte order. */
static void take_user_state(struct fields *fields, const struct perf_event_attr *attr,
			    struct pesa_sample *sample)
{
	if (attr->sample_type & PERF_SAMPLE_REGS_USER) {
		uint64_t abi = take_u64(fields);
		unsigned int count = (unsigned int)__builtin_popcountll(attr->sample_regs_user);
		const uint8_t *registers =
			abi == PERF_SAMPLE_REGS_ABI_NONE ? NULL : take_bytes(fields, count, 8);

		if (abi == PERF_SAMPLE_REGS_ABI_64 && !fields->swap) {
			sample->registers = registers;
			sample->register_mask = attr->sample_regs_user;
		}
	}
	if (attr->sample_type & PERF_SAMPLE_STACK_USER) {
		uint64_t size = take_u64(fields);
		const uint8_t *stack = size ? take_bytes(fields, size, 1) : NULL;
		uint64_t used = size ? take_u64(fields) : 0;

		if (stack && !fields->swap) {
			sample->stack = stack;
			sample->stack_size = used < size ? used : size;
		}
	}
}

/* The attribute of a sample. */
static inline bool sample_attribute(struct pesa_perfdata *reader, const uint8_t *record,
				    const struct perfdata_record *header, uint32_t *attribute)
{
	uint64_t id;

	*attribute = 0;
	if (reader->attribute_count == 1 || !reader->sample_id)
		return reader->attribute_count;
	if (header->size < reader->sample_id + sizeof(id))
		return false;
	id = perfdata_u64(record + reader->sample_id, reader->swap);
	return !id || perfdata_attribute_find(reader, id, attribute);
}

/*
 * Decode a sample whose fields have fixed offsets, as most samples of pesa's recordings do.
 * Returns false if the sample ends before its last field; nothing has been read then.
 */
static inline __attribute__((always_inline)) bool
decode_placed(const struct perfdata_places *places, const uint8_t *record,
	      const struct perfdata_record *header, const bool swap, struct pesa_sample *sample)
{
	if (header->size < places->end)
		return false;
	if (places->raw) {
		uint32_t size = perfdata_u32(record + places->raw, swap);

		if (size > (uint32_t)header->size - places->end)
			return false;
		sample->raw_size = size;
		sample->raw = record + places->end;
	}
	if (places->identifier)
		sample->id = perfdata_u64(record + places->identifier, swap);
	if (places->ip)
		sample->ip = perfdata_u64(record + places->ip, swap);
	if (places->tid) {
		sample->pid = perfdata_u32(record + places->tid, swap);
		sample->tid = perfdata_u32(record + places->tid + sizeof(uint32_t), swap);
	}
	if (places->time)
		sample->time = perfdata_u64(record + places->time, swap);
	if (places->address)
		sample->address = perfdata_u64(record + places->address, swap);
	if (places->id)
		sample->id = perfdata_u64(record + places->id, swap);
	if (places->stream_id)
		sample->stream_id = perfdata_u64(record + places->stream_id, swap);
	if (places->cpu)
		sample->cpu = perfdata_u32(record + places->cpu, swap);
	if (places->period)
		sample->period = perfdata_u64(record + places->period, swap);
	return true;
}

static const char *decode_sample(struct pesa_perfdata *reader, struct fields *fields,
				 const uint8_t *record, const struct perfdata_record *header,
				 struct pesa_event *event)
{
	struct pesa_sample *sample = &event->sample;
	const struct perfdata_places *places;
	const struct perf_event_attr *attr;
	uint64_t type;

	*sample = (struct pesa_sample){.time = event->time, .cpu = UINT32_MAX};
	if (!sample_attribute(reader, record, header, &sample->attribute))
		return "a sample of an event that the file does not describe";
	attr = &reader->attributes[sample->attribute]->public.attr;
	places = &reader->attributes[sample->attribute]->places;
	type = attr->sample_type;
	sample->exact_ip = header->misc & PERF_RECORD_MISC_EXACT_IP;
	sample->period = attr->sample_period;
	/* Two copies of the code: the byte order is tested once per sample, not once per field. */
	if (places->end && (fields->swap ? decode_placed(places, record, header, true, sample)
					 : decode_placed(places, record, header, false, sample)))
		return NULL;
	if (type & PERF_SAMPLE_IDENTIFIER)
		sample->id = take_u64(fields);
	if (type & PERF_SAMPLE_IP)
		sample->ip = take_u64(fields);
	if (type & PERF_SAMPLE_TID) {
		sample->pid = take_u32(fields);
		sample->tid = take_u32(fields);
	}
	if (type & PERF_SAMPLE_TIME)
		sample->time = take_u64(fields);
	if (type & PERF_SAMPLE_ADDR)
		sample->address = take_u64(fields);
	if (type & PERF_SAMPLE_ID)
		sample->id = take_u64(fields);
	if (type & PERF_SAMPLE_STREAM_ID)
		sample->stream_id = take_u64(fields);
	if (type & PERF_SAMPLE_CPU) {
		sample->cpu = take_u32(fields);
		take_u32(fields);
	}
	if (type & PERF_SAMPLE_PERIOD)
		sample->period = take_u64(fields);
	if (type & PERF_SAMPLE_READ)
		take_read(fields, attr, &reader->members);
	if (type & PERF_SAMPLE_CALLCHAIN)
		take_callchain(fields, sample);
	if (type & PERF_SAMPLE_RAW) {
		sample->raw_size = take_u32(fields);
		sample->raw = take_bytes(fields, sample->raw_size, 1);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK)
		take_branches(fields, attr, sample);
	if (type & (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER))
		take_user_state(fields, attr, sample);
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		sample->weight = take_weight(fields, type);
	if (type > PERF_SAMPLE_WEIGHT)
		take_rest(fields, attr, sample);
	if (fields->failed) {
		reader->members.left = 0;
		return "a sample that is shorter than its fields";
	}
	return NULL;
}

bool perfdata_offer_raw(struct pesa_perfdata *reader, const uint8_t *record)
{
	const struct perfdata_record header = perfdata_record_header(record, false);
	const struct perfdata_read_attribute *attribute;
	const struct perfdata_places *places;
	struct pesa_raw_sample sample = {.cpu = UINT32_MAX};
	uint32_t size;

	if (reader->swap || header.type != PERF_RECORD_SAMPLE ||
	    !sample_attribute(reader, record, &header, &sample.attribute))
		return false;
	attribute = reader->attributes[sample.attribute];
	places = &attribute->places;
	if (!places->raw || header.size < places->end)
		return false;
	size = perfdata_u32(record + places->raw, false);
	if (size > (uint32_t)header.size - places->end)
		return false;
	sample.raw = record + places->end;
	sample.raw_size = size;
	if (places->tid) {
		sample.pid = perfdata_u32(record + places->tid, false);
		sample.tid = perfdata_u32(record + places->tid + sizeof(uint32_t), false);
	}
	if (places->time)
		sample.time = perfdata_u64(record + places->time, false);
	if (places->cpu)
		sample.cpu = perfdata_u32(record + places->cpu, false);
	sample.period = places->period ? perfdata_u64(record + places->period, false)
				       : attribute->public.attr.sample_period;
	return reader->take_raw(reader->take_raw_context, &sample);
}

/* ---- Side band ------------------------------------------------------------------------------- */

static const char *decode_mmap(struct fields *fields, const struct perfdata_record *header,
			       struct pesa_event *event)
{
	struct pesa_mmap *mmap = &event->mmap;

	*mmap = (struct pesa_mmap){.data = header->misc & PERF_RECORD_MISC_MMAP_DATA};
	mmap->pid = take_u32(fields);
	mmap->tid = take_u32(fields);
	mmap->address = take_u64(fields);
	mmap->length = take_u64(fields);
	mmap->offset = take_u64(fields);
	if (header->type == PERF_RECORD_MMAP2) {
		const uint8_t *inode = take_bytes(fields, 24, 1);

		if (inode && header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID &&
		    inode[0] <= PESA_BUILD_ID_MAX) {
			mmap->build_id_size = inode[0];
			memcpy(mmap->build_id, inode + 4, inode[0]);
		}
		mmap->protection = take_u32(fields);
		mmap->flags = take_u32(fields);
	}
	mmap->path = take_text(fields);
	return fields->failed ? "a map that is shorter than its fields" : NULL;
}

static const char *decode_comm(struct fields *fields, const struct perfdata_record *header,
			       struct pesa_event *event)
{
	event->comm.pid = take_u32(fields);
	event->comm.tid = take_u32(fields);
	event->comm.exec = header->misc & PERF_RECORD_MISC_COMM_EXEC;
	event->comm.name = take_text(fields);
	return fields->failed ? "a command name that is shorter than its fields" : NULL;
}

static const char *decode_task(struct fields *fields, struct pesa_event *event)
{
	event->task.pid = take_u32(fields);
	event->task.parent_pid = take_u32(fields);
	event->task.tid = take_u32(fields);
	event->task.parent_tid = take_u32(fields);
	return fields->failed ? "a fork or exit that is shorter than its fields" : NULL;
}

static const char *decode_cgroup(struct fields *fields, struct pesa_event *event)
{
	event->cgroup.id = take_u64(fields);
	event->cgroup.path = take_text(fields);
	return fields->failed ? "a control group that is shorter than its fields" : NULL;
}

static const char *decode_lost(struct fields *fields, const struct perfdata_record *header,
			       struct pesa_event *event)
{
	if (header->type == PERF_RECORD_LOST)
		take_u64(fields); /* id */
	event->lost.count = take_u64(fields);
	return fields->failed ? "a loss that is shorter than its fields" : NULL;
}

uint32_t perfdata_trailer_attribute(struct pesa_perfdata *reader, const uint8_t *record,
				    const struct perfdata_record *header)
{
	uint32_t attribute = 0;

	if (reader->attribute_count > 1 && reader->trailer_id &&
	    header->size >= HEADER_SIZE + reader->trailer_id)
		perfdata_attribute_find(
			reader,
			perfdata_u64(record + header->size - reader->trailer_id, reader->swap),
			&attribute);
	return attribute;
}

uint64_t perfdata_record_time(struct pesa_perfdata *reader, const uint8_t *record,
			      const struct perfdata_record *header)
{
	const struct perfdata_read_attribute *attribute;
	uint32_t index;

	if (!reader->attribute_count)
		return 0;
	if (header->type == PERF_RECORD_SAMPLE) {
		if (!sample_attribute(reader, record, header, &index))
			return 0;
		attribute = reader->attributes[index];
		if (!attribute->sample_time ||
		    header->size < attribute->sample_time + sizeof(uint64_t))
			return 0;
		return perfdata_u64(record + attribute->sample_time, reader->swap);
	}
	attribute = reader->attributes[perfdata_trailer_attribute(reader, record, header)];
	if (!attribute->trailer_time || header->size < HEADER_SIZE + attribute->trailer_size)
		return 0;
	return perfdata_u64(record + header->size - attribute->trailer_time, reader->swap);
}

/* Bytes of code.  The pid is only in the trailer, which follows the fields. */
static const char *decode_text(const struct perfdata_read_attribute *attribute,
			       struct fields *fields, struct pesa_event *event)
{
	const uint8_t *lengths;
	uint16_t before;

	event->text.pid = 0;
	if (attribute && attribute->public.attr.sample_type & PERF_SAMPLE_TID)
		event->text.pid = perfdata_u32(fields->end, fields->swap);
	event->text.address = take_u64(fields);
	lengths = take_bytes(fields, 2, sizeof(uint16_t));
	if (!lengths)
		return "code that is shorter than its fields";
	before = perfdata_u16(lengths, fields->swap);
	event->text.size = perfdata_u16(lengths + sizeof(uint16_t), fields->swap);
	take_bytes(fields, before, 1);
	event->text.bytes = take_bytes(fields, event->text.size, 1);
	return fields->failed ? "code that is shorter than its fields" : NULL;
}

const char *perfdata_decode(struct pesa_perfdata *reader, uint8_t *record, uint64_t time,
			    uint64_t offset, struct pesa_event *event)
{
	struct perfdata_record header = perfdata_record_header(record, reader->swap);
	struct fields fields = {
		.at = record + HEADER_SIZE,
		.end = record + header.size,
		.swap = reader->swap,
	};
	const struct perfdata_read_attribute *trailer_attribute = NULL;

	event->type = header.type;
	event->misc = header.misc;
	event->time = time;
	event->offset = offset;
	event->record = record;
	if (header.type == PERF_RECORD_SAMPLE)
		return decode_sample(reader, &fields, record, &header, event);
	if (reader->attribute_count) {
		uint32_t index = perfdata_trailer_attribute(reader, record, &header);
		uint32_t trailer = reader->attributes[index]->trailer_size;

		if (header.size >= HEADER_SIZE + trailer) {
			fields.end -= trailer;
			trailer_attribute = trailer ? reader->attributes[index] : NULL;
		}
	}
	switch (header.type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return decode_mmap(&fields, &header, event);
	case PERF_RECORD_COMM:
		return decode_comm(&fields, &header, event);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return decode_task(&fields, event);
	case PERF_RECORD_CGROUP:
		return decode_cgroup(&fields, event);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		return decode_lost(&fields, &header, event);
	case PERF_RECORD_TEXT_POKE:
		if ((header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER)
			return decode_text(trailer_attribute, &fields, event);
		__attribute__((fallthrough)); /* records of the kernel */
	default:
		event->other.bytes = record;
		event->other.size = header.size;
		return NULL;
	}
}
