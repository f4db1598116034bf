// SPDX-License-Identifier: GPL-2.0-or-later
/* A part of a recording, as a recording of its own.  See excerpt.h. */
#include "daemon/pesad/http/excerpt.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "pesa/perfdata.h"

/* The address given to hidden kernel samples: in the last page of either address space. */
#define HIDDEN_64    UINT64_C(0xfffffffffffff000)
#define HIDDEN_32    UINT64_C(0xfffff000)
#define HIDDEN_BYTES 0x800u
#define KERNEL_32    UINT64_C(0x80000000) /* no kernel of 32 bits begins below it */
#define ROUND	     4096u		  /* records */

struct copying {
	const struct pesad_excerpt *excerpt;
	struct pesa_perfdata *reader;
	struct pesa_perfdata_writer *writer;
	uint64_t kernel; /* where a kernel of 32 bits begins; UINT64_MAX: there is none */
	bool mapped_64, mapped_32;
	uint64_t hidden;
	uint8_t *room; /* of one record */
};

/* ---- Samples without the kernel's addresses ------------------------------------------------ */

static bool is_kernel(const struct copying *copying, uint64_t address)
{
	return address >> 63 || address >= copying->kernel;
}

/* The map for hidden samples, written before the first of them. */
static struct pesa_error *map_hidden(struct copying *copying, bool small, uint64_t time)
{
	bool *mapped = small ? &copying->mapped_32 : &copying->mapped_64;
	const struct pesa_mmap map = {.pid = UINT32_MAX,
				      .address = small ? HIDDEN_32 : HIDDEN_64,
				      .length = HIDDEN_BYTES,
				      .path = PESAD_EXCERPT_HIDDEN};

	if (*mapped)
		return NULL;
	*mapped = true;
	return pesa_perfdata_write_mmap(copying->writer, &map, time);
}

/*
 * Remove the kernel's addresses from a record; `in_kernel`: the sample was in the kernel.  False:
 * an unknown record, which may contain addresses.
 */
static bool hide_in_record(const struct copying *copying, uint8_t *raw, uint32_t size,
			   bool in_kernel, bool *small_addresses)
{
	struct pesa_record record;
	bool small, changed = in_kernel;

	if (size < sizeof(record))
		return false;
	memcpy(&record, raw, sizeof(record));
	if (record.version != PESA_RECORD_VERSION)
		return false;
	small = *small_addresses = record.xlen == 32;
	if (in_kernel || is_kernel(copying, le64toh(record.pc)))
		record.pc = htole64(small ? HIDDEN_32 : HIDDEN_64);
	for (unsigned int i = 0; i < 2; i++)
		if (is_kernel(copying, le64toh(record.bt[i]))) {
			record.bt[i] = 0;
			changed = true;
		}
	if (in_kernel || is_kernel(copying, le64toh(record.data))) {
		record.data = 0;
		record.flags &= ~htole32(PESA_RECORD_HAS_DATA);
		changed = true;
	}
	if (changed)
		record.flags |= htole32(PESA_RECORD_SCRUBBED);
	memcpy(raw, &record, sizeof(record));
	return true;
}

/* Hide addresses in a call chain or a branch stack; context markers are kept. */
static bool hide_in_words(const struct copying *copying, uint8_t *words, size_t count,
			  size_t stride, uint64_t instead)
{
	bool changed = false;

	for (size_t i = 0; i < count; i++) {
		uint64_t address;

		memcpy(&address, words + i * stride, sizeof(address));
		if (!is_kernel(copying, address) || address >= (uint64_t)PERF_CONTEXT_MAX)
			continue;
		memcpy(words + i * stride, &instead, sizeof(instead));
		changed = true;
	}
	return changed;
}

static struct pesa_error *write_hidden(struct copying *copying, const struct pesa_event *event)
{
	uint16_t mode = event->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	struct pesa_sample sample = event->sample;
	bool in_kernel = is_kernel(copying, sample.ip) ||
			 (mode != PERF_RECORD_MISC_USER && mode != PERF_RECORD_MISC_GUEST_USER);
	bool changed = in_kernel, small = false;
	uint64_t instead;
	struct pesa_error *error;
	uint8_t *at = copying->room;

	if (sample.raw) {
		memcpy(at, sample.raw, sample.raw_size);
		if (hide_in_record(copying, at, sample.raw_size, in_kernel, &small)) {
			changed |= memcmp(at, sample.raw, sample.raw_size) != 0;
			sample.raw = at;
			at += sample.raw_size;
		} else {
			sample.raw = NULL;
			sample.raw_size = 0;
		}
	}
	instead = small ? HIDDEN_32 : HIDDEN_64;
	if (sample.callchain) {
		memcpy(at, sample.callchain, sample.callchain_count * sizeof(uint64_t));
		changed |= hide_in_words(copying, at, sample.callchain_count, sizeof(uint64_t),
					 instead);
		sample.callchain = at;
		at += sample.callchain_count * sizeof(uint64_t);
	}
	if (sample.branches) {
		const size_t stride = sizeof(struct pesa_branch_entry);

		memcpy(at, sample.branches, sample.branch_count * stride);
		changed |= hide_in_words(copying, at, sample.branch_count, stride, 0);
		changed |= hide_in_words(copying, at + sizeof(uint64_t), sample.branch_count,
					 stride, 0);
		sample.branches = at;
	}
	if (is_kernel(copying, sample.address))
		sample.address = 0;
	if (in_kernel) {
		sample.ip = instead;
		sample.address = 0;
	}
	copying->hidden += changed;
	error = changed ? map_hidden(copying, small, sample.time) : NULL;
	return error ? error : pesa_perfdata_write_sample(copying->writer, &sample, event->misc);
}

