// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/record/autorun.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pesa/csr.h"
#include "pesa/record.h"

/* A record as the hart writes it, see csr.h. */
struct hardware_sample {
	uint64_t pc, details, bt[2], data, cycles, reserved[2];
};

_Static_assert(sizeof(struct hardware_sample) == PESA_AUTORUN_RECORD_SIZE, "as the hart writes it");

/* The fields at the end of each record of an event made by pesa_event_attribute(). */
struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t id;
};

struct aux_record {
	struct perf_event_header header;
	uint64_t offset, size, flags;
};

struct pesa_error *pesa_autorun_map(int event, struct perf_event_mmap_page *page, size_t pages,
				    struct pesa_autorun *autorun)
{
	uint64_t size = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	void *memory;

	page->aux_offset = page->data_offset + page->data_size;
	page->aux_size = size;
	/* Writable, so that aux_tail can be advanced: the kernel does not overwrite unread data. */
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, event,
		      (off_t)page->aux_offset);
	if (memory == MAP_FAILED)
		return pesa_error_system(errno, "cannot map an AUX buffer of %zu pages", pages);
	*autorun = (struct pesa_autorun){
		.page = page,
		.data = memory,
		.size = size,
		.mapped = size,
	};
	return NULL;
}

void pesa_autorun_unmap(struct pesa_autorun *autorun)
{
	if (autorun->mapped)
		munmap((void *)(uintptr_t)autorun->data, autorun->mapped);
	free(autorun->slices);
	*autorun = (struct pesa_autorun){0};
}

static bool read_trailer(const uint8_t *record, size_t size, size_t before, struct trailer *trailer)
{
	if (size < before + sizeof(*trailer))
		return false;
	memcpy(trailer, record + size - sizeof(*trailer), sizeof(*trailer));
	return true;
}

struct pesa_error *pesa_autorun_switch(struct pesa_autorun *autorun, const uint8_t *record,
				       size_t size)
{
	struct perf_event_header header;
	struct trailer trailer;

	if (!read_trailer(record, size, sizeof(header), &trailer))
		return NULL;
	memcpy(&header, record, sizeof(header));
	if (!(header.misc & PERF_RECORD_MISC_SWITCH_OUT))
		return NULL;
	if (autorun->slice_count == autorun->slice_room) {
		size_t room = autorun->slice_room ? autorun->slice_room * 2 : 64;
		struct pesa_autorun_slice *grown = realloc(autorun->slices, room * sizeof(*grown));

		if (!grown)
			return pesa_error_no_memory();
		autorun->slices = grown;
		autorun->slice_room = room;
	}
	autorun->slices[autorun->slice_count++] = (struct pesa_autorun_slice){
		.until = trailer.time, .pid = trailer.pid, .tid = trailer.tid};
	return NULL;
}

/* The parameters that convert the time CSR to perf's time. */
struct clock {
	uint64_t zero, cycles, mask;
	uint32_t multiplier;
	uint16_t shift;
	bool known;
};

/*
 * The kernel updates the page concurrently: the sequence count is odd, or changes, during an
 * update.
 */
static struct clock read_clock(const struct perf_event_mmap_page *page)
{
	struct clock clock;
	uint32_t before;

