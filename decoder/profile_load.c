/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loading a profile: events -> equal records counted -> each distinct one walked once.
 *
 * A record means the same in the same layout of its process (space.h), so layout and record are the
 * key of the counting table.  The table is bounded: when it is full, all that it holds is walked
 * and it starts empty, so memory follows the size of the code, not the number of samples.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/profile_private.h"

#define TABLE_SLOTS  (1u << 19) /* 64 bytes each */
#define TABLE_MAX    (TABLE_SLOTS / 4 * 3)
#define CONTEXTS_MAX 4096	/* layouts held between two clearings */
#define BRANCHES_MAX (1u << 20) /* branch entries kept between two clearings */

struct entry {
	uint64_t pc, details, bt[2];
	uint32_t context;
	uint32_t flags;		       /* of the record, low half; bit 16: xlen is 32 */
	uint32_t branch, branch_count; /* in the loader's branches */
	uint64_t count, period_sum;
	double period_squared;
};

struct context {
	const struct pesa_layout *layout, *kernel;
};

struct loader {
	struct pesa_profile *profile;
	const struct pesa_profile_options *options;
	struct pesa_perfdata *reader;
	struct pics *pics;
	int64_t attribute;   /* the event that is loaded, -1: not chosen yet */
	struct entry *table; /* count 0: free */
	uint32_t used;
	struct context *contexts;
	uint32_t context_count;
	struct pesa_branch_entry *branches;
	uint32_t branch_count, branch_capacity;
	uint64_t events;
};

/* ---- Walking what was counted ---------------------------------------------------------------- */

/* Add up what a record says of the instruction of step `first`: the steps with the same address. */
static bool add_instruction(struct loader *loader, struct process_text *text,
			    const struct entry *entry, const struct pesa_walk_result *result,
			    unsigned int first)
{
	uint64_t address = result->step[first].address, weight = 0, retired = 0, known = 0,
		 taken = 0;
	struct place place = process_text_place(text, address);
	double share;

	for (unsigned int i = first; i < result->step_count; i++) {
		const struct pesa_step *step = &result->step[i];

		if (step->address != address || step->role == PESA_ROLE_BLAMED)
			continue;
		weight += step->weight;
		retired += step->role == PESA_ROLE_RETIRED;
		known += step->transfer != PESA_STEP_TRANSFER_UNKNOWN;
		taken += step->transfer == PESA_STEP_TRANSFER_TAKEN;
		if (!pics_add_bucket(loader->pics, place.dso, place.address, step->state,
				     step->cause, 0, step->weight * entry->period_sum,
				     entry->count))
			return false;
	}
	share = (double)weight / PESA_CYCLE;
	return pics_add(
		loader->pics, place.dso, place.address,
		&(struct pics_sums){
			.weight = weight * entry->period_sum,
			.executions = retired * entry->period_sum,
			.retired_samples = retired * entry->count,
			.samples = entry->count,
			.transfers_known = known * entry->count,
			.transfers_taken = taken * entry->count,
			.weight_squared = share * share * entry->period_squared,
			.weight_times_retired = share * (double)retired * entry->period_squared,
			.retired_squared = (double)(retired * retired) * entry->period_squared,
		});
}

static bool walk_entry(struct loader *loader, const struct entry *entry)
{
	const struct context *context = &loader->contexts[entry->context];
	struct process_text process_text = {
		.profile = loader->profile,
		.layout = context->layout,
		.kernel = context->kernel,
	};
	const struct pesa_text text = {process_text_instruction, &process_text};
	const struct pesa_record record = {
		.version = PESA_RECORD_VERSION,
		.xlen = entry->flags >> 16 ? 32 : 64,
		.size = PESA_RECORD_SIZE,
		.flags = entry->flags & 0xffff,
		.pc = entry->pc,
		.details = entry->details,
		.bt = {entry->bt[0], entry->bt[1]},
	};
	struct pesa_walk_result result;

	pesa_walk(&record, &text, entry->branch_count ? &loader->branches[entry->branch] : NULL,
		  entry->branch_count, &result);
	loader->profile->totals.distinct_records++;
	for (unsigned int reason = 0; reason < PESA_UNATTRIBUTED_REASONS; reason++)
		loader->profile->totals.unattributed[reason] +=
			result.unattributed[reason] * entry->period_sum;
	for (unsigned int i = 0; i < result.step_count; i++) {
		bool seen = result.step[i].role == PESA_ROLE_BLAMED;

		for (unsigned int j = 0; j < i && !seen; j++)
			seen = result.step[j].address == result.step[i].address;
		if (!seen && !add_instruction(loader, &process_text, entry, &result, i))
			return false;
	}
	for (unsigned int i = 0; i < result.transfer_count; i++) {
		struct place from = process_text_place(&process_text, result.transfer[i].from);
		struct place to = process_text_place(&process_text, result.transfer[i].to);

		if (!pics_add_edge(loader->pics, from.dso, from.address, to.dso, to.address,
				   entry->period_sum))
			return false;
	}
	return true;
}

