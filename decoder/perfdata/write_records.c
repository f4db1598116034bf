// SPDX-License-Identifier: GPL-2.0-or-later
/* Writing the records of perf.data: samples, side band, records from a ring.  See writer.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/perfdata/writer.h"

/* Sample fields that can be written from struct pesa_sample. */
#define SAMPLE_TYPES_MADE                                                                          \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |             \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK | \
	 PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_CGROUP |                     \
	 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

static void record_begin(struct pesa_perfdata_writer *writer)
{
	writer->record.size = 0;
	perfdata_buffer_extend(&writer->record, sizeof(struct perfdata_record));
}

static struct pesa_error *record_end(struct pesa_perfdata_writer *writer, uint32_t type,
				     uint16_t misc)
{
	struct perfdata_buffer *record = &writer->record;
	struct perfdata_record header = {.type = type, .misc = misc, .size = record->size};

	if (record->failed)
		return pesa_error_no_memory();
	if (record->size > PERFDATA_RECORD_MAX)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "a record of %zu bytes (type %" PRIu32
					 ") is larger than perf.data's limit of %d",
					 record->size, type, PERFDATA_RECORD_MAX);
	memcpy(record->bytes, &header, sizeof(header));
	return perfdata_sink_record(&writer->sink, record->bytes, record->size);
}

/* The fields that sample_id_all appends to side-band records, for the first attribute. */
static void put_sample_id(struct pesa_perfdata_writer *writer, unsigned int attribute, uint32_t pid,
			  uint32_t tid, uint64_t time)
{
	const struct perf_event_attr *attr = &writer->attributes[0].attr;
	uint64_t id = writer->attributes[attribute].ids[0];
	struct perfdata_buffer *record = &writer->record;

	if (!attr->sample_id_all)
		return;
	if (attr->sample_type & PERF_SAMPLE_TID) {
		perfdata_buffer_u32(record, pid);
		perfdata_buffer_u32(record, tid);
	}
	if (attr->sample_type & PERF_SAMPLE_TIME)
		perfdata_buffer_u64(record, time);
	if (attr->sample_type & PERF_SAMPLE_ID)
		perfdata_buffer_u64(record, id);
	if (attr->sample_type & PERF_SAMPLE_STREAM_ID)
		perfdata_buffer_u64(record, id);
	if (attr->sample_type & PERF_SAMPLE_CPU)
		perfdata_buffer_u64(record, 0);
	if (attr->sample_type & PERF_SAMPLE_IDENTIFIER)
		perfdata_buffer_u64(record, id);
}

static void put_text(struct perfdata_buffer *record, const char *text)
{
	size_t length = strlen(text) + 1;

	perfdata_buffer_append(record, text, length);
	perfdata_buffer_zeros(record, -length % 8);
}

/* perf pads the payload so that it ends, including its size field, on 8 bytes. */
static void put_raw(struct perfdata_buffer *record, const struct pesa_sample *sample)
{
	uint32_t size = sample->raw ? sample->raw_size : 0;
	uint32_t padding = -(size + sizeof(uint32_t)) % 8;

	perfdata_buffer_u32(record, size + padding);
	perfdata_buffer_append(record, sample->raw, size);
	perfdata_buffer_zeros(record, padding);
}

/* Registers and stack in user mode.  The copy of the stack ends on 8 bytes; all of it is used. */
static void put_user_state(struct perfdata_buffer *record, const struct perf_event_attr *attr,
			   const struct pesa_sample *sample)
{
	bool has_registers = sample->registers && sample->register_mask == attr->sample_regs_user;
	size_t count = (size_t)__builtin_popcountll(attr->sample_regs_user);
	uint64_t size = sample->stack ? sample->stack_size : 0;

	if (attr->sample_type & PERF_SAMPLE_REGS_USER) {
		perfdata_buffer_u64(record, has_registers ? PERF_SAMPLE_REGS_ABI_64
							  : PERF_SAMPLE_REGS_ABI_NONE);
		if (has_registers)
			perfdata_buffer_append(record, sample->registers, count * sizeof(uint64_t));
	}
	if (attr->sample_type & PERF_SAMPLE_STACK_USER) {
		perfdata_buffer_u64(record, size + -size % 8);
		if (!size)
			return;
		perfdata_buffer_append(record, sample->stack, size);
		perfdata_buffer_zeros(record, -size % 8);
		perfdata_buffer_u64(record, size);
	}
}

