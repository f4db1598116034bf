// SPDX-License-Identifier: GPL-2.0-or-later
/* Writing exact records, split into as many samples as their entries need. */
#include <endian.h>

#include "decoder/perfdata/writer.h"

/* Maximum payload, next to the other fields of a sample without call chain and branches. */
#define EXACT_ENTRIES_BYTES (PERFDATA_RECORD_MAX - 512 - sizeof(struct pesa_exact_record))

static void encode_exact(struct perfdata_buffer *raw, const struct pesa_exact_record *head,
			 const struct pesa_exact_bucket *buckets,
			 const struct pesa_exact_transfer *transfers)
{
	struct pesa_exact_record header = {
		.version = head->version,
		.xlen = head->xlen,
		.size = htole16(sizeof(*head) + head->buckets * sizeof(*buckets) +
				head->transfers * sizeof(*transfers)),
		.buckets = htole16(head->buckets),
		.transfers = htole16(head->transfers),
		.pc = htole64(head->pc),
		.executions = htole64(head->executions),
	};

	raw->size = 0;
	perfdata_buffer_append(raw, &header, sizeof(header));
	for (unsigned int i = 0; i < head->buckets; i++) {
		struct pesa_exact_bucket bucket = {
			.weight = htole64(buckets[i].weight),
			.count = htole64(buckets[i].count),
			.cause = htole16(buckets[i].cause),
			.state = buckets[i].state,
			.group = buckets[i].group,
		};

		perfdata_buffer_append(raw, &bucket, sizeof(bucket));
	}
	for (unsigned int i = 0; i < head->transfers; i++) {
		struct pesa_exact_transfer transfer = {
			.target = htole64(transfers[i].target),
			.count = htole64(transfers[i].count),
		};

		perfdata_buffer_append(raw, &transfer, sizeof(transfer));
	}
}

/* Cycles of all buckets, rounded to the nearest integer. */
static uint64_t cycles_of(const struct pesa_exact_bucket *buckets, size_t count)
{
	uint64_t cycles = 0, parts = 0;

	for (size_t i = 0; i < count; i++) {
		cycles += buckets[i].weight / PESA_CYCLE;
		parts += buckets[i].weight % PESA_CYCLE;
	}
	return cycles + (parts + PESA_CYCLE / 2) / PESA_CYCLE;
}

struct pesa_error *
pesa_perfdata_write_exact(struct pesa_perfdata_writer *writer, const struct pesa_sample *sample,
			  uint16_t misc, uint8_t xlen, uint64_t pc, uint64_t executions,
			  const struct pesa_exact_bucket *buckets, size_t bucket_count,
			  const struct pesa_exact_transfer *transfers, size_t transfer_count)
{
	struct pesa_error *error = NULL;
	struct perfdata_buffer raw = {0};
	struct pesa_sample whole = *sample;

	do {
		struct pesa_exact_record head = {
			.version = PESA_EXACT_VERSION,
			.xlen = xlen,
			.pc = pc,
			.executions = executions,
		};
		size_t room = EXACT_ENTRIES_BYTES;

		head.buckets = bucket_count < room / sizeof(*buckets) ? bucket_count
								      : room / sizeof(*buckets);
		room -= head.buckets * sizeof(*buckets);
		head.transfers = transfer_count < room / sizeof(*transfers)
					 ? transfer_count
					 : room / sizeof(*transfers);
		encode_exact(&raw, &head, buckets, transfers);
		if (raw.failed) {
			error = pesa_error_no_memory();
			break;
		}
		whole.ip = pc;
		whole.period = cycles_of(buckets, head.buckets);
		whole.raw = raw.bytes;
		whole.raw_size = raw.size;
		error = pesa_perfdata_write_sample(writer, &whole, misc);
		executions = 0;
		/* An empty list may be NULL, to which nothing may be added. */
		buckets = head.buckets ? buckets + head.buckets : buckets;
		bucket_count -= head.buckets;
		transfers = head.transfers ? transfers + head.transfers : transfers;
		transfer_count -= head.transfers;
	} while (!error && (bucket_count || transfer_count));
	perfdata_buffer_free(&raw);
	return error;
}
