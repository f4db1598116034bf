// SPDX-License-Identifier: GPL-2.0-or-later
/* Exact records from the golden reference.  See exact.h. */
#include "daemon/vcore/exact.h"

#include <stdlib.h>
#include <string.h>

static struct pesa_exact_record *header_of(struct vcore_exact *exact)
{
	return (struct pesa_exact_record *)exact->bytes;
}

static void begin(struct vcore_exact *exact, uint64_t pc)
{
	struct pesa_exact_record *header = header_of(exact);

	memset(header, 0, sizeof(*header));
	header->version = PESA_EXACT_VERSION;
	header->xlen = 64;
	header->pc = pc;
	exact->pc = pc;
	exact->size = sizeof(*header);
	exact->weight = 0;
	exact->executions = 0;
}

static struct pesa_error *finish(struct vcore_exact *exact, vcore_exact_emit emit, void *context)
{
	struct pesa_exact_record *header = header_of(exact);

	if (exact->size == sizeof(*header))
		return NULL;
	header->size = (uint16_t)exact->size;
	header->executions = exact->executions;
	return emit(context, exact);
}

/* Make room for one more entry; a full record is emitted first. */
static struct pesa_error *need(struct vcore_exact *exact, size_t size, vcore_exact_emit emit,
			       void *context)
{
	struct pesa_error *error;

	if (exact->size + size <= sizeof(exact->bytes))
		return NULL;
	error = finish(exact, emit, context);
	begin(exact, exact->pc);
	return error;
}

static struct pesa_error *add_bucket(struct vcore_exact *exact, unsigned int state,
				     unsigned int group, unsigned int cause, uint64_t count,
				     vcore_exact_emit emit, void *context)
{
	struct pesa_exact_bucket bucket = {
		.weight = count * (PESA_CYCLE / (group ? group : 1)),
		.count = count,
		.cause = (uint16_t)cause,
		.state = (uint8_t)state,
		.group = (uint8_t)group,
	};
	struct pesa_error *error;

	if (!count)
		return NULL;
	error = need(exact, sizeof(bucket), emit, context);
	if (error)
		return error;
	memcpy(exact->bytes + exact->size, &bucket, sizeof(bucket));
	exact->size += sizeof(bucket);
	exact->weight += bucket.weight;
	if (state == PESA_STATE_RETIRING)
		exact->executions += count;
	header_of(exact)->buckets++;
	return NULL;
}

static struct pesa_error *add_transfer(struct vcore_exact *exact, uint64_t target, uint64_t count,
				       vcore_exact_emit emit, void *context)
{
	struct pesa_exact_transfer transfer = {target, count};
	struct pesa_error *error;

	if (!count)
		return NULL;
	error = need(exact, sizeof(transfer), emit, context);
	if (error)
		return error;
	memcpy(exact->bytes + exact->size, &transfer, sizeof(transfer));
	exact->size += sizeof(transfer);
	header_of(exact)->transfers++;
	return NULL;
}

/* Node numbers come from memory that the guest can overwrite: check their value and count. */
static struct vcore_node *node_at(struct vcore_region *region, uint32_t number, uint32_t *left)
{
	if (!number || number > VCORE_NODES_MAX || !*left)
		return NULL;
	(*left)--;
	return (struct vcore_node *)((char *)region + VCORE_NODES_OFFSET) + (number - 1);
}

static struct pesa_error *take_entry(struct vcore_region *region, uint32_t width,
				     struct vcore_golden *golden, struct vcore_exact *exact,
				     vcore_exact_emit emit, void *context)
{
	uint32_t left = atomic_load(&region->nodes);
	struct pesa_error *error = NULL;
	struct vcore_node *node;

	begin(exact, golden->pc);
	for (uint32_t n = 1; !error && n <= width; n++) {
		error = add_bucket(exact, PESA_STATE_RETIRING, n, 0, golden->retired[n - 1], emit,
				   context);
		golden->retired[n - 1] = 0;
	}
	for (uint32_t number = atomic_load(&golden->buckets);
	     !error && (node = node_at(region, number, &left)); number = node->next) {
		error = add_bucket(exact, node->key >> 24, node->key >> 16 & 0xff,
				   node->key & 0xffff, node->count, emit, context);
		node->count = 0;
	}
	/* Transfers follow all buckets, so a record that begins with transfers has no buckets. */
	if (!error)
		error = add_transfer(exact, golden->target, golden->taken, emit, context);
	golden->taken = 0;
	left = atomic_load(&region->nodes);
	for (uint32_t number = atomic_load(&golden->transfers);
	     !error && (node = node_at(region, number, &left)); number = node->next) {
		error = add_transfer(exact, node->target, node->count, emit, context);
		node->count = 0;
	}
	return error ? error : finish(exact, emit, context);
}

struct place {
	uint64_t pc; /* a copy: the guest can change the entry at any time */
	struct vcore_golden *golden;
};

static int compare_places(const void *left, const void *right)
{
	const struct place *one = left, *other = right;

	if (one->pc != other->pc)
		return one->pc < other->pc ? -1 : 1;
	return one->golden < other->golden ? -1 : one->golden > other->golden;
}

struct pesa_error *vcore_exact_take(struct vcore_region *region, uint32_t width, uint32_t entries,
				    uint64_t start, uint64_t end, struct vcore_exact *scratch,
				    vcore_exact_emit emit, void *context)
{
	uint32_t made = atomic_load(&region->golden_entries), stride = region->golden_stride;
	struct pesa_error *error = NULL;
	struct place *places;
	size_t count = 0;

	if (entries > made)
		entries = made;
	if (!entries || stride < sizeof(struct vcore_golden) + width * sizeof(uint64_t) ||
	    (uint64_t)entries * stride > VCORE_NODES_OFFSET - VCORE_GOLDEN_OFFSET)
		return NULL;
	places = malloc(entries * sizeof(*places));
	if (!places)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < entries; i++) {
		struct vcore_golden *golden =
			(struct vcore_golden *)((char *)region + VCORE_GOLDEN_OFFSET +
						(uint64_t)i * stride);
		struct place place = {golden->pc, golden};

		if (place.pc >= start && place.pc < end)
			places[count++] = place;
	}
	qsort(places, count, sizeof(*places), compare_places);
	for (size_t i = 0; !error && i < count; i++)
		error = take_entry(region, width, places[i].golden, scratch, emit, context);
	free(places);
	return error;
}