static struct pesa_error *check_sample(const struct pesa_perfdata_writer *writer,
				       const struct pesa_sample *sample)
{
	const struct perf_event_attr *attr;

	if (sample->attribute >= writer->attribute_count)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "a sample of attribute %" PRIu32 ", but there are %u",
					 sample->attribute, writer->attribute_count);
	attr = &writer->attributes[sample->attribute].attr;
	if (attr->sample_type & ~(uint64_t)SAMPLE_TYPES_MADE)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "samples of %s need fields that cannot be made "
					 "(sample_type 0x%llx); write them as the kernel made them",
					 writer->attributes[sample->attribute].name,
					 (unsigned long long)attr->sample_type);
	if (sample->callchain_count > PERFDATA_RECORD_MAX / sizeof(uint64_t) ||
	    sample->branch_count > PERFDATA_RECORD_MAX / sizeof(struct pesa_branch_entry) ||
	    sample->raw_size > PERFDATA_RECORD_MAX || sample->stack_size > PERFDATA_RECORD_MAX)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "a sample with %" PRIu64 " callers, %" PRIu64
					 " branches and %" PRIu32
					 " raw bytes is larger than perf.data's limit of %d bytes",
					 sample->callchain_count, sample->branch_count,
					 sample->raw_size, PERFDATA_RECORD_MAX);
	return NULL;
}

struct pesa_error *pesa_perfdata_write_sample(struct pesa_perfdata_writer *writer,
					      const struct pesa_sample *sample, uint16_t misc)
{
	struct pesa_error *error = check_sample(writer, sample);
	struct perfdata_buffer *record = &writer->record;
	const struct perf_event_attr *attr;
	uint64_t type, id;

	if (error)
		return error;
	attr = &writer->attributes[sample->attribute].attr;
	type = attr->sample_type;
	id = writer->attributes[sample->attribute].ids[0];
	record_begin(writer);
	if (type & PERF_SAMPLE_IDENTIFIER)
		perfdata_buffer_u64(record, id);
	if (type & PERF_SAMPLE_IP)
		perfdata_buffer_u64(record, sample->ip);
	if (type & PERF_SAMPLE_TID) {
		perfdata_buffer_u32(record, sample->pid);
		perfdata_buffer_u32(record, sample->tid);
	}
	if (type & PERF_SAMPLE_TIME)
		perfdata_buffer_u64(record, sample->time);
	if (type & PERF_SAMPLE_ADDR)
		perfdata_buffer_u64(record, sample->address);
	if (type & PERF_SAMPLE_ID)
		perfdata_buffer_u64(record, id);
	if (type & PERF_SAMPLE_STREAM_ID)
		perfdata_buffer_u64(record, sample->stream_id);
	if (type & PERF_SAMPLE_CPU) {
		perfdata_buffer_u32(record, sample->cpu);
		perfdata_buffer_u32(record, 0);
	}
	if (type & PERF_SAMPLE_PERIOD)
		perfdata_buffer_u64(record, sample->period);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		uint64_t count = sample->callchain ? sample->callchain_count : 0;

		perfdata_buffer_u64(record, count);
		perfdata_buffer_append(record, sample->callchain, count * sizeof(uint64_t));
	}
	if (type & PERF_SAMPLE_RAW)
		put_raw(record, sample);
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		uint64_t count = sample->branches ? sample->branch_count : 0;

		perfdata_buffer_u64(record, count);
		if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
			perfdata_buffer_u64(record, sample->branch_next - 1);
		perfdata_buffer_append(record, sample->branches,
				       count * sizeof(struct pesa_branch_entry));
	}
	if (type & (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER))
		put_user_state(record, attr, sample);
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		perfdata_buffer_u64(record, sample->weight);
	if (type & PERF_SAMPLE_CGROUP)
		perfdata_buffer_u64(record, sample->cgroup);
	error = record_end(writer, PERF_RECORD_SAMPLE,
			   misc | (sample->exact_ip ? PERF_RECORD_MISC_EXACT_IP : 0));
	if (!error && type & PERF_SAMPLE_TIME) {
		if (sample->time < writer->first_sample)
			writer->first_sample = sample->time;
		if (sample->time > writer->last_sample)
			writer->last_sample = sample->time;
	}
	return error;
}

