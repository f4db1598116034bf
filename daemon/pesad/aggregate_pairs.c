// SPDX-License-Identifier: GPL-2.0-or-later
/* Counted pairs and their conversion to samples.  See aggregate_pairs.h. */
#include <string.h>

#include "daemon/pesad/aggregate_pairs.h"

static struct pesa_aggregated pair_of(const struct pesa_aggregate_slot *slot, uint32_t cpu)
{
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

	pair.record.data = slot->data;
	return pair;
}

void aggregate_take_bank(struct pesa_aggregate_slot *slots, size_t count, uint32_t cpu,
			 pesa_aggregated_function take, void *context, struct pesa_error **error,
			 uint64_t *dropped)
{
	for (struct pesa_aggregate_slot *slot = slots; slot < slots + count; slot++) {
		struct pesa_aggregated pair;

		if (!slot->count)
			continue;
		pair = pair_of(slot, cpu);
		if (*error)
			*dropped += pair.samples;
		else
			*error = take(context, &pair);
		memset(slot, 0, sizeof(*slot));
	}
}

/* User programs are in the lower half of the address space. */
static uint16_t mode_of(const struct pesa_record *record)
{
	bool kernel = record->pc >> (record->xlen - 1) & 1;

	return PERF_RECORD_MISC_EXACT_IP |
	       (kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
}

/* The number of `left` samples from `at` on that are before `border`. */
static uint64_t until(uint64_t at, uint64_t border, uint64_t left)
{
	return border > at && border - at < left ? border - at : left;
}

struct pesa_error *pesa_aggregated_runs(const struct pesa_aggregated *pair,
					pesa_sample_run_function run, void *context)
{
	const uint64_t period = pair->periods / pair->samples;
	const uint64_t longer = pair->periods % pair->samples; /* by one cycle */
	const uint64_t full =
		pair->lost / PESA_RECORD_LOST_MASK; /* samples with the maximum lost count */
	struct pesa_record record = pair->record;
	struct pesa_sample sample = {
		.ip = pair->record.pc,
		.time = pair->last,
		.pid = pair->pid,
		.tid = pair->tid,
		.cpu = pair->cpu,
		.exact_ip = true,
		.raw = (const uint8_t *)&record,
		.raw_size = sizeof(record),
	};
	struct pesa_error *error = NULL;
	uint64_t count;

	for (uint64_t at = 0; at < pair->samples && !error; at += count) {
		uint64_t lost = at < full    ? PESA_RECORD_LOST_MASK
				: at == full ? pair->lost % PESA_RECORD_LOST_MASK
					     : 0;

		count = pair->samples - at;
		count = until(at, full, count);
		count = until(at, full + 1, count);
		count = until(at, longer, count);
		record.flags = pair->record.flags | (uint32_t)lost << PESA_RECORD_LOST_SHIFT;
		sample.period = period + (at < longer);
		error = run(context, &sample, mode_of(&record), count);
	}
	return error;
}

static struct pesa_error *write_run(void *context, const struct pesa_sample *sample, uint16_t misc,
				    uint64_t count)
{
	struct pesa_error *error = NULL;

	while (!error && count--)
		error = pesa_perfdata_write_sample(context, sample, misc);
	return error;
}

struct pesa_error *pesa_aggregated_write(const struct pesa_aggregated *pair,
					 struct pesa_perfdata_writer *writer)
{
	return pesa_aggregated_runs(pair, write_run, writer);
}
