// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages of the guest become records of the files. */
#include "daemon/vcore/recorder.h"

#include <stdlib.h>
#include <string.h>

uint64_t recorder_clamp(struct recorder *recorder, uint64_t time)
{
	if (time < recorder->floor)
		time = recorder->floor;
	if (time > recorder->newest)
		recorder->newest = time;
	return time;
}

struct pesa_error *recorder_first_error(struct pesa_error *first, struct pesa_error *second)
{
	if (!first)
		return second;
	pesa_error_free(second);
	return first;
}

/* ---- Records ------------------------------------------------------------------------------- */

static struct pesa_error *emit_exact(void *context, const struct vcore_exact *exact)
{
	struct recorder *recorder = context;
	struct pesa_sample sample = {
		.ip = exact->pc,
		.pid = recorder->exact_pid,
		.tid = recorder->exact_pid,
		.time = recorder->exact_time,
		.period = (exact->weight + PESA_CYCLE / 2) / PESA_CYCLE,
		.raw = exact->bytes,
		.raw_size = exact->size,
	};

	recorder->summary->golden_weight += exact->weight;
	recorder->summary->golden_executions += exact->executions;
	recorder->summary->golden_instructions++;
	for (unsigned int i = 0; i < recorder->streams; i++)
		if (recorder->stream[i].golden)
			return pesa_perfdata_write_sample(recorder->stream[i].writer, &sample,
							  PERF_RECORD_MISC_USER |
								  PERF_RECORD_MISC_EXACT_IP);
	return NULL;
}

struct pesa_error *recorder_take_exact(struct recorder *recorder, struct watched *watched,
				       uint32_t entries, uint64_t start, uint64_t end,
				       uint64_t time)
{
	if (!recorder->control->golden)
		return NULL;
	recorder->exact_pid = watched->pid;
	recorder->exact_time = time;
	return vcore_exact_take(watched->region, recorder->options->core->retire_width, entries,
				start, end, recorder->exact, emit_exact, recorder);
}

/* Registers and stack, which begin at `place` and have `room` bytes. */
static void add_user_state(const struct vcore_message *message, const uint8_t *place, size_t room,
			   struct pesa_sample *sample)
{
	const size_t registers = VCORE_REGISTERS * sizeof(uint64_t);

	if (message->sample.registers != VCORE_REGISTERS || room < registers)
		return;
	sample->registers = place;
	sample->register_mask = UINT32_MAX;
	if (message->sample.stack > room - registers)
		return;
	sample->stack = place + registers;
	sample->stack_size = message->sample.stack;
}

static struct pesa_error *write_sample(struct recorder *recorder,
				       const struct vcore_message *message, uint64_t time)
{
	const struct pesa_record *record = &message->sample.record;
	uint32_t sampler = message->sample.sampler;
	struct pesa_sample sample = {
		.ip = record->pc,
		.pid = message->pid,
		.tid = message->tid,
		.time = time,
		.cpu = message->cpu % RECORDER_CPUS,
		.period = message->sample.period,
		.raw = (const uint8_t *)record,
		.raw_size = sizeof(*record),
		.branches = (const uint8_t *)(message + 1),
		.branch_count = message->sample.branches,
	};
	size_t room = message->size - sizeof(*message);
	uint16_t misc = PERF_RECORD_MISC_USER;

	if (sampler >= VCORE_SAMPLER_COUNT) {
		recorder->summary->damaged++;
		return NULL;
	}
	if (sampler == VCORE_SAMPLER_SHPMS)
		misc |= PERF_RECORD_MISC_EXACT_IP;
	if (sample.branch_count > room / sizeof(struct pesa_branch_entry))
		sample.branch_count = 0;
	room -= sample.branch_count * sizeof(struct pesa_branch_entry);
	sample.callchain = sample.branches + sample.branch_count * sizeof(struct pesa_branch_entry);
	sample.callchain_count = message->sample.chain;
	if (sample.callchain_count > room / sizeof(uint64_t))
		sample.callchain_count = 0;
	room -= sample.callchain_count * sizeof(uint64_t);
	add_user_state(message, sample.callchain + sample.callchain_count * sizeof(uint64_t), room,
		       &sample);
	for (unsigned int i = 0; i < recorder->streams; i++) {
		if (recorder->stream[i].golden)
			continue;
		sample.attribute = recorder->stream[i].attribute[sampler];
		return pesa_perfdata_write_sample(recorder->stream[i].writer, &sample, misc);
	}
	return NULL;
}