/* Keep a mapped file's build id for the feature section, once for each path. */
static struct pesa_error *note_build_id(struct pesa_perfdata_writer *writer,
					const struct pesa_mmap *mmap, uint16_t cpu_mode)
{
	const char kernel[] = "[kernel.kallsyms]"; /* MMAP records append a reference symbol */
	struct perfdata_build_id *build_id, *found;
	size_t length = strlen(mmap->path);

	if (!mmap->build_id_size || length > PERFDATA_RECORD_MAX / 2)
		return NULL;
	if (cpu_mode == PERF_RECORD_MISC_KERNEL && !strncmp(mmap->path, kernel, sizeof(kernel) - 1))
		length = sizeof(kernel) - 1;
	HASH_FIND(hh, writer->build_ids, mmap->path, length, build_id);
	if (build_id)
		return NULL;
	build_id = malloc(sizeof(*build_id));
	if (!build_id)
		return pesa_error_no_memory();
	*build_id = (struct perfdata_build_id){
		.pid = UINT32_MAX, /* any process */
		.cpu_mode = cpu_mode,
		.size = mmap->build_id_size,
		.path = strndup(mmap->path, length),
	};
	memcpy(build_id->bytes, mmap->build_id, mmap->build_id_size);
	if (build_id->path)
		HASH_ADD_KEYPTR(hh, writer->build_ids, build_id->path, length, build_id);
	HASH_FIND(hh, writer->build_ids, mmap->path, length, found);
	if (found)
		return NULL;
	free(build_id->path); /* out of memory, here or in the hash table */
	free(build_id);
	return pesa_error_no_memory();
}

struct pesa_error *pesa_perfdata_write_mmap(struct pesa_perfdata_writer *writer,
					    const struct pesa_mmap *mmap, uint64_t time)
{
	uint16_t mode = mmap->pid == UINT32_MAX ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
	uint16_t misc = mode | (mmap->data ? PERF_RECORD_MISC_MMAP_DATA : 0);
	struct perfdata_buffer *record = &writer->record;
	struct pesa_error *error;

	if (mmap->build_id_size > PESA_BUILD_ID_MAX)
		return pesa_error_create(PESA_ERROR_ARGUMENT, "%s: a build id of %u bytes",
					 mmap->path, mmap->build_id_size);
	error = note_build_id(writer, mmap, mode);
	if (error)
		return error;
	record_begin(writer);
	perfdata_buffer_u32(record, mmap->pid);
	perfdata_buffer_u32(record, mmap->tid);
	perfdata_buffer_u64(record, mmap->address);
	perfdata_buffer_u64(record, mmap->length);
	perfdata_buffer_u64(record, mmap->offset);
	if (mmap->build_id_size) {
		const uint8_t head[4] = {mmap->build_id_size};

		misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
		perfdata_buffer_append(record, head, sizeof(head));
		perfdata_buffer_append(record, mmap->build_id, mmap->build_id_size);
		perfdata_buffer_zeros(record, PESA_BUILD_ID_MAX - mmap->build_id_size);
	} else {
		perfdata_buffer_zeros(record, 24); /* device, inode and its generation */
	}
	perfdata_buffer_u32(record, mmap->protection);
	perfdata_buffer_u32(record, mmap->flags);
	put_text(record, mmap->path);
	put_sample_id(writer, 0, mmap->pid, mmap->tid, time);
	return record_end(writer, PERF_RECORD_MMAP2, misc);
}

struct pesa_error *pesa_perfdata_write_cgroup(struct pesa_perfdata_writer *writer,
					      const struct pesa_cgroup *cgroup, uint64_t time)
{
	if (strlen(cgroup->path) > PERFDATA_RECORD_MAX / 2)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "a control group with a path of %zu bytes",
					 strlen(cgroup->path));
	record_begin(writer);
	perfdata_buffer_u64(&writer->record, cgroup->id);
	put_text(&writer->record, cgroup->path);
	put_sample_id(writer, 0, 0, 0, time);
	return record_end(writer, PERF_RECORD_CGROUP, 0);
}

