// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loading a profile: events in time order -> equal records counted -> walks -> store -> arrays.
 * See include/pesa/profile.h and Documentation/walk.md.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/profile/exact_record.h"
#include "decoder/profile/hardware_stack.h"
#include "decoder/profile/loader.h"
#include "decoder/profile/raw_record.h"
#include "pesa/csr.h"

/* Distinct records kept before they are walked, about 100 bytes each. */
#define RECORDS 131072
/* Limit of mappings in the layouts held by those records, 32 bytes each. */
#define MAPPINGS		1000000
#define EVENTS_BETWEEN_PROGRESS 16384
#define KERNEL_PID		UINT32_MAX

/* ---- Which samples --------------------------------------------------------------------------- */

static bool is_raw(const struct pesa_attribute *attribute)
{
	return attribute->attr.type != PERF_TYPE_TRACEPOINT &&
	       attribute->attr.sample_type & PERF_SAMPLE_RAW;
}

static bool is_dummy(const struct pesa_attribute *attribute)
{
	return attribute->attr.type == PERF_TYPE_SOFTWARE &&
	       attribute->attr.config == PERF_COUNT_SW_DUMMY;
}

static bool is_clock(const struct pesa_attribute *attribute)
{
	return attribute->attr.type == PERF_TYPE_SOFTWARE &&
	       (attribute->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
		attribute->attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

/*
 * Events that count cycles: the kernel's `cycles`; the processor's own, which pesa record writes as
 * "cycles(NAMES)"; and those that the virtual core delivers for weaker hardware.
 */
static bool is_cycles(const struct pesa_attribute *attribute)
{
	return (attribute->attr.type == PERF_TYPE_HARDWARE &&
		attribute->attr.config == PERF_COUNT_HW_CPU_CYCLES &&
		strstr(attribute->name, "cycles")) ||
	       !strncmp(attribute->name, "cycles(", strlen("cycles(")) ||
	       (pesa_attribute_is_own(attribute) && !pesa_attribute_has_exact_pc(attribute));
}

/* The name of the event to load, among the attributes known so far; NULL: none. */
static const char *event_to_load(struct profile_loader *loader)
{
	unsigned int count = pesa_perfdata_attribute_count(loader->reader);
	const char *raw = NULL, *plain = NULL;

	if (loader->options->event)
		return loader->options->event;
	for (unsigned int i = 0; i < count; i++) {
		const struct pesa_attribute *attribute = pesa_perfdata_attribute(loader->reader, i);

		if (pesa_attribute_is_own(attribute))
			return attribute->name;
		if (!raw && loader->raw_is_ours && is_raw(attribute))
			raw = attribute->name;
		if (!plain && !is_dummy(attribute))
			plain = attribute->name;
	}
	return raw ? raw : plain;
}

/* Choose the attributes to load.  Runs again when a pipe delivers more attributes. */
static struct pesa_error *choose_attributes(struct profile_loader *loader)
{
	unsigned int count = pesa_perfdata_attribute_count(loader->reader);
	const char *arch = pesa_perfdata_arch(loader->reader), *name;
	bool *chosen = calloc(count ? count : 1, sizeof(*chosen));

	if (!chosen)
		return pesa_error_no_memory();
	/* Samples of other architectures have raw payloads too, in other formats. */
	loader->raw_is_ours = !arch || !strncmp(arch, "riscv", 5);
	name = loader->profile->event ? loader->profile->event : event_to_load(loader);
	for (unsigned int i = 0; i < count; i++) {
		const struct pesa_attribute *attribute = pesa_perfdata_attribute(loader->reader, i);

		chosen[i] = name && attribute->name && !strcmp(attribute->name, name);
		if (chosen[i]) {
			loader->profile->totals.is_time = is_clock(attribute);
			loader->profile->totals.is_cycles = is_cycles(attribute);
			loader->profile->totals.is_tagged = pesa_attribute_is_tagged(attribute);
			loader->profile->totals.frequency =
				attribute->attr.freq ? attribute->attr.sample_freq : 0;
		}
		if (chosen[i] && !loader->profile->event)
			loader->profile->event = strdup(name);
		if (chosen[i] && !loader->profile->event) {
			free(chosen);
			return pesa_error_no_memory();
		}
	}
	free(loader->chosen);
	loader->chosen = chosen;
	loader->attributes = count;
	return NULL;
}

/* Cycles that a sample represents. */
static uint64_t period_of(const struct profile_loader *loader, const struct pesa_raw_sample *sample)
{
	const struct perf_event_attr *attr;

	if (sample->period)
		return sample->period;
	attr = &pesa_perfdata_attribute(loader->reader, sample->attribute)->attr;
	return !attr->freq && attr->sample_period ? attr->sample_period : 1;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static const struct pesa_layout *layout_of(struct profile_loader *loader, uint32_t pid)
{
	if (!loader->layout || loader->pid != pid) {
		loader->layout = pesa_spaces_layout(loader->profile->spaces, pid);
		loader->pid = pid;
	}
	return loader->layout;
}

static struct pesa_error *report_exact(struct profile_loader *loader,
				       const struct pesa_profile_exact *exact)
{
	const struct pesa_profile_listener *listener = loader->options->listener;

	return listener && listener->exact ? listener->exact(listener->context, exact) : NULL;
}

/* Add the buckets of an exact record, and report each. */
static struct pesa_error *take_exact_buckets(struct profile_loader *loader,
					     const struct pesa_sample *sample, unsigned int buckets,
					     uint32_t instruction, struct pesa_profile_exact *exact)
{
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; i < buckets && !error; i++) {
		struct pesa_exact_bucket bucket = exact_record_bucket(sample, i);

		loader->exact_weight += bucket.weight;
		exact->weight = bucket.weight;
		exact->state = bucket.state;
		exact->cause = bucket.cause;
		error = pesa_profile_store_exact(loader->store, instruction, &bucket);
		if (!error)
			error = report_exact(loader, exact);
	}
	return error;
}

/* Add the transfers of an exact record.  *taken: their number. */
static struct pesa_error *take_exact_transfers(struct profile_loader *loader,
					       const struct pesa_sample *sample,
					       const struct pesa_exact_record *header,
					       uint32_t instruction, uint64_t *taken)
{
	struct pesa_error *error = NULL;

	*taken = 0;
	for (unsigned int i = 0; i < header->transfers && !error; i++) {
		struct pesa_exact_transfer transfer = exact_record_transfer(sample, header, i);
		uint32_t target_dso;
		uint64_t target;

		*taken += transfer.count;
		profile_locate(loader, transfer.target, &target_dso, &target);
		error = pesa_profile_store_edge(loader->store, instruction, target_dso, target,
						transfer.count, 0);
	}
	return error;
}

/* Add an exact record.  Lookups note their errors in loader->text. */
static struct pesa_error *add_exact(struct profile_loader *loader, const struct pesa_sample *sample,
				    const struct pesa_exact_record *header)
{
	struct pesa_profile_exact exact = {
		.pid = sample->pid, .tid = sample->tid, .cpu = sample->cpu};
	struct pesa_error *error;
	uint32_t instruction;
	uint64_t taken;

	profile_locate(loader, header->pc, &exact.place.dso, &exact.place.address);
	instruction = pesa_profile_store_get(loader->store, exact.place.dso, exact.place.address);
	if (instruction == UINT32_MAX)
		return pesa_error_no_memory();
	error = take_exact_buckets(loader, sample, header->buckets, instruction, &exact);
	exact.executions = header->executions;
	exact.weight = exact.state = exact.cause = 0;
	if (!error)
		error = report_exact(loader, &exact);
	if (!error)
		error = take_exact_transfers(loader, sample, header, instruction, &taken);
	if (error)
		return error;
	pesa_profile_store_executions(loader->store, instruction, header->executions);
	pesa_profile_store_taken(loader->store, instruction, header->executions, taken);
	return NULL;
}

static struct pesa_error *take_exact(struct profile_loader *loader,
				     const struct pesa_sample *sample)
{
	struct pesa_error *error, *text_error;
	struct pesa_exact_record header;

	if (!exact_record_read(sample, loader->exact_weight, &header)) {
		loader->profile->totals.impossible++;
		return NULL;
	}
	loader->exact_records++;
	profile_text_begin(loader, layout_of(loader, sample->pid));
	error = add_exact(loader, sample, &header);
	text_error = profile_text_end(loader);
	if (!error)
		return text_error;
	pesa_error_free(text_error);
	return error;
}

/* Whether a sample has a raw payload of ours.  Without one the kernel writes four zero bytes. */
static bool has_raw(const struct profile_loader *loader, const struct pesa_raw_sample *sample)
{
	static const uint8_t zeros[sizeof(uint32_t)];

	if (!loader->raw_is_ours || !sample->raw)
		return false;
	return sample->raw_size > sizeof(zeros) || memcmp(sample->raw, zeros, sample->raw_size);
}

/* An address from shpmspc is exact even if the recorder did not mark it so.  The driver's records
 * show where the address is from; without a record the event's name does. */
static bool pc_is_exact(const struct profile_loader *loader, bool has_payload,
			const struct pesa_record *record, const struct pesa_sample *whole)
{
	if (has_payload && record->flags & (PESA_RECORD_HAS_DETAILS | PESA_RECORD_HAS_DATA))
		return true;
	return whole->exact_ip || (!has_payload && loader->raw_is_ours &&
				   pesa_attribute_has_exact_pc(pesa_perfdata_attribute(
					   loader->reader, whole->attribute)));
}

/* The record of a sample whose raw payload is absent or unreadable.  The latter is an impossible
 * record: the hart retired instructions, and their number is 0. */
static struct pesa_record record_without_raw(const struct pesa_sample *whole, bool unreadable)
{
	return (struct pesa_record){
		.xlen = 64, .pc = whole->ip, .flags = unreadable ? PESA_RECORD_HAS_DETAILS : 0};
}

/* Whether the listener or the filter asks for whole samples. */
static bool needs_whole_samples(const struct profile_loader *loader)
{
	const struct pesa_profile_listener *listener = loader->options->listener;

	return loader->options->filter || (listener && listener->sample);
}

/* Whether the branches of a sample are a call stack, and no path. */
static bool has_call_stack(const struct profile_loader *loader, const struct pesa_sample *sample)
{
	return hardware_stack_is_of(
		&pesa_perfdata_attribute(loader->reader, sample->attribute)->attr);
}

/* Whether the listener takes the branch stacks of samples of an attribute: those that are a whole path. */
static bool takes_branches(const struct profile_loader *loader, uint32_t attribute, bool details)
{
	const struct pesa_profile_listener *listener = loader->options->listener;
	const struct perf_event_attr *attr;

	if (!listener || !listener->branches || (details && listener->no_branches_beside_details))
		return false;
	attr = &pesa_perfdata_attribute(loader->reader, attribute)->attr;
	return attr->sample_type & PERF_SAMPLE_BRANCH_STACK &&
	       attr->branch_sample_type & PERF_SAMPLE_BRANCH_ANY && !hardware_stack_is_of(attr);
}

static struct pesa_error *report_branches(struct profile_loader *loader,
					  const struct pesa_sample *sample,
					  const struct pesa_record *record,
					  const struct pesa_times *times)
{
	const struct pesa_profile_listener *listener = loader->options->listener;
	const struct pesa_profile_branches branches = {
		.entries = sample->branches,
		.count = sample->branch_count,
		.samples = times->samples,
		.period = times->periods,
		.locate = profile_locate_for_listener,
		.locator = loader,
	};
	struct pesa_error *error, *text_error;

	if (!sample->branch_count ||
	    !takes_branches(loader, sample->attribute, record->flags & PESA_RECORD_HAS_DETAILS))
		return NULL;
	profile_text_begin(loader, layout_of(loader, sample->pid));
	error = listener->branches(listener->context, &branches);
	text_error = profile_text_end(loader);
	if (!error)
		return text_error;
	pesa_error_free(text_error);
	return error;
}

/* A sample as the listener gets it, without what only the sample itself has. */
static struct pesa_profile_sample sample_of(struct profile_loader *loader,
					    const struct pesa_record *record,
					    const struct pesa_times *times)
{
	return (struct pesa_profile_sample){
		.record = record,
		.capabilities = profile_capabilities_of(loader),
		.samples = times->samples,
		.period = times->periods,
		.periods_squared = times->periods_squared,
	};
}

/* Report a sample to the listener, and get the sample's group from it.  Call chains are completed
 * only for listeners that need them. */
static struct pesa_error *report_sample(struct profile_loader *loader, struct pesa_sample sample,
					const struct pesa_record *record,
					const struct pesa_times *times, uint32_t *group)
{
	const struct pesa_profile_listener *listener = loader->options->listener;
	struct pesa_profile_sample reported;
	struct pesa_error *error = NULL;

	*group = 0;
	if (!listener)
		return NULL;
	if (loader->unwinder && has_call_stack(loader, &sample))
		error = hardware_stack_take(loader, layout_of(loader, sample.pid), record, &sample);
	else if (loader->unwinder)
		error = pesa_unwinder_complete(loader->unwinder, layout_of(loader, sample.pid),
					       &sample);
	if (error)
		return error;
	reported = sample_of(loader, record, times);
	reported.pid = sample.pid;
	reported.tid = sample.tid;
	reported.cpu = sample.cpu;
	reported.cgroup = sample.cgroup;
	reported.time = sample.time;
	reported.callchain = sample.callchain;
	reported.callchain_count = sample.callchain_count;
	if (listener->sample)
		error = listener->sample(listener->context, &reported);
	if (!error && listener->group)
		error = listener->group(listener->context, &reported, group);
	return error ? error : report_branches(loader, &sample, record, times);
}

/* Count a record in the table.  Where that is full, what it has is walked first. */
static struct pesa_error *count_record(struct profile_loader *loader,
				       const struct pesa_record *record, uint32_t group,
				       uint32_t pid, const uint8_t *branches, uint64_t branch_count,
				       const struct pesa_times *times)
{
	const struct pesa_layout *layout = layout_of(loader, pid);

	for (;;) {
		struct pesa_error *error;
		bool full = false;

		error = pesa_record_table_count(loader->table, record, layout, group, branches,
						branch_count, times, &full);
		if (error || !full)
			return error;
		error = profile_walk_all(loader);
		if (error)
			return error;
	}
}

/* Count the record of a sample. */
static struct pesa_error *count_sample(struct profile_loader *loader,
				       const struct pesa_record *record, uint32_t group,
				       const struct pesa_sample *sample,
				       const struct pesa_times *times)
{
	uint64_t branches = has_call_stack(loader, sample) ? 0 : sample->branch_count;

	return count_record(loader, record, group, sample->pid, sample->branches, branches, times);
}

/* Count the first sample of its kind that the reader offers. */
static __attribute__((noinline)) struct pesa_error *
count_first(struct profile_loader *loader, const struct pesa_raw_sample *sample,
	    const struct pesa_record *record, uint32_t group, const struct pesa_times *once)
{
	return count_record(loader, record, group, sample->pid, NULL, 0, once);
}

/* Whether the sample is of a process or thread that is not loaded. */
static inline bool is_filtered(const struct profile_loader *loader,
			       const struct pesa_raw_sample *sample)
{
	const struct pesa_profile_options *options = loader->options;

	return (options->pid >= 0 && sample->pid != (uint64_t)options->pid) ||
	       (options->tid >= 0 && sample->tid != (uint64_t)options->tid);
}

/* Whether the sum of all periods can have another one added. */
static inline bool is_period_countable(const struct profile_loader *loader, uint64_t period)
{
	return period <= UINT64_MAX / PESA_CYCLE - loader->periods;
}

/* Add a sample to the totals; only those that are countable have weight. */
static inline void add_to_totals(struct profile_loader *loader, const struct pesa_record *record,
				 const struct pesa_times *times, bool countable)
{
	struct pesa_profile_totals *totals = &loader->profile->totals;

	totals->samples += times->samples;
	totals->lost += record->flags >> PESA_RECORD_LOST_SHIFT & PESA_RECORD_LOST_MASK;
	if (!countable) {
		totals->overflowed += times->samples;
		return;
	}
	loader->periods += times->periods;
	totals->period_squared += times->periods_squared;
}

/* Take a counted record. */
static struct pesa_error *take_counted(struct profile_loader *loader,
				       const struct pesa_sample *whole)
{
	struct pesa_profile_totals *totals = &loader->profile->totals;
	struct pesa_counted_sample counted;
	struct pesa_record record;
	struct pesa_times times;
	struct pesa_error *error;
	uint32_t group = 0;
	double squared;
	bool countable;

	if (!counted_record_read(whole->raw, whole->raw ? whole->raw_size : 0, &counted, &squared,
				 &record)) {
		totals->impossible++;
		return NULL;
	}
	if (counted.kind != PESA_COUNTED_RECORD)
		record.flags = counted.kind == PESA_COUNTED_PLAIN ? 0 : PESA_RECORD_HAS_DETAILS;
	times = (struct pesa_times){counted.samples, counted.periods, squared};
	totals->impossible += counted.kind == PESA_COUNTED_UNREADABLE ? times.samples : 0;
	totals->plain_samples += record.flags & PESA_RECORD_HAS_DETAILS ? 0 : times.samples;
	totals->skidding_samples += whole->exact_ip ? 0 : times.samples;
	countable = is_period_countable(loader, times.periods);
	add_to_totals(loader, &record, &times, countable);
	if (!countable)
		return NULL;
	error = report_sample(loader, *whole, &record, &times, &group);
	return error ? error : count_sample(loader, &record, group, whole, &times);
}

/* Take a sample of a chosen event. */
static struct pesa_error *take_sample(struct profile_loader *loader,
				      const struct pesa_sample *whole)
{
	const struct pesa_raw_sample sample = {
		.attribute = whole->attribute,
		.pid = whole->pid,
		.tid = whole->tid,
		.raw_size = whole->raw_size,
		.raw = whole->raw,
		.period = whole->period,
	};
	const struct pesa_profile_filter *filter = loader->options->filter;
	struct pesa_profile_totals *totals = &loader->profile->totals;
	bool has_payload = has_raw(loader, &sample), has_record, countable;
	struct pesa_record record;
	struct pesa_times once;
	struct pesa_error *error;
	uint32_t group = 0;

	if (is_filtered(loader, &sample) || (filter && !filter->wants(filter->context, whole)))
		return NULL;
	if (loader->counted)
		return take_counted(loader, whole);
	has_record = has_payload && raw_record_read(sample.raw, sample.raw_size, &record);
	if (has_payload && !has_record && sample.raw[0] == PESA_EXACT_VERSION)
		return take_exact(loader, whole);
	if (!has_record)
		record = record_without_raw(whole, has_payload);
	totals->impossible += has_payload && !has_record;
	totals->plain_samples += !(record.flags & PESA_RECORD_HAS_DETAILS);
	totals->skidding_samples += !pc_is_exact(loader, has_payload, &record, whole);
	once = pesa_times_once(period_of(loader, &sample));
	countable = is_period_countable(loader, once.periods);
	add_to_totals(loader, &record, &once, countable);
	if (!countable)
		return NULL;
	error = report_sample(loader, *whole, &record, &once, &group);
	return error ? error : count_sample(loader, &record, group, whole, &once);
}

/* Get the group of an offered sample, which has no call chain, from the listener. */
static struct pesa_error *group_of_offered(struct profile_loader *loader,
					   const struct pesa_raw_sample *sample,
					   const struct pesa_record *record,
					   const struct pesa_times *times, uint32_t *group)
{
	const struct pesa_profile_listener *listener = loader->options->listener;
	struct pesa_profile_sample reported = sample_of(loader, record, times);

	reported.pid = sample->pid;
	reported.tid = sample->tid;
	reported.cpu = sample->cpu;
	reported.time = sample->time;
	return listener->group(listener->context, &reported, group);
}

/*
 * Count a sample that the reader offers, without decoding it.  Only records that have the hardware's
 * details can be counted so: nothing but the raw payload is needed for their totals.  Returns false,
 * with nothing counted, if it is another record, and take_sample() has to take the whole sample.  An error
 * becomes loader->failed.
 *
 * This runs once for every sample.
 */
static inline bool count_offered(struct profile_loader *loader,
				 const struct pesa_raw_sample *sample)
{
	const struct pesa_profile_listener *listener = loader->options->listener;
	struct pesa_record record;
	uint32_t group = 0;
	struct pesa_times once;
	bool countable;

	if (is_filtered(loader, sample))
		return true;
	if (loader->counted || takes_branches(loader, sample->attribute, true) ||
	    !has_raw(loader, sample) || !raw_record_read(sample->raw, sample->raw_size, &record) ||
	    !(record.flags & PESA_RECORD_HAS_DETAILS))
		return false;
	once = pesa_times_once(period_of(loader, sample));
	countable = is_period_countable(loader, once.periods);
	add_to_totals(loader, &record, &once, countable);
	if (countable && listener && listener->group)
		loader->failed = group_of_offered(loader, sample, &record, &once, &group);
	if (countable && !loader->failed &&
	    !pesa_record_table_count_again(loader->table, &record, layout_of(loader, sample->pid),
					   group, once.periods))
		loader->failed = count_first(loader, sample, &record, group, &once);
	return true;
}

/*
 * After every mmap event counted records may still hold the old layout, and each layout lists all
 * mappings of its process.  Without a limit, programs that generate code would exhaust memory.
 */
static struct pesa_error *limit_layouts(struct profile_loader *loader, uint64_t mappings)
{
	loader->mappings += mappings;
	if (loader->mappings <= MAPPINGS)
		return NULL;
	loader->mappings = 0;
	return profile_walk_all(loader);
}

static struct pesa_error *limit_layouts_of(struct profile_loader *loader, uint32_t pid)
{
	return limit_layouts(loader, pesa_spaces_layout(loader->profile->spaces, pid)->count);
}

/* Apply the code that jitdumps list up to `time`. */
static struct pesa_error *advance_dumps(struct profile_loader *loader, uint64_t time)
{
	uint64_t mappings = 0;
	struct pesa_error *error;

	loader->layout = NULL;
	error = pesa_spaces_advance(loader->profile->spaces, time, &mappings);
	return error ? error : limit_layouts(loader, mappings);
}

/* Take a sample if its event is loaded. */
static struct pesa_error *take_any_sample(struct profile_loader *loader,
					  const struct pesa_sample *sample)
{
	if (sample->attribute >= loader->attributes) {
		struct pesa_error *error = choose_attributes(loader);

		if (error)
			return error;
	}
	if (sample->attribute < loader->attributes && loader->chosen[sample->attribute])
		return take_sample(loader, sample);
	loader->profile->totals.other_events++;
	return NULL;
}

/* Apply an event that may change address spaces. */
static struct pesa_error *apply_event(struct profile_loader *loader, const struct pesa_event *event)
{
	const uint16_t mode = event->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	const bool maps = event->type == PERF_RECORD_MMAP || event->type == PERF_RECORD_MMAP2;
	struct pesa_error *error = NULL;

	/* Records hold the layout of their process; the kernel's layout is shared by all
	 * processes. */
	if (maps && (event->mmap.pid == KERNEL_PID || mode == PERF_RECORD_MISC_KERNEL))
		error = profile_walk_all(loader);
	if (error)
		return error;
	loader->layout = NULL;
	error = pesa_spaces_apply(loader->profile->spaces, event);
	if (!error && maps)
		error = limit_layouts_of(loader, event->mmap.pid);
	if (!error && event->type == PERF_RECORD_TEXT_POKE && mode == PERF_RECORD_MISC_USER)
		error = limit_layouts_of(loader, event->text.pid);
	return error;
}

static struct pesa_error *take_event(struct profile_loader *loader, const struct pesa_event *event)
{
	const struct pesa_profile_listener *listener = loader->options->listener;
	const struct pesa_profile_filter *filter = loader->options->filter;
	struct pesa_error *error = NULL;

	if (event->type != PERF_RECORD_SAMPLE && listener && listener->event)
		error = listener->event(listener->context, event);
	if (!error && event->type != PERF_RECORD_SAMPLE && filter && filter->event)
		error = filter->event(filter->context, event);
	if (!error && event->time >= pesa_spaces_due(loader->profile->spaces))
		error = advance_dumps(loader, event->time);
	if (error)
		return error;
	switch (event->type) {
	case PERF_RECORD_SAMPLE:
		return take_any_sample(loader, &event->sample);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		return NULL; /* the reader counts lost samples, each of them once */
	default:
		return apply_event(loader, event);
	}
}

static void count_event(struct profile_loader *loader)
{
	uint64_t done, total;

	if (++loader->events % EVENTS_BETWEEN_PROGRESS || !loader->options->progress)
		return;
	pesa_perfdata_progress(loader->reader, &done, &total);
	if (total)
		loader->options->progress(loader->options->progress_context,
					  (double)done / (double)total);
}

/* Callback of pesa_perfdata_offer_raw(). */
static bool take_offered(void *context, const struct pesa_raw_sample *sample)
{
	struct profile_loader *loader = context;

	/* Events that wait for this sample's time, and attributes not chosen yet, come first. */
	if (loader->failed || pesa_spaces_due(loader->profile->spaces) != UINT64_MAX ||
	    sample->attribute >= loader->attributes || !loader->chosen[sample->attribute] ||
	    !count_offered(loader, sample))
		return false;
	count_event(loader);
	return true;
}

static struct pesa_error *take_events(struct profile_loader *loader)
{
	struct pesa_event event;

	if (!needs_whole_samples(loader))
		pesa_perfdata_offer_raw(loader->reader, take_offered, loader);
	while (pesa_perfdata_next(loader->reader, &event) > 0 && !loader->failed) {
		struct pesa_error *error = take_event(loader, &event);

		if (error)
			return error;
		count_event(loader);
	}
	return loader->failed ? loader->failed : profile_walk_all(loader);
}

/* ---- Loading -------------------------------------------------------------------------------- */

/* Whether the file has counted records (record.h). */
static bool has_counted_records(struct pesa_perfdata *reader)
{
	size_t count;
	const struct pesa_recording *recording = pesa_perfdata_recordings(reader, &count);

	return count && pesa_recording_fact(&recording[0], "counted");
}

static struct pesa_error *load(struct profile_loader *loader)
{
	const struct pesa_origin origin = pesa_perfdata_origin(loader->reader);
	struct pesa_profile *profile = loader->profile;
	struct pesa_error *error = pesa_spaces_create(&profile->spaces);

	if (error)
		return error;
	profile->binaries = pesa_binaries_create(profile->spaces, loader->options->symbol_root);
	loader->store = pesa_profile_store_create();
	loader->table = pesa_record_table_create(RECORDS);
	if (!profile->binaries || !loader->store || !loader->table)
		return pesa_error_no_memory();
	error = pesa_spaces_read_dumps(profile->spaces, &origin, loader->options->symbol_root);
	if (error)
		return error;
	pesa_binaries_set_origin(profile->binaries, &origin);
	if (loader->options->listener && loader->options->listener->group) {
		loader->unwinder = pesa_unwinder_create(profile->binaries, profile->spaces,
							pesa_perfdata_arch(loader->reader));
		if (!loader->unwinder)
			return pesa_error_no_memory();
	}
	loader->counted = has_counted_records(loader->reader);
	error = choose_attributes(loader);
	if (!error)
		error = take_events(loader);
	if (!error)
		error = profile_make_arrays(loader);
	return error;
}

struct pesa_error *pesa_profile_load(const char *path, const struct pesa_profile_options *options,
				     struct pesa_profile **profile)
{
	struct pesa_profile_options defaults;
	struct profile_loader loader = {0};
	struct pesa_error *error;

	pesa_profile_options_default(&defaults);
	loader.options = options ? options : &defaults;
	error = pesa_perfdata_open(path, &loader.reader);
	if (error)
		return error;
	loader.profile = calloc(1, sizeof(*loader.profile));
	if (loader.profile)
		pesa_capabilities_default(&loader.profile->capabilities);
	error = loader.profile ? load(&loader) : pesa_error_no_memory();
	pesa_record_table_free(loader.table);
	pesa_profile_store_free(loader.store);
	pesa_unwinder_free(loader.unwinder);
	free(loader.chosen);
	free(loader.located);
	hardware_stack_free(&loader.hardware_stack);
	pesa_perfdata_close(loader.reader);
	if (error) {
		pesa_profile_free(loader.profile);
		return pesa_error_prefix(error, "%s: ", path);
	}
	*profile = loader.profile;
	return NULL;
}