	do {
		before = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
		clock = (struct clock){
			.zero = page->time_zero,
			.cycles = page->cap_user_time_short ? page->time_cycles : 0,
			.mask = page->cap_user_time_short ? page->time_mask : UINT64_MAX,
			.multiplier = page->time_mult,
			.shift = page->time_shift,
			.known = page->cap_user_time_zero,
		};
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (before & 1 || before != __atomic_load_n(&page->lock, __ATOMIC_RELAXED));
	return clock;
}

static uint64_t time_of(const struct clock *clock, uint64_t cycles)
{
	cycles = clock->cycles + ((cycles - clock->cycles) & clock->mask);
	return clock->zero +
	       (uint64_t)((unsigned __int128)cycles * clock->multiplier >> clock->shift);
}

static void fill_targets(struct pesa_record *record, const struct pesa_autorun_event *event,
			 const struct hardware_sample *from)
{
	static const uint32_t flags[] = {PESA_RECORD_HAS_BT1, PESA_RECORD_HAS_BT2};
	uint64_t transfers = from->details >> PESA_DETAILS_CTS_SHIFT & PESA_DETAILS_CTS_MASK;

	for (unsigned int i = 0; i < 2 && i < transfers && i < event->ct_targets; i++) {
		/* The hart wrote 0 for targets that the event may not see. */
		if (event->scrubbed && !from->bt[i]) {
			record->flags |= PESA_RECORD_SCRUBBED;
			continue;
		}
		record->flags |= flags[i];
		record->bt[i] = from->bt[i];
	}
}

static struct pesa_error *write_one(struct pesa_autorun *autorun,
				    const struct pesa_autorun_event *event,
				    const struct hardware_sample *from, const struct trailer *task,
				    uint64_t time, struct pesa_perfdata_writer *writer)
{
	uint64_t lost = from->data >> PESA_DATA_DISCARDED_SHIFT;
	struct pesa_record record = {
		.version = PESA_RECORD_VERSION,
		.xlen = 64,
		.size = PESA_RECORD_SIZE,
		.flags = PESA_RECORD_HAS_DATA | PESA_RECORD_HAS_DETAILS,
		.pc = from->pc,
		.data = from->data,
		.details = from->details,
	};
	struct pesa_sample sample = {
		.ip = from->pc,
		.time = time,
		.period = event->period,
		.pid = task->pid,
		.tid = task->tid,
		.cpu = event->cpu,
		.attribute = event->attribute,
		.raw = (const uint8_t *)&record,
		.raw_size = sizeof(record),
	};
	uint16_t mode = (int64_t)from->pc < 0 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;

	autorun->samples++;
	autorun->discarded += lost;
	record.flags |= (uint32_t)(lost < PESA_RECORD_LOST_MASK ? lost : PESA_RECORD_LOST_MASK)
			<< PESA_RECORD_LOST_SHIFT;
	fill_targets(&record, event, from);
	return pesa_perfdata_write_sample(writer, &sample, mode | PERF_RECORD_MISC_EXACT_IP);
}

struct pesa_error *pesa_autorun_take(struct pesa_autorun *autorun,
				     const struct pesa_autorun_event *event, const uint8_t *record,
				     size_t size, struct pesa_perfdata_writer *writer, bool *full)
{
	const struct clock clock = read_clock(autorun->page);
	struct pesa_error *error = NULL;
	struct aux_record aux;
	struct trailer last;
	size_t slice = 0;

	*full = false;
	if (!read_trailer(record, size, sizeof(aux), &last))
		return NULL;
	memcpy(&aux, record, sizeof(aux));
	*full = aux.flags & PERF_AUX_FLAG_TRUNCATED;
	/* The kernel never writes such a record, so nothing in it can be used. */
	if (aux.size > autorun->size || aux.size % PESA_AUTORUN_RECORD_SIZE ||
	    aux.offset % PESA_AUTORUN_RECORD_SIZE) {
		autorun->damaged += aux.size;
		aux.size = 0;
	}
	if (aux.size && !clock.known)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "the kernel does not say how the harts' time becomes its "
					 "own: AutoRun cannot be used; leave 'autorun' out");
	for (uint64_t at = 0; at < aux.size && !error; at += PESA_AUTORUN_RECORD_SIZE) {
		struct hardware_sample from;
		struct trailer task = last;
		uint64_t time;

		memcpy(&from, autorun->data + ((aux.offset + at) & (autorun->size - 1)),
		       sizeof(from));
		time = time_of(&clock, from.cycles);
		while (slice < autorun->slice_count && autorun->slices[slice].until < time)
			slice++;
		if (slice < autorun->slice_count) {
			task.pid = autorun->slices[slice].pid;
			task.tid = autorun->slices[slice].tid;
		}
		error = write_one(autorun, event, &from, &task, time, writer);
	}
	autorun->slice_count = 0;
	/* The records must have been read before the hart may overwrite them. */
	__atomic_store_n(&autorun->page->aux_tail, aux.offset + aux.size, __ATOMIC_RELEASE);
	return error;
}