struct pesa_error *pesa_perfdata_write_comm(struct pesa_perfdata_writer *writer, uint32_t pid,
					    uint32_t tid, const char *name, bool exec,
					    uint64_t time)
{
	char short_name[16]; /* TASK_COMM_LEN: perf's limit */

	snprintf(short_name, sizeof(short_name), "%s", name);
	record_begin(writer);
	perfdata_buffer_u32(&writer->record, pid);
	perfdata_buffer_u32(&writer->record, tid);
	put_text(&writer->record, short_name);
	put_sample_id(writer, 0, pid, tid, time);
	return record_end(writer, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
}

static struct pesa_error *write_task(struct pesa_perfdata_writer *writer, uint32_t type,
				     uint32_t pid, uint32_t parent_pid, uint32_t tid,
				     uint32_t parent_tid, uint64_t time)
{
	record_begin(writer);
	perfdata_buffer_u32(&writer->record, pid);
	perfdata_buffer_u32(&writer->record, parent_pid);
	perfdata_buffer_u32(&writer->record, tid);
	perfdata_buffer_u32(&writer->record, parent_tid);
	perfdata_buffer_u64(&writer->record, time);
	put_sample_id(writer, 0, pid, tid, time);
	return record_end(writer, type, 0);
}

struct pesa_error *pesa_perfdata_write_fork(struct pesa_perfdata_writer *writer, uint32_t pid,
					    uint32_t parent_pid, uint32_t tid, uint32_t parent_tid,
					    uint64_t time)
{
	return write_task(writer, PERF_RECORD_FORK, pid, parent_pid, tid, parent_tid, time);
}

struct pesa_error *pesa_perfdata_write_exit(struct pesa_perfdata_writer *writer, uint32_t pid,
					    uint32_t parent_pid, uint32_t tid, uint32_t parent_tid,
					    uint64_t time)
{
	return write_task(writer, PERF_RECORD_EXIT, pid, parent_pid, tid, parent_tid, time);
}

/* The record that the kernel writes when it modifies its own text. pesa also writes it for user
 * mode, which stock perf ignores. */
struct pesa_error *pesa_perfdata_write_text(struct pesa_perfdata_writer *writer, uint32_t pid,
					    uint32_t tid, uint64_t address, const void *bytes,
					    size_t size, uint64_t time)
{
	const uint16_t lengths[2] = {0, (uint16_t)size}; /* old length, new length */

	if (size > PESA_PERFDATA_TEXT_MAX)
		return pesa_error_create(PESA_ERROR_ARGUMENT, "%zu bytes of code in one record",
					 size);
	record_begin(writer);
	perfdata_buffer_u64(&writer->record, address);
	perfdata_buffer_append(&writer->record, lengths, sizeof(lengths));
	perfdata_buffer_append(&writer->record, bytes, size);
	perfdata_buffer_zeros(&writer->record, -(sizeof(lengths) + size) % sizeof(uint64_t));
	put_sample_id(writer, 0, pid, tid, time);
	return record_end(writer, PERF_RECORD_TEXT_POKE, PERF_RECORD_MISC_USER);
}

struct pesa_error *pesa_perfdata_write_lost(struct pesa_perfdata_writer *writer,
					    unsigned int attribute, uint64_t count, uint64_t time)
{
	if (attribute >= writer->attribute_count)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "lost samples of attribute %u, but there are %u",
					 attribute, writer->attribute_count);
	record_begin(writer);
	perfdata_buffer_u64(&writer->record, count);
	put_sample_id(writer, attribute, 0, 0, time);
	return record_end(writer, PERF_RECORD_LOST_SAMPLES, 0);
}

/* Note the time of a sample from the kernel.  Samples of all attributes have the same first fields,
 * or have no time. */
static void note_sample_time(struct pesa_perfdata_writer *writer, const uint8_t *bytes, size_t size)
{
	const uint64_t begin = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID;
	uint64_t type = writer->attributes[0].attr.sample_type, time;
	size_t at = sizeof(struct perfdata_record) +
		    sizeof(uint64_t) * (size_t)__builtin_popcountll(type & begin);

	for (unsigned int i = 1; i < writer->attribute_count; i++)
		if ((writer->attributes[i].attr.sample_type ^ type) & (begin | PERF_SAMPLE_TIME))
			return;
	if (!(type & PERF_SAMPLE_TIME) || size < at + sizeof(time))
		return;
	memcpy(&time, bytes + at, sizeof(time));
	if (time < writer->first_sample)
		writer->first_sample = time;
	if (time > writer->last_sample)
		writer->last_sample = time;
}

/* Note the build id of a MMAP2 record from the kernel, for the feature section. */
static struct pesa_error *note_map(struct pesa_perfdata_writer *writer, uint16_t misc,
				   const uint8_t *bytes, size_t size)
{
	const size_t id = 40, path = 72; /* offsets in the record: the id's size, the path */
	struct pesa_mmap mmap = {0};

	if (!(misc & PERF_RECORD_MISC_MMAP_BUILD_ID) || size <= path ||
	    !memchr(bytes + path, '\0', size - path) || bytes[id] > PESA_BUILD_ID_MAX)
		return NULL;
	mmap.build_id_size = bytes[id];
	memcpy(mmap.build_id, bytes + id + 4, mmap.build_id_size);
	mmap.path = (const char *)bytes + path;
	return note_build_id(writer, &mmap, misc & PERF_RECORD_MISC_CPUMODE_MASK);
}

struct pesa_error *pesa_perfdata_write_raw(struct pesa_perfdata_writer *writer, const void *bytes,
					   size_t size)
{
	struct pesa_error *error = NULL;
	struct perfdata_record header;

	if (size >= sizeof(header))
		memcpy(&header, bytes, sizeof(header));
	if (size < sizeof(header) || size > PERFDATA_RECORD_MAX || header.size != size)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "%zu bytes are not one record with its header", size);
	if (header.type == PERF_RECORD_SAMPLE)
		note_sample_time(writer, bytes, size);
	else if (header.type == PERF_RECORD_MMAP2)
		error = note_map(writer, header.misc, bytes, size);
	return error ? error : perfdata_sink_record(&writer->sink, bytes, size);
}
