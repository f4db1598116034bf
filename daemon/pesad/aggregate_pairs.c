// SPDX-License-Identifier: GPL-2.0-or-later
/* Pairs that were counted, and the samples that they stand for.  See aggregate_pairs.h. */
#include <string.h>

#include "daemon/pesad/aggregate_pairs.h"

void aggregate_take_bank(struct pesa_aggregate_slot *slots, size_t count, uint32_t cpu,
			 pesa_aggregated_function take, void *context, struct pesa_error **error,
			 uint64_t *dropped)
{
	for (size_t i = 0; i < count; i++) {
		const struct pesa_aggregate_slot *slot = &slots[i];
		struct pesa_aggregated pair = {
			.record = slot->pair.record,
			.pid = slot->pair.pid,
			.tid = slot->pair.tid ? slot->pair.tid : slot->pair.pid,
			.cpu = cpu,
			.samples = slot->count,
			.periods = slot->periods,
			.first = slot->first,
			.last = slot->last,
			.lost = slot->lost,
		};

		if (!slot->count)
			continue;
		pair.record.data = slot->data;
		if (!*error)
			*error = take(context, &pair);
		if (*error)
			*dropped += pair.samples;
		memset(&slots[i], 0, sizeof(slots[i]));
	}
}

/* Programs are in the lower half of the addresses. */
static uint16_t mode_of(const struct pesa_record *record)
{
	bool kernel = record->pc >> (record->xlen - 1) & 1;

	return PERF_RECORD_MISC_EXACT_IP |
	       (kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
}

struct pesa_error *pesa_aggregated_write(const struct pesa_aggregated *pair, uint32_t attribute,
					 struct pesa_perfdata_writer *writer)
{
	const uint64_t period = pair->periods / pair->samples;
	const uint64_t longer = pair->periods % pair->samples; /* by one cycle */
	uint64_t lost = pair->lost;
	struct {
		struct pesa_record record;
		uint32_t padding; /* as perf has it behind the size */
	} __attribute__((packed)) raw = {.record = pair->record};
	struct pesa_sample sample = {
		.ip = pair->record.pc,
		.time = pair->last,
		.pid = pair->pid,
		.tid = pair->tid,
		.cpu = pair->cpu,
		.attribute = attribute,
		.exact_ip = true,
		.raw = (const uint8_t *)&raw,
		.raw_size = sizeof(raw),
	};
	struct pesa_error *error = NULL;

	for (uint64_t i = 0; i < pair->samples && !error; i++) {
		uint32_t told =
			lost < PESA_RECORD_LOST_MASK ? (uint32_t)lost : PESA_RECORD_LOST_MASK;

		lost -= told;
		raw.record.flags = pair->record.flags | told << PESA_RECORD_LOST_SHIFT;
		sample.period = period + (i < longer);
		error = pesa_perfdata_write_sample(writer, &sample, mode_of(&pair->record));
	}
	return error;
}