/* ---- Records ------------------------------------------------------------------------------- */

static struct pesa_error *write_as_it_is(struct copying *copying, const struct pesa_event *event)
{
	struct perf_event_header header;

	memcpy(&header, event->record, sizeof(header));
	return pesa_perfdata_write_raw(copying->writer, event->record, header.size);
}

static bool is_kernel_map(const struct pesa_event *event)
{
	return event->mmap.pid == UINT32_MAX ||
	       (event->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
}

static struct pesa_error *copy(struct copying *copying, const struct pesa_event *event)
{
	const struct pesad_excerpt *excerpt = copying->excerpt;
	bool hide = excerpt->hide_kernel, earlier = event->offset < excerpt->begin;

	if (event->offset >= excerpt->end)
		return NULL;
	switch (event->type) {
	case PERF_RECORD_SAMPLE:
		if (earlier)
			return NULL;
		return hide ? write_hidden(copying, event) : write_as_it_is(copying, event);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		return earlier ? NULL : write_as_it_is(copying, event);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		if (!hide || !is_kernel_map(event))
			break;
		if (event->mmap.address >= KERNEL_32 && event->mmap.address <= UINT32_MAX &&
		    event->mmap.address < copying->kernel)
			copying->kernel = event->mmap.address;
		return NULL;
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		break;
	default:
		/* Drop records that may have kernel addresses and are not needed. */
		return NULL;
	}
	return write_as_it_is(copying, event);
}

static struct pesa_error *copy_all(struct copying *copying)
{
	struct pesa_error *error = NULL;
	struct pesa_event event;
	uint64_t count = 0;

	while (!error && pesa_perfdata_next(copying->reader, &event) == 1) {
		error = copy(copying, &event);
		if (!error && ++count % ROUND == 0)
			error = pesa_perfdata_write_round(copying->writer);
	}
	return error;
}

/* ---- Files --------------------------------------------------------------------------------- */

static struct pesa_error *create(struct copying *copying, const char *to)
{
	struct pesa_perfdata *reader = copying->reader;
	unsigned int count = pesa_perfdata_attribute_count(reader);
	struct pesa_perfdata_writer_attribute *attributes = calloc(count + 1, sizeof(*attributes));
	char *command[] = {(char *)pesa_perfdata_cmdline(reader), NULL};
	const struct pesa_perfdata_writer_options options = {
		.attributes = attributes,
		.attribute_count = count,
		.compression = copying->excerpt->compression,
		.arch = pesa_perfdata_arch(reader),
		.cpu_description = pesa_perfdata_cpu_description(reader),
		.cpu_id = pesa_perfdata_cpu_id(reader),
		.command = command,
		.capabilities = pesa_perfdata_capabilities(reader),
		.cpus = pesa_perfdata_cpus(reader),
	};
	struct pesa_error *error;

	if (!attributes)
		return pesa_error_no_memory();
	for (unsigned int i = 0; i < count; i++) {
		const struct pesa_attribute *attribute = pesa_perfdata_attribute(reader, i);

		attributes[i] = (struct pesa_perfdata_writer_attribute){
			.attr = attribute->attr,
			.name = attribute->name,
			.ids = attribute->id_count ? attribute->ids : NULL,
			.id_count = attribute->id_count,
		};
	}
	error = pesa_perfdata_writer_create(to, &options, &copying->writer);
	free(attributes);
	return error;
}

struct pesa_error *pesad_excerpt_write(const char *path, const struct pesad_excerpt *excerpt,
				       const char *to, uint64_t *hidden)
{
	struct copying copying = {
		.excerpt = excerpt, .kernel = UINT64_MAX, .room = malloc(2 * (UINT16_MAX + 1))};
	struct pesa_error *error =
		copying.room ? pesa_perfdata_open(path, &copying.reader) : pesa_error_no_memory();

	if (!error && pesa_perfdata_swapped(copying.reader))
		error = pesa_error_create(PESA_ERROR_UNSUPPORTED, "%s: is of the other byte order",
					  path);
	if (!error)
		error = create(&copying, to);
	if (!error)
		error = copy_all(&copying);
	if (error)
		pesa_perfdata_writer_abandon(copying.writer);
	else
		error = pesa_perfdata_writer_finish(copying.writer);
	if (!error)
		*hidden = copying.hidden;
	pesa_perfdata_close(copying.reader);
	free(copying.room);
	return error;
}
