// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loading a profile: events in time order -> equal records counted -> walks -> store -> arrays.
 * See include/pesa/profile.h and Documentation/walk.md.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/profile/exact_record.h"
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
		if (chosen[i])
			loader->profile->totals.is_time = is_clock(attribute);
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

static bool report_exact(struct profile_loader *loader, const struct pesa_profile_exact *exact)
{
	const struct pesa_profile_listener *listener = loader->options->listener;

	return !listener || !listener->exact || listener->exact(listener->context, exact);
}

static void take_exact(struct profile_loader *loader, const struct pesa_sample *sample)
{
	struct pesa_profile *profile = loader->profile;
	struct pesa_exact_record header;
	struct pesa_profile_exact exact = {
		.pid = sample->pid, .tid = sample->tid, .cpu = sample->cpu};
	uint32_t instruction;
	uint64_t taken = 0;

	if (!exact_record_read(sample, loader->exact_weight, &header)) {
		profile->totals.impossible++;
		return;
	}
	loader->exact_records++;
	loader->walked = layout_of(loader, sample->pid);
	loader->mapping = NULL;
	profile_locate(loader, header.pc, &exact.place.dso, &exact.place.address);
	instruction = pesa_profile_store_get(loader->store, exact.place.dso, exact.place.address);
	if (instruction == UINT32_MAX) {
		loader->out_of_memory = true;
		return;
	}
	for (unsigned int i = 0; i < header.buckets; i++) {
		struct pesa_exact_bucket bucket = exact_record_bucket(sample, i);

		loader->exact_weight += bucket.weight;
		exact.weight = bucket.weight;
		exact.state = bucket.state;
		exact.cause = bucket.cause;
		if (!pesa_profile_store_exact(loader->store, instruction, &bucket) ||
		    !report_exact(loader, &exact))
			loader->out_of_memory = true;
	}
	exact.executions = header.executions;
	exact.weight = exact.state = exact.cause = 0;
	if (!report_exact(loader, &exact))
		loader->out_of_memory = true;
	for (unsigned int i = 0; i < header.transfers; i++) {
		struct pesa_exact_transfer transfer = exact_record_transfer(sample, &header, i);
		uint32_t target_dso;
		uint64_t target;

		taken += transfer.count;
		profile_locate(loader, transfer.target, &target_dso, &target);
		if (!pesa_profile_store_edge(loader->store, instruction, target_dso, target,
					     transfer.count))
			loader->out_of_memory = true;
	}
	pesa_profile_store_executions(loader->store, instruction, header.executions);
	pesa_profile_store_taken(loader->store, instruction, header.executions, taken);
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

/* Whether the listener asks for whole samples. */
static bool listens_to_samples(const struct profile_loader *loader)
{
	const struct pesa_profile_listener *listener = loader->options->listener;

	return listener && (listener->sample || listener->group);
}

/* Report a sample to the listener, and get the sample's group from it.  Call chains are completed
 * only for listeners that need them. */
static bool report_sample(struct profile_loader *loader, struct pesa_sample sample,
			  const struct pesa_record *record, uint64_t period, uint32_t *group)
{
	const struct pesa_profile_listener *listener = loader->options->listener;
	struct pesa_profile_sample reported;

	*group = 0;
	if (!listener)
		return true;
	if (loader->unwinder &&
	    !pesa_unwinder_complete(loader->unwinder, layout_of(loader, sample.pid), &sample))
		return false;
	reported = (struct pesa_profile_sample){
		.record = record,
		.capabilities = profile_capabilities_of(loader),
		.pid = sample.pid,
		.tid = sample.tid,
		.cpu = sample.cpu,
		.time = sample.time,
		.period = period,
		.callchain = sample.callchain,
		.callchain_count = sample.callchain_count,
	};
	return (!listener->sample || listener->sample(listener->context, &reported)) &&
	       (!listener->group || listener->group(listener->context, &reported, group));
}

/* Count a sample's record in the table.  Inline as take_sample() is. */
static inline __attribute__((always_inline)) void
count_record(struct profile_loader *loader, const struct pesa_record *record, uint32_t pid,
	     uint32_t group, const struct pesa_sample *whole, uint64_t period)
{
	const struct pesa_layout *layout = layout_of(loader, pid);
	const uint8_t *branches = whole ? whole->branches : NULL;
	uint64_t branch_count = whole ? whole->branch_count : 0;
	enum pesa_counting counting;

	for (;;) {
		counting = pesa_record_table_count(loader->table, record, layout, group, branches,
						   branch_count, period);
		if (counting != PESA_COUNTING_FULL)
			break;
		profile_walk_all(loader);
	}
	if (counting == PESA_COUNTING_NO_MEMORY)
		loader->out_of_memory = true;
}

/*
 * Take a sample of a chosen event.  `whole` is NULL while the reader only offers the sample: with
 * the hardware's details in its raw payload it is counted without being decoded.  Returns false,
 * with nothing counted, if the whole sample is needed.
 *
 * This runs once for every sample.  Inline: a copy for each of its two callers, in one of which
 * `whole` is always NULL.
 */
static inline __attribute__((always_inline)) bool take_sample(struct profile_loader *loader,
							      const struct pesa_raw_sample *sample,
							      const struct pesa_sample *whole)
{
	const struct pesa_profile_options *options = loader->options;
	struct pesa_profile_totals *totals = &loader->profile->totals;
	bool has_payload = has_raw(loader, sample), has_record;
	uint64_t period, limit = UINT64_MAX / PESA_CYCLE;
	struct pesa_record record;
	uint32_t group = 0;

	if ((options->pid >= 0 && sample->pid != (uint64_t)options->pid) ||
	    (options->tid >= 0 && sample->tid != (uint64_t)options->tid))
		return true;
	has_record = has_payload && raw_record_read(sample->raw, sample->raw_size, &record);
	if (!whole && !(has_record && record.flags & PESA_RECORD_HAS_DETAILS))
		return false;
	if (has_payload && !has_record && sample->raw[0] == PESA_EXACT_VERSION) {
		take_exact(loader, whole);
		return true;
	}
	if (!has_record)
		record = record_without_raw(whole, has_payload);
	totals->samples++;
	totals->impossible += has_payload && !has_record;
	totals->lost += record.flags >> PESA_RECORD_LOST_SHIFT & PESA_RECORD_LOST_MASK;
	totals->plain_samples += !(record.flags & PESA_RECORD_HAS_DETAILS);
	totals->skidding_samples += !pc_is_exact(loader, has_payload, &record, whole);
	period = period_of(loader, sample);
	if (period > limit - loader->periods) {
		totals->overflowed++;
		return true;
	}
	loader->periods += period;
	totals->period_squared += (double)period * (double)period;
	if (whole && !report_sample(loader, *whole, &record, period, &group))
		loader->out_of_memory = true;
	count_record(loader, &record, sample->pid, group, whole, period);
	return true;
}

static void take_sample_event(struct profile_loader *loader, const struct pesa_sample *sample)
{
	const struct pesa_raw_sample raw = {
		.attribute = sample->attribute,
		.pid = sample->pid,
		.tid = sample->tid,
		.raw_size = sample->raw_size,
		.raw = sample->raw,
		.period = sample->period,
	};

	take_sample(loader, &raw, sample);
}

/*
 * Every mmap event may leave a layout behind that counted records hold, and each layout lists all
 * mappings of its process.  Without a limit, programs that generate code would exhaust memory.
 */
static void limit_layouts(struct profile_loader *loader, uint64_t mappings)
{
	loader->mappings += mappings;
	if (loader->mappings <= MAPPINGS)
		return;
	profile_walk_all(loader);
	loader->mappings = 0;
}

static void limit_layouts_of(struct profile_loader *loader, uint32_t pid)
{
	limit_layouts(loader, pesa_spaces_layout(loader->profile->spaces, pid)->count);
}

/* Apply the code that jitdumps list up to `time`. */
static struct pesa_error *advance_dumps(struct profile_loader *loader, uint64_t time)
{
	uint64_t mappings = 0;
	struct pesa_error *error;

	loader->layout = NULL;
	error = pesa_spaces_advance(loader->profile->spaces, time, &mappings);
	if (!error)
		limit_layouts(loader, mappings);
	return error;
}

static struct pesa_error *take_event(struct profile_loader *loader, const struct pesa_event *event)
{
	const struct pesa_profile_listener *listener = loader->options->listener;
	struct pesa_error *error;

	if (event->type != PERF_RECORD_SAMPLE && listener && listener->event &&
	    !listener->event(listener->context, event))
		return pesa_error_no_memory();
	if (event->time >= pesa_spaces_due(loader->profile->spaces)) {
		error = advance_dumps(loader, event->time);
		if (error)
			return error;
	}
	switch (event->type) {
	case PERF_RECORD_SAMPLE:
		if (event->sample.attribute >= loader->attributes) {
			error = choose_attributes(loader);
			if (error)
				return error;
		}
		if (event->sample.attribute < loader->attributes &&
		    loader->chosen[event->sample.attribute])
			take_sample_event(loader, &event->sample);
		else
			loader->profile->totals.other_events++;
		return NULL;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		return NULL; /* the reader counts lost samples, each of them once */
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		/* Records hold the layout of their process; the kernel's layout is shared by all
		 * processes. */
		if (event->mmap.pid == KERNEL_PID ||
		    (event->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
			profile_walk_all(loader);
		break;
	default:
		break;
	}
	loader->layout = NULL;
	error = pesa_spaces_apply(loader->profile->spaces, event);
	if (!error && (event->type == PERF_RECORD_MMAP || event->type == PERF_RECORD_MMAP2))
		limit_layouts_of(loader, event->mmap.pid);
	if (!error && event->type == PERF_RECORD_TEXT_POKE &&
	    (event->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER)
		limit_layouts_of(loader, event->text.pid);
	return error;
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
	if (pesa_spaces_due(loader->profile->spaces) != UINT64_MAX ||
	    sample->attribute >= loader->attributes || !loader->chosen[sample->attribute] ||
	    !take_sample(loader, sample, NULL))
		return false;
	count_event(loader);
	return true;
}

static struct pesa_error *take_events(struct profile_loader *loader)
{
	struct pesa_event event;

	if (!listens_to_samples(loader))
		pesa_perfdata_offer_raw(loader->reader, take_offered, loader);
	while (pesa_perfdata_next(loader->reader, &event) > 0) {
		struct pesa_error *error = take_event(loader, &event);

		if (error)
			return error;
		if (loader->out_of_memory)
			return pesa_error_no_memory();
		count_event(loader);
	}
	profile_walk_all(loader);
	return loader->out_of_memory ? pesa_error_no_memory() : NULL;
}

/* ---- Finishing ------------------------------------------------------------------------------- */

static struct pesa_error *no_such_event(const struct profile_loader *loader)
{
	unsigned int count = pesa_perfdata_attribute_count(loader->reader);
	struct pesa_error *error;
	char *names = strdup("");

	for (unsigned int i = 0; i < count && names; i++) {
		const char *name = pesa_perfdata_attribute(loader->reader, i)->name;
		char *longer = NULL;

		if (asprintf(&longer, "%s%s%s", names, i ? ", " : "", name ? name : "?") < 0)
			longer = NULL;
		free(names);
		names = longer;
	}
	error = pesa_error_create(PESA_ERROR_NOT_FOUND, "no event is named '%s'; the file has: %s",
				  loader->options->event, names ? names : "?");
	free(names);
	return error;
}

static bool copy_string(const char *from, char **to)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to;
}

static bool copy_counts(struct profile_loader *loader)
{
	struct pesa_profile *profile = loader->profile;
	size_t count;
	const struct pesa_count *counts = pesa_perfdata_counts(loader->reader, &count);

	profile->count = calloc(count ? count : 1, sizeof(*profile->count));
	for (; profile->count && profile->counts < count; profile->counts++) {
		struct pesa_count *copy = &profile->count[profile->counts];

		copy->value = counts[profile->counts].value;
		copy->event = strdup(counts[profile->counts].event);
		if (!copy->event)
			return false;
	}
	return profile->count;
}

static bool copy_facts(struct profile_loader *loader)
{
	struct pesa_profile *profile = loader->profile;
	const struct pesa_capabilities *capabilities = pesa_perfdata_capabilities(loader->reader);

	if (capabilities)
		profile->capabilities = *capabilities;
	else
		pesa_capabilities_default(&profile->capabilities);
	profile->losses = *pesa_perfdata_losses(loader->reader);
	profile->totals.lost += profile->losses.lost;
	profile->losses.damage = NULL;
	return copy_counts(loader) &&
	       copy_string(pesa_perfdata_losses(loader->reader)->damage, &profile->losses.damage) &&
	       copy_string(pesa_perfdata_arch(loader->reader), &profile->arch) &&
	       copy_string(pesa_perfdata_cmdline(loader->reader), &profile->cmdline);
}

/* Keep the dsos that instructions or edges refer to. */
static bool renumber_dsos(struct profile_loader *loader, uint32_t **renumber)
{
	struct pesa_profile *profile = loader->profile;
	unsigned int count = pesa_spaces_dso_count(profile->spaces);
	bool *used = calloc(count, sizeof(*used));

	*renumber = calloc(count, sizeof(**renumber));
	profile->dso = calloc(count, sizeof(*profile->dso));
	if (used && *renumber && profile->dso) {
		pesa_profile_store_dsos(loader->store, used);
		for (uint32_t i = 0; i < loader->located_count; i++)
			used[i] |= loader->located[i];
		for (unsigned int i = 0; i < count; i++) {
			if (!used[i])
				continue;
			(*renumber)[i] = profile->dsos;
			profile->dso[profile->dsos++] = i;
			pesa_binaries_image(profile->binaries, i); /* determines the status */
		}
	}
	free(used);
	return used && *renumber && profile->dso;
}

static bool index_instructions(struct pesa_profile *profile)
{
	size_t at = 0;

	profile->first = malloc((profile->dsos + 1u) * sizeof(*profile->first));
	if (!profile->first)
		return false;
	for (uint32_t dso = 0; dso <= profile->dsos; dso++) {
		while (at < profile->arrays.instructions &&
		       profile->arrays.instruction[at].dso < dso)
			at++;
		profile->first[dso] = at;
	}
	return true;
}

static struct pesa_error *finish(struct profile_loader *loader)
{
	struct pesa_profile *profile = loader->profile;
	struct pesa_profile_totals *totals = &profile->totals;
	uint64_t weighed = totals->samples - totals->overflowed;
	uint32_t *renumber = NULL;
	bool done;

	if (!profile->event && loader->options->event)
		return no_such_event(loader);
	totals->weight = loader->periods * PESA_CYCLE;
	if (__builtin_add_overflow(totals->weight, loader->exact_weight, &totals->weight))
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "samples and exact records in one event are more cycles "
					 "than can be counted; choose one event");
	totals->exact = loader->exact_records && !totals->samples;
	totals->period = weighed ? (double)loader->periods / (double)weighed : 0;
	done = copy_facts(loader) && renumber_dsos(loader, &renumber) &&
	       pesa_profile_store_finish(loader->store, renumber, &profile->arrays) &&
	       index_instructions(profile) && pesa_binaries_complete(profile->binaries);
	free(renumber);
	/* The origin is the reader, which is freed after this. */
	pesa_binaries_set_origin(profile->binaries, NULL);
	return done ? NULL : pesa_error_no_memory();
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
	error = choose_attributes(loader);
	if (!error)
		error = take_events(loader);
	if (!error)
		error = finish(loader);
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
	pesa_perfdata_close(loader.reader);
	if (error) {
		pesa_profile_free(loader.profile);
		return pesa_error_prefix(error, "%s: ", path);
	}
	*profile = loader.profile;
	return NULL;
}
