// SPDX-License-Identifier: GPL-2.0-or-later
/* Exact records as stored in a file: see exact_record.h. */
#include <endian.h>
#include <string.h>

#include "decoder/profile/exact_record.h"
#include "pesa/csr.h"

static bool bucket_is_possible(const struct pesa_exact_bucket *bucket)
{
	return bucket->state < PESA_STATE_COUNT && bucket->cause <= PESA_DETAILS_CAUSE_MASK &&
	       bucket->group >= 1 && bucket->group <= PESA_DETAILS_INSTRET_MASK &&
	       bucket->count <= UINT64_MAX / PESA_CYCLE &&
	       bucket->weight == bucket->count * (PESA_CYCLE / bucket->group);
}

static bool read_header(const struct pesa_sample *sample, struct pesa_exact_record *header)
{
	size_t wanted;

	if (sample->raw_size < sizeof(*header))
		return false;
	memcpy(header, sample->raw, sizeof(*header));
	header->size = le16toh(header->size);
	header->buckets = le16toh(header->buckets);
	header->transfers = le16toh(header->transfers);
	header->pc = le64toh(header->pc);
	header->executions = le64toh(header->executions);
	wanted = sizeof(*header) + header->buckets * sizeof(struct pesa_exact_bucket) +
		 header->transfers * sizeof(struct pesa_exact_transfer);
	return (header->xlen == 32 || header->xlen == 64) && header->size >= wanted &&
	       header->size <= sample->raw_size;
}

bool exact_record_read(const struct pesa_sample *sample, uint64_t before,
		       struct pesa_exact_record *header)
{
	uint64_t total = before;

	/* Even at 15 instructions per cycle, 2^60 executions take centuries. */
	if (!read_header(sample, header) || header->executions >> 60)
		return false;
	for (unsigned int i = 0; i < header->buckets; i++) {
		struct pesa_exact_bucket bucket = exact_record_bucket(sample, i);

		if (!bucket_is_possible(&bucket) ||
		    __builtin_add_overflow(total, bucket.weight, &total))
			return false;
	}
	for (unsigned int i = 0; i < header->transfers; i++)
		if (exact_record_transfer(sample, header, i).count >> 60)
			return false;
	return true;
}

struct pesa_exact_bucket exact_record_bucket(const struct pesa_sample *sample, unsigned int index)
{
	struct pesa_exact_bucket bucket;

	memcpy(&bucket, sample->raw + sizeof(struct pesa_exact_record) + index * sizeof(bucket),
	       sizeof(bucket));
	bucket.weight = le64toh(bucket.weight);
	bucket.count = le64toh(bucket.count);
	bucket.cause = le16toh(bucket.cause);
	return bucket;
}

struct pesa_exact_transfer exact_record_transfer(const struct pesa_sample *sample,
						 const struct pesa_exact_record *header,
						 unsigned int index)
{
	struct pesa_exact_transfer transfer;

	memcpy(&transfer,
	       sample->raw + sizeof(*header) + header->buckets * sizeof(struct pesa_exact_bucket) +
		       index * sizeof(transfer),
	       sizeof(transfer));
	transfer.target = le64toh(transfer.target);
	transfer.count = le64toh(transfer.count);
	return transfer;
}