static struct pesa_error *write_sideband(struct pesa_perfdata_writer *writer,
					 const struct vcore_message *message, uint64_t time)
{
	struct pesa_mmap mmap;

	switch (message->type) {
	case VCORE_MESSAGE_MMAP:
		mmap = (struct pesa_mmap){
			.pid = message->pid,
			.tid = message->tid,
			.address = message->mmap.address,
			.length = message->mmap.length,
			.offset = message->mmap.offset,
			.protection = message->mmap.protection,
			.flags = message->mmap.flags,
			.build_id_size = message->mmap.build_id_size,
			.path = (const char *)(message + 1),
		};
		if (mmap.build_id_size > sizeof(mmap.build_id))
			mmap.build_id_size = 0;
		memcpy(mmap.build_id, message->mmap.build_id, sizeof(mmap.build_id));
		return pesa_perfdata_write_mmap(writer, &mmap, time);
	case VCORE_MESSAGE_COMM:
		return pesa_perfdata_write_comm(writer, message->pid, message->tid,
						message->comm.name, message->comm.exec, time);
	case VCORE_MESSAGE_FORK:
		return pesa_perfdata_write_fork(writer, message->pid, message->task.parent_pid,
						message->tid, message->task.parent_tid, time);
	case VCORE_MESSAGE_EXIT:
		return pesa_perfdata_write_exit(writer, message->pid, message->task.parent_pid,
						message->tid, message->task.parent_tid, time);
	case VCORE_MESSAGE_TEXT:
		if (message->text.bytes > message->size - sizeof(*message) ||
		    message->text.bytes > PESA_PERFDATA_TEXT_MAX)
			return NULL;
		return pesa_perfdata_write_text(writer, message->pid, message->tid,
						message->text.address, message + 1,
						message->text.bytes, time);
	default:
		return NULL;
	}
}

struct pesa_error *recorder_end_hart(struct recorder *recorder, uint32_t pid, uint32_t tid,
				     const struct vcore_totals *totals,
				     const struct vcore_counters *counters)
{
	struct pesa_vcore_summary *summary = recorder->summary;
	struct pesa_vcore_hart *hart;

	summary->cycles += totals->cycles;
	summary->instructions += totals->instructions;
	summary->samples += totals->samples;
	summary->lost += totals->lost;
	summary->unfinished += totals->unfinished;
	summary->cut_chains += totals->cut_chains;
	window_sums_add(&summary->windows, &totals->windows);
	hart = realloc(summary->hart, (summary->harts + 1) * sizeof(*hart));
	if (!hart)
		return pesa_error_no_memory();
	summary->hart = hart;
	hart[summary->harts++] = (struct pesa_vcore_hart){
		pid,
		tid,
		totals->cycles,
		totals->instructions,
		totals->samples,
		totals->lost,
		totals->unfinished,
		*counters,
	};
	return NULL;
}

struct pesa_error *recorder_write_lost(struct recorder *recorder, uint64_t count, uint64_t time)
{
	for (unsigned int i = 0; count && i < recorder->streams; i++)
		if (!recorder->stream[i].golden)
			return pesa_perfdata_write_lost(recorder->stream[i].writer, 0, count, time);
	return NULL;
}

static struct pesa_error *handle(struct recorder *recorder, struct watched *watched,
				 struct vcore_message *message)
{
	uint64_t time = recorder_clamp(recorder, message->time);
	struct pesa_error *error = NULL;
	struct vcore_counters counters;

	if (time > watched->newest)
		watched->newest = time;
	message->pid = watched->pid;
	switch (message->type) {
	case VCORE_MESSAGE_SAMPLE:
		return write_sample(recorder, message, time);
	case VCORE_MESSAGE_UNMAP:
		return recorder_take_exact(recorder, watched, message->unmap.entries,
					   message->unmap.start, message->unmap.end, time);
	case VCORE_MESSAGE_HART_END:
		if (message->size < sizeof(*message) + sizeof(counters)) {
			recorder->summary->damaged++;
			return NULL;
		}
		memcpy(&counters, message + 1, sizeof(counters));
		return recorder_end_hart(recorder, watched->pid, message->tid,
					 &message->hart.totals, &counters);
	case VCORE_MESSAGE_COMM:
		message->comm.name[sizeof(message->comm.name) - 1] = '\0';
		break;
	case VCORE_MESSAGE_MMAP:
		((char *)message)[message->size - 1] = '\0';
		break;
	default:
		break;
	}
	for (unsigned int i = 0; i < recorder->streams; i++)
		error = recorder_first_error(
			error, write_sideband(recorder->stream[i].writer, message, time));
	return error;
}

static void copy_out(const struct vcore_region *region, uint64_t tail, void *bytes, size_t size)
{
	const char *ring = (const char *)region + VCORE_RING_OFFSET;
	size_t at = tail % VCORE_RING_SIZE;
	size_t first = size < VCORE_RING_SIZE - at ? size : VCORE_RING_SIZE - at;

	memcpy(bytes, ring + at, first);
	memcpy((char *)bytes + first, ring, size - first);
}

struct pesa_error *recorder_drain(struct recorder *recorder, struct watched *watched)
{
	struct vcore_region *region = watched->region;
	uint64_t tail = atomic_load_explicit(&region->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&region->head, memory_order_acquire);
	struct vcore_message *message = (struct vcore_message *)recorder->message;
	struct pesa_error *error = NULL;

	while (tail != head && !error) {
		copy_out(region, tail, message, sizeof(*message));
		if (message->size < sizeof(*message) || message->size > RECORDER_MESSAGE_MAX ||
		    message->size % 8 || message->size > head - tail) {
			/* The guest overwrote the ring: nothing in it can be trusted. */
			recorder->summary->damaged++;
			tail = head;
			break;
		}
		copy_out(region, tail, message, message->size);
		error = handle(recorder, watched, message);
		tail += message->size;
		recorder->round_bytes += message->size;
		atomic_store_explicit(&region->tail, tail, memory_order_release);
	}
	atomic_store_explicit(&region->tail, tail, memory_order_release);
	return error;
}