/* Walk all that was counted and start again with an empty table. */
static struct pesa_error *drain(struct loader *loader)
{
	bool whole = true;

	for (uint32_t i = 0; loader->used && i < TABLE_SLOTS; i++) {
		if (!loader->table[i].count)
			continue;
		whole = whole && walk_entry(loader, &loader->table[i]);
		loader->table[i].count = 0;
	}
	for (uint32_t i = 0; i < loader->context_count; i++) {
		pesa_layout_release(loader->contexts[i].layout);
		pesa_layout_release(loader->contexts[i].kernel);
	}
	loader->used = 0;
	loader->context_count = 0;
	loader->branch_count = 0;
	return whole ? NULL : pesa_error_no_memory();
}

/* ---- Counting -------------------------------------------------------------------------------- */

static uint32_t context_of(struct loader *loader, uint32_t pid)
{
	const struct pesa_layout *layout = pesa_spaces_layout(loader->profile->spaces, pid);
	const struct pesa_layout *kernel = pesa_spaces_kernel(loader->profile->spaces);
	struct context *context;

	/* The newest are the likeliest. */
	for (uint32_t i = loader->context_count; i-- > 0;) {
		context = &loader->contexts[i];
		if (context->layout == layout && context->kernel == kernel)
			return i;
	}
	context = &loader->contexts[loader->context_count];
	*context = (struct context){layout, kernel};
	pesa_layout_hold(layout);
	pesa_layout_hold(kernel);
	return loader->context_count++;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

static bool same_record(const struct loader *loader, const struct entry *entry,
			const struct entry *wanted, const struct pesa_branch_entry *branches)
{
	return entry->pc == wanted->pc && entry->details == wanted->details &&
	       entry->bt[0] == wanted->bt[0] && entry->bt[1] == wanted->bt[1] &&
	       entry->context == wanted->context && entry->flags == wanted->flags &&
	       entry->branch_count == wanted->branch_count &&
	       (!entry->branch_count || !memcmp(&loader->branches[entry->branch], branches,
						entry->branch_count * sizeof(*branches)));
}

/* Count one sample, whose key (all but the counts) is `wanted`. */
static struct pesa_error *count_record(struct loader *loader, struct entry *wanted,
				       const struct pesa_branch_entry *branches, uint64_t period)
{
	uint64_t hash = mix(mix(mix(wanted->pc, wanted->details), wanted->bt[0]), wanted->bt[1]);
	struct entry *entry;
	uint32_t slot;

	hash = mix(hash, (uint64_t)wanted->context << 32 | wanted->flags);
	for (uint32_t i = 0; i < wanted->branch_count; i++)
		hash = mix(mix(hash, branches[i].from), branches[i].to);
	slot = (uint32_t)(hash >> 20) & (TABLE_SLOTS - 1);
	for (;; slot = (slot + 1) & (TABLE_SLOTS - 1)) {
		entry = &loader->table[slot];
		if (!entry->count)
			break;
		if (same_record(loader, entry, wanted, branches)) {
			entry->count++;
			entry->period_sum += period;
			entry->period_squared += (double)period * (double)period;
			return NULL;
		}
	}
	*entry = *wanted;
	entry->count = 1;
	entry->period_sum = period;
	entry->period_squared = (double)period * (double)period;
	if (wanted->branch_count) {
		entry->branch = loader->branch_count;
		memcpy(&loader->branches[entry->branch], branches,
		       wanted->branch_count * sizeof(*branches));
		loader->branch_count += wanted->branch_count;
	}
	loader->used++;
	return NULL;
}

static struct pesa_error *make_room(struct loader *loader)
{
	if (!loader->branches) {
		loader->branches = malloc(BRANCHES_MAX * sizeof(*loader->branches));
		if (!loader->branches)
			return pesa_error_no_memory();
	}
	if (loader->used >= TABLE_MAX || loader->context_count >= CONTEXTS_MAX ||
	    loader->branch_count + 16 > BRANCHES_MAX)
		return drain(loader);
	return NULL;
}

/* ---- Exact records --------------------------------------------------------------------------- */

static bool exact_bucket_is_possible(const struct pesa_exact_bucket *bucket)
{
	return bucket->group >= 1 && bucket->group <= 15 && bucket->state < PESA_STATE_COUNT &&
	       (bucket->group == 1 || bucket->state == PESA_STATE_RETIRING) &&
	       bucket->count <= UINT64_MAX / PESA_CYCLE &&
	       bucket->weight == bucket->count * (PESA_CYCLE / bucket->group);
}

/* Add an exact record to the stacks; false with *possible unset when it is damaged. */
static struct pesa_error *add_exact(struct loader *loader, const struct pesa_sample *sample,
				    bool *possible)
{
	struct pesa_profile *profile = loader->profile;
	struct process_text text = {
		.profile = profile,
		.layout = pesa_spaces_layout(profile->spaces, sample->pid),
		.kernel = pesa_spaces_kernel(profile->spaces),
	};
	struct pesa_exact_record record;
	struct pics_sums sums = {0};
	const uint8_t *at = sample->raw;
	struct place place;

	*possible = false;
	if (sample->raw_size < sizeof(record))
		return NULL;
	memcpy(&record, at, sizeof(record));
	record.size = le16toh(record.size);
	record.buckets = le16toh(record.buckets);
	record.transfers = le16toh(record.transfers);
	if (record.size > sample->raw_size ||
	    record.size < sizeof(record) +
				  (size_t)record.buckets * sizeof(struct pesa_exact_bucket) +
				  (size_t)record.transfers * sizeof(struct pesa_exact_transfer))
		return NULL;
	at += sizeof(record);
	place = process_text_place(&text, le64toh(record.pc));
	for (unsigned int i = 0; i < record.buckets; i++, at += sizeof(struct pesa_exact_bucket)) {
		struct pesa_exact_bucket bucket;

		memcpy(&bucket, at, sizeof(bucket));
		bucket.weight = le64toh(bucket.weight);
		bucket.count = le64toh(bucket.count);
		bucket.cause = le16toh(bucket.cause) & PESA_DETAILS_CAUSE_MASK;
		if (!exact_bucket_is_possible(&bucket) ||
		    bucket.weight > UINT64_MAX - profile->totals.weight)
			return NULL;
		if (!pics_add_bucket(loader->pics, place.dso, place.address, bucket.state,
				     bucket.cause, bucket.group, bucket.weight, bucket.count))
			return pesa_error_no_memory();
		sums.weight += bucket.weight;
		sums.samples += bucket.count;
		profile->totals.weight += bucket.weight;
	}
	for (unsigned int i = 0; i < record.transfers;
	     i++, at += sizeof(struct pesa_exact_transfer)) {
		struct pesa_exact_transfer transfer;
		struct place target;

		memcpy(&transfer, at, sizeof(transfer));
		target = process_text_place(&text, le64toh(transfer.target));
		if (!pics_add_edge(loader->pics, place.dso, place.address, target.dso,
				   target.address, le64toh(transfer.count)))
			return pesa_error_no_memory();
		sums.transfers_taken += le64toh(transfer.count);
	}
	sums.executions = le64toh(record.executions);
	sums.retired_samples = sums.executions;
	sums.transfers_known = sums.executions;
	if (!pics_add(loader->pics, place.dso, place.address, &sums))
		return pesa_error_no_memory();
	profile->totals.exact = true;
	*possible = true;
	return NULL;
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Choose the event to load when the first sample comes (in a pipe the attributes come late too). */
static struct pesa_error *choose_event(struct loader *loader)
{
	unsigned int count = pesa_perfdata_attribute_count(loader->reader);
	const char *wanted = loader->options->event;
	int64_t raw = -1;

	for (unsigned int i = 0; i < count && loader->attribute < 0; i++) {
		const struct pesa_attribute *attribute = pesa_perfdata_attribute(loader->reader, i);

		if (wanted ? !strcmp(attribute->name, wanted)
			   : !strncmp(attribute->name, "pesa", 4))
			loader->attribute = i;
		if (raw < 0 && attribute->attr.sample_type & PERF_SAMPLE_RAW)
			raw = i;
	}
	if (loader->attribute < 0 && wanted)
		return pesa_error_create(
			PESA_ERROR_NOT_FOUND,
			"no event '%s' in this file; 'perf evlist' lists its events", wanted);
	if (loader->attribute < 0)
		loader->attribute = raw >= 0 ? raw : 0;
	if ((uint64_t)loader->attribute < count) {
		loader->profile->event = strdup(
			pesa_perfdata_attribute(loader->reader, (unsigned int)loader->attribute)
				->name);
		if (!loader->profile->event)
			return pesa_error_no_memory();
	}
	return NULL;
}

/* Copy the branch entries that a walk can need: the newest. */
static uint32_t copy_branches(const struct pesa_sample *sample, unsigned int transfers,
			      struct pesa_branch_entry branches[15])
{
	uint64_t count = sample->branches ? sample->branch_count : 0;

	if (count > transfers)
		count = transfers;
	if (count)
		memcpy(branches, sample->branches, count * sizeof(*branches));
	for (uint64_t i = 0; i < count; i++)
		branches[i].flags = 0; /* predictions do not matter here */
	return (uint32_t)count;
}

static struct pesa_error *load_sample(struct loader *loader, const struct pesa_sample *sample)
{
	struct pesa_profile_totals *totals = &loader->profile->totals;
	uint64_t period = sample->period ? sample->period : 1;
	struct pesa_branch_entry branches[15];
	struct pesa_record record = {.xlen = 64, .pc = sample->ip};
	struct entry entry;
	struct pesa_error *error;
	bool possible;

	if (loader->attribute < 0) {
		error = choose_event(loader);
		if (error)
			return error;
	}
	if (sample->attribute != (uint64_t)loader->attribute) {
		totals->other_events++;
		return NULL;
	}
	if ((loader->options->pid >= 0 && sample->pid != loader->options->pid) ||
	    (loader->options->tid >= 0 && sample->tid != loader->options->tid))
		return NULL;
	if (sample->raw && sample->raw_size && *sample->raw == PESA_EXACT_VERSION) {
		error = add_exact(loader, sample, &possible);
		totals->impossible += !error && !possible;
		return error;
	}
	totals->samples++;
	if (period > (UINT64_MAX - totals->weight) / PESA_CYCLE) {
		totals->overflowed++;
		return NULL;
	}
	totals->weight += period * PESA_CYCLE;
	totals->period_squared += (double)period * (double)period;
	if (sample->raw) {
		error = pesa_record_read(sample->raw, sample->raw_size, &record);
		if (error) {
			pesa_error_free(error);
			totals->impossible++;
			totals->unattributed[PESA_UNATTRIBUTED_IMPOSSIBLE] += period * PESA_CYCLE;
			return NULL;
		}
		totals->lost += record.flags >> PESA_RECORD_LOST_SHIFT & PESA_RECORD_LOST_MASK;
	}
	if (!(record.flags & PESA_RECORD_HAS_DETAILS))
		totals->plain_samples++;
	error = make_room(loader);
	if (error)
		return error;
	entry = (struct entry){
		.pc = record.pc,
		.details = record.flags & PESA_RECORD_HAS_DETAILS ? record.details : 0,
		.bt = {record.flags & PESA_RECORD_HAS_BT1 ? record.bt[0] : 0,
		       record.flags & PESA_RECORD_HAS_BT2 ? record.bt[1] : 0},
		.context = context_of(loader, sample->pid),
		.flags = (record.flags & 0xffff & ~PESA_RECORD_HAS_DATA) | (record.xlen == 32)
										   << 16,
	};
	entry.branch_count =
		copy_branches(sample, pesa_details_unpack(entry.details).transfers, branches);
	return count_record(loader, &entry, branches, period);
}

static struct pesa_error *load_event(struct loader *loader, struct pesa_event *event)
{
	struct pesa_mmap *mmap = &event->mmap;
	struct pesa_error *error;

	switch (event->type) {
	case PERF_RECORD_SAMPLE:
		return load_sample(loader, &event->sample);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		if (!mmap->build_id_size && mmap->path)
			pesa_perfdata_build_id(loader->reader, mmap->path, mmap->build_id,
					       &mmap->build_id_size);
		/* fall through */
	default:
		error = pesa_spaces_apply(loader->profile->spaces, event);
		return error;
	}
}

static struct pesa_error *copy_string(const char *string, char **copy)
{
	if (!string)
		return NULL;
	*copy = strdup(string);
	return *copy ? NULL : pesa_error_no_memory();
}

/* What the file says of itself, and the sums that need all of it. */
static struct pesa_error *load_facts(struct loader *loader)
{
	struct pesa_profile *profile = loader->profile;
	struct pesa_profile_totals *totals = &profile->totals;
	const struct pesa_capabilities *capabilities = pesa_perfdata_capabilities(loader->reader);
	struct pesa_error *error;

	if (capabilities)
		profile->capabilities = *capabilities;
	else
		pesa_capabilities_default(&profile->capabilities);
	profile->losses = *pesa_perfdata_losses(loader->reader);
	profile->losses.damage = NULL;
	error = copy_string(pesa_perfdata_losses(loader->reader)->damage, &profile->losses.damage);
	if (!error)
		error = copy_string(pesa_perfdata_arch(loader->reader), &profile->arch);
	if (!error)
		error = copy_string(pesa_perfdata_cmdline(loader->reader), &profile->cmdline);
	totals->lost += profile->losses.lost;
	if (totals->samples > totals->overflowed)
		totals->period = (double)totals->weight / PESA_CYCLE /
				 (double)(totals->samples - totals->overflowed);
	if (totals->exact)
		totals->period = 0;
	return error;
}

static struct pesa_error *load(struct loader *loader)
{
	const struct pesa_profile_options *options = loader->options;
	struct pesa_error *error = NULL;
	struct pesa_event event;
	uint64_t done, total;

	while (!error && pesa_perfdata_next(loader->reader, &event) > 0) {
		error = load_event(loader, &event);
		if (options->progress && !(++loader->events & 0xffff)) {
			pesa_perfdata_progress(loader->reader, &done, &total);
			options->progress(options->progress_context,
					  total ? (double)done / (double)total : 0);
		}
	}
	if (!error)
		error = drain(loader);
	if (!error && loader->attribute < 0)
		error = choose_event(loader);
	if (!error)
		error = load_facts(loader);
	if (!error) {
		struct pics *pics = loader->pics;

		loader->pics = NULL;
		binaries_finish(loader->profile);
		if (!pics_finish(pics, &loader->profile->table))
			error = pesa_error_no_memory();
	}
	return error;
}

struct pesa_error *pesa_profile_load(const char *path, const struct pesa_profile_options *options,
				     struct pesa_profile **profile)
{
	struct pesa_profile_options defaults;
	struct loader loader = {.attribute = -1, .options = options};
	struct pesa_error *error;

	if (!options) {
		pesa_profile_options_default(&defaults);
		loader.options = &defaults;
	}
	error = pesa_perfdata_open(path, &loader.reader);
	if (error)
		return error;
	loader.profile = calloc(1, sizeof(*loader.profile));
	loader.pics = pics_create();
	loader.table = calloc(TABLE_SLOTS, sizeof(*loader.table));
	loader.contexts = malloc(CONTEXTS_MAX * sizeof(*loader.contexts));
	if (!loader.profile || !loader.pics || !loader.table || !loader.contexts)
		error = pesa_error_no_memory();
	if (!error)
		error = pesa_spaces_create(&loader.profile->spaces);
	if (!error)
		error = copy_string(loader.options->symbol_root, &loader.profile->symbol_root);
	if (!error)
		error = load(&loader);
	if (loader.table && loader.contexts) {
		for (uint32_t i = 0; i < loader.context_count; i++) {
			pesa_layout_release(loader.contexts[i].layout);
			pesa_layout_release(loader.contexts[i].kernel);
		}
	}
	pics_free(loader.pics);
	free(loader.table);
	free(loader.contexts);
	free(loader.branches);
	pesa_perfdata_close(loader.reader);
	if (error) {
		if (loader.profile && loader.profile->spaces)
			pesa_profile_free(loader.profile);
		else
			free(loader.profile);
		return error;
	}
	*profile = loader.profile;
	return NULL;
}
