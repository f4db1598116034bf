// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loading a profile: events in time order -> equal records counted -> walks -> store -> arrays.
 * See include/pesa/profile.h and Documentation/walk.md.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/exact_record.h"
#include "decoder/profile_data.h"
#include "decoder/record_table.h"
#include "decoder/unwind.h"
#include "pesa/csr.h"

/* Distinct records that are kept before they are walked, about 100 bytes each. */
#define RECORDS 131072
/* Mappings in layouts that such records may hold, 32 bytes each. */
#define MAPPINGS		1000000
#define EVENTS_BETWEEN_PROGRESS 16384
#define OWN_EVENT		"pesa" /* how the events of our own PMU begin */
#define KERNEL_PID		UINT32_MAX

struct loader {
	struct pesa_profile *profile;
	struct pesa_perfdata *reader;
	const struct pesa_profile_options *options;
	struct pesa_profile_store *store;
	struct pesa_record_table *table;
	bool *chosen; /* which attributes are loaded */
	unsigned int attributes;
	bool raw_is_ours;
	bool out_of_memory;
	uint64_t exact_records;
	uint64_t events;  /* so far */
	uint64_t periods; /* of all samples, cycles */
	uint64_t exact_weight;
	uint64_t mappings;		/* in layouts made since the table was emptied */
	struct pesa_unwinder *unwinder; /* NULL: nobody asked for a call chain */
	bool *told;			/* dsos that a listener was told of beside instructions */
	uint32_t tolds;

	/* The process of the last sample. */
	uint32_t pid;
	const struct pesa_layout *layout; /* NULL: look it up */

	/* The record that is walked. */
	const struct pesa_layout *walked;
	const struct pesa_mapping *mapping; /* of the last address */
};

/* ---- Addresses of the record that is walked ---------------------------------------------------
 */

static const struct pesa_mapping *find_mapping(struct loader *loader, uint64_t address)
{
	const struct pesa_mapping *mapping = loader->mapping;

	if (mapping && address >= mapping->start && address < mapping->end)
		return mapping;
	mapping = pesa_layout_find(loader->walked, address);
	if (!mapping)
		mapping = pesa_layout_find(pesa_spaces_kernel(loader->profile->spaces), address);
	loader->mapping = mapping;
	return mapping;
}

static void locate(struct loader *loader, uint64_t address, uint32_t *dso, uint64_t *place)
{
	const struct pesa_mapping *mapping = find_mapping(loader, address);

	*dso = mapping ? mapping->dso : 0;
	*place = mapping ? pesa_binaries_address(loader->profile->binaries, mapping, address)
			 : address;
}

/* For listeners. */
static struct pesa_place locate_for_listener(void *locator, uint64_t address)
{
	struct loader *loader = locator;
	struct pesa_place place;

	locate(loader, address, &place.dso, &place.address);
	if (place.dso >= loader->tolds) {
		uint32_t count = pesa_spaces_dso_count(loader->profile->spaces);
		bool *grown = realloc(loader->told, count * sizeof(*grown));

		if (!grown) {
			loader->out_of_memory = true;
			return place;
		}
		memset(grown + loader->tolds, 0, (count - loader->tolds) * sizeof(*grown));
		loader->told = grown;
		loader->tolds = count;
	}
	loader->told[place.dso] = true;
	return place;
}

/* struct pesa_text */
static enum pesa_text_status text_at(void *context, uint64_t address, struct pesa_text_insn *insn)
{
	struct loader *loader = context;
	uint32_t dso;
	uint64_t place;
	enum pesa_text_status status;

	if (!find_mapping(loader, address))
		return PESA_TEXT_UNMAPPED;
	locate(loader, address, &dso, &place);
	status = pesa_binaries_instruction(loader->profile->binaries, dso, place, insn);
	if (status == PESA_TEXT_OK && insn->has_target)
		insn->target += address - place;
	return status;
}

/* ---- Adding walked records to the store -------------------------------------------------------
 */

/* All that one walk says of one instruction. */
struct gathered {
	uint32_t instruction;
	struct pesa_part part[PESA_WALK_STEPS_MAX];
	unsigned int parts;
	struct pesa_retirements retired;
};

static void gather_part(struct gathered *gathered, const struct pesa_step *step)
{
	unsigned int i;

	for (i = 0; i < gathered->parts; i++)
		if (gathered->part[i].state == step->state &&
		    gathered->part[i].cause == step->cause)
			break;
	if (i == gathered->parts)
		gathered->part[gathered->parts++] =
			(struct pesa_part){.state = step->state, .cause = step->cause};
	gathered->part[i].weight += step->weight;
}

static void gather_retirement(struct pesa_retirements *retired, const struct pesa_step *step)
{
	bool taken = step->transfer == PESA_STEP_TRANSFER_TAKEN;

	retired->all++;
	retired->transfers_known += step->transfer != PESA_STEP_TRANSFER_UNKNOWN;
	retired->transfers_taken += taken;
	retired->mispredicted[taken] += !!(step->cause & PESA_CAUSE_BRANCH_MISPREDICT);
}

/* Steps by instruction: one that retires twice in a cycle has one, larger share of it. */
static bool gather(struct loader *loader, const struct pesa_walk_result *result,
		   struct gathered *gathered, unsigned int *count)
{
	*count = 0;
	for (unsigned int i = 0; i < result->step_count; i++) {
		const struct pesa_step *step = &result->step[i];
		uint32_t dso, instruction;
		uint64_t place;
		unsigned int j;

		if (step->role == PESA_ROLE_BLAMED)
			continue;
		locate(loader, step->address, &dso, &place);
		instruction = pesa_profile_store_get(loader->store, dso, place);
		if (instruction == UINT32_MAX)
			return false;
		for (j = 0; j < *count; j++)
			if (gathered[j].instruction == instruction)
				break;
		if (j == *count) {
			gathered[j].instruction = instruction;
			gathered[j].parts = 0;
			gathered[j].retired = (struct pesa_retirements){0};
			++*count;
		}
		gather_part(&gathered[j], step);
		if (step->role == PESA_ROLE_RETIRED)
			gather_retirement(&gathered[j].retired, step);
	}
	return true;
}

static bool add_edges(struct loader *loader, const struct pesa_walk_result *result,
		      uint64_t periods)
{
	for (unsigned int i = 0; i < result->transfer_count; i++) {
		uint32_t dso, target_dso, instruction;
		uint64_t place, target;

		locate(loader, result->transfer[i].from, &dso, &place);
		instruction = pesa_profile_store_get(loader->store, dso, place);
		locate(loader, result->transfer[i].to, &target_dso, &target);
		if (instruction == UINT32_MAX ||
		    !pesa_profile_store_edge(loader->store, instruction, target_dso, target,
					     periods))
			return false;
	}
	return true;
}

static const struct pesa_capabilities *capabilities_of(struct loader *loader)
{
	const struct pesa_capabilities *told = pesa_perfdata_capabilities(loader->reader);

	return told ? told : &loader->profile->capabilities;
}

static bool tell_walked(struct loader *loader, const struct pesa_record *record,
			const struct pesa_counted_record *counted,
			const struct pesa_walk_result *result)
{
	const struct pesa_profile_listener *listener = loader->options->listener;
	struct pesa_place place[PESA_WALK_STEPS_MAX];
	const struct pesa_walked_record walked = {
		.record = record,
		.result = result,
		.place = place,
		.capabilities = capabilities_of(loader),
		.samples = counted->times.samples,
		.periods = counted->times.periods,
		.periods_squared = counted->times.periods_squared,
		.group = counted->group,
		.locate = locate_for_listener,
		.locator = loader,
	};

	if (!listener || !listener->walked)
		return true;
	for (unsigned int i = 0; i < result->step_count; i++)
		locate(loader, result->step[i].address, &place[i].dso, &place[i].address);
	return listener->walked(listener->context, &walked);
}

/* For pesa_record_table_empty(). */
static bool walk_record(void *context, const struct pesa_counted_record *counted,
			const struct pesa_branch_entry *branches)
{
	struct loader *loader = context;
	struct pesa_profile_totals *totals = &loader->profile->totals;
	const struct pesa_text text = {text_at, loader};
	struct gathered gathered[PESA_WALK_STEPS_MAX];
	struct pesa_walk_result result;
	unsigned int count;
	const struct pesa_record record = {
		.version = PESA_RECORD_VERSION,
		.xlen = counted->xlen,
		.size = PESA_RECORD_SIZE,
		.flags = counted->flags,
		.pc = counted->pc,
		.details = counted->details,
		.bt = {counted->bt[0], counted->bt[1]},
	};

	loader->walked = counted->layout;
	loader->mapping = NULL;
	pesa_walk(&record, &text, branches, counted->branch_count, &result);
	totals->distinct_records++;
	for (unsigned int i = 0; i < PESA_UNATTRIBUTED_REASONS; i++)
		totals->unattributed[i] += result.unattributed[i] * counted->times.periods;
	if (!tell_walked(loader, &record, counted, &result) ||
	    !gather(loader, &result, gathered, &count))
		return false;
	for (unsigned int i = 0; i < count; i++)
		if (!pesa_profile_store_add(loader->store, gathered[i].instruction, &counted->times,
					    gathered[i].part, gathered[i].parts,
					    &gathered[i].retired))
			return false;
	return add_edges(loader, &result, counted->times.periods);
}

static void walk_all(struct loader *loader)
{
	if (!pesa_record_table_empty(loader->table, walk_record, loader))
		loader->out_of_memory = true;
}

/* ---- Which samples -----------------------------------------------------------------------------
 */

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

/* The name of the event to load, among the attributes known so far; NULL: none. */
static const char *event_to_load(struct loader *loader)
{
	unsigned int count = pesa_perfdata_attribute_count(loader->reader);
	const char *raw = NULL, *plain = NULL;

	if (loader->options->event)
		return loader->options->event;
	for (unsigned int i = 0; i < count; i++) {
		const struct pesa_attribute *attribute = pesa_perfdata_attribute(loader->reader, i);

		if (attribute->name && !strncmp(attribute->name, OWN_EVENT, strlen(OWN_EVENT)))
			return attribute->name;
		if (!raw && loader->raw_is_ours && is_raw(attribute))
			raw = attribute->name;
		if (!plain && !is_dummy(attribute))
			plain = attribute->name;
	}
	return raw ? raw : plain;
}

/* Settle which attributes are loaded; again when a pipe brought more of them. */
static struct pesa_error *choose(struct loader *loader)
{
	unsigned int count = pesa_perfdata_attribute_count(loader->reader);
	const char *arch = pesa_perfdata_arch(loader->reader), *name;
	bool *chosen = calloc(count ? count : 1, sizeof(*chosen));

	if (!chosen)
		return pesa_error_no_memory();
	/* Other architectures have raw payloads too, of other formats. */
	loader->raw_is_ours = !arch || !strncmp(arch, "riscv", 5);
	name = loader->profile->event ? loader->profile->event : event_to_load(loader);
	for (unsigned int i = 0; i < count; i++) {
		const struct pesa_attribute *attribute = pesa_perfdata_attribute(loader->reader, i);

		chosen[i] = name && attribute->name && !strcmp(attribute->name, name);
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

/* Cycles that a sample stands for. */
static uint64_t period_of(const struct loader *loader, const struct pesa_sample *sample)
{
	const struct perf_event_attr *attr;

	if (sample->period)
		return sample->period;
	attr = &pesa_perfdata_attribute(loader->reader, sample->attribute)->attr;
	return !attr->freq && attr->sample_period ? attr->sample_period : 1;
}

/* ---- Events ------------------------------------------------------------------------------------
 */

static const struct pesa_layout *layout_of(struct loader *loader, uint32_t pid)
{
	if (!loader->layout || loader->pid != pid) {
		loader->layout = pesa_spaces_layout(loader->profile->spaces, pid);
		loader->pid = pid;
	}
	return loader->layout;
}

static bool tell_exact(struct loader *loader, const struct pesa_profile_exact *exact)
{
	const struct pesa_profile_listener *listener = loader->options->listener;

	return !listener || !listener->exact || listener->exact(listener->context, exact);
}

static void take_exact(struct loader *loader, const struct pesa_sample *sample)
{
	struct pesa_profile *profile = loader->profile;
	struct pesa_exact_record header;
	struct pesa_profile_exact told = {
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
	locate(loader, header.pc, &told.place.dso, &told.place.address);
	instruction = pesa_profile_store_get(loader->store, told.place.dso, told.place.address);
	if (instruction == UINT32_MAX) {
		loader->out_of_memory = true;
		return;
	}
	for (unsigned int i = 0; i < header.buckets; i++) {
		struct pesa_exact_bucket bucket = exact_record_bucket(sample, i);

		loader->exact_weight += bucket.weight;
		told.weight = bucket.weight;
		told.state = bucket.state;
		told.cause = bucket.cause;
		if (!pesa_profile_store_exact(loader->store, instruction, &bucket) ||
		    !tell_exact(loader, &told))
			loader->out_of_memory = true;
	}
	told.executions = header.executions;
	told.weight = told.state = told.cause = 0;
	if (!tell_exact(loader, &told))
		loader->out_of_memory = true;
	for (unsigned int i = 0; i < header.transfers; i++) {
		struct pesa_exact_transfer transfer = exact_record_transfer(sample, &header, i);
		uint32_t target_dso;
		uint64_t target;

		taken += transfer.count;
		locate(loader, transfer.target, &target_dso, &target);
		if (!pesa_profile_store_edge(loader->store, instruction, target_dso, target,
					     transfer.count))
			loader->out_of_memory = true;
	}
	pesa_profile_store_executions(loader->store, instruction, header.executions);
	pesa_profile_store_taken(loader->store, instruction, header.executions, taken);
}

/* Whether a sample has a raw payload: where there is none, the kernel writes four bytes of zero. */
static bool has_raw(const struct loader *loader, const struct pesa_sample *sample)
{
	if (!loader->raw_is_ours || !sample->raw)
		return false;
	for (uint32_t i = 0; i < sample->raw_size; i++)
		if (i >= sizeof(uint32_t) || sample->raw[i])
			return true;
	return false;
}

/* Read the record of a sample; one that cannot be read leaves an impossible one in its place. */
static void record_of(struct loader *loader, const struct pesa_sample *sample,
		      struct pesa_record *record)
{
	struct pesa_error *error;

	if (!has_raw(loader, sample)) {
		*record = (struct pesa_record){.xlen = 64, .pc = sample->ip};
		return;
	}
	error = pesa_record_read(sample->raw, sample->raw_size, record);
	if (!error)
		return;
	pesa_error_free(error);
	loader->profile->totals.impossible++;
	/* Retiring, with nothing retired. */
	*record = (struct pesa_record){
		.xlen = 64, .pc = sample->ip, .flags = PESA_RECORD_HAS_DETAILS};
}

/* Tell the listener of a sample, and ask it for the group.  Only who asks for groups needs chains.
 */
static bool tell_sample(struct loader *loader, struct pesa_sample sample,
			const struct pesa_record *record, uint64_t period, uint32_t *group)
{
	const struct pesa_profile_listener *listener = loader->options->listener;
	struct pesa_profile_sample told;

	*group = 0;
	if (!listener)
		return true;
	if (loader->unwinder &&
	    !pesa_unwinder_complete(loader->unwinder, layout_of(loader, sample.pid), &sample))
		return false;
	told = (struct pesa_profile_sample){
		.record = record,
		.capabilities = capabilities_of(loader),
		.pid = sample.pid,
		.tid = sample.tid,
		.cpu = sample.cpu,
		.time = sample.time,
		.period = period,
		.callchain = sample.callchain,
		.callchain_count = sample.callchain_count,
	};
	return (!listener->sample || listener->sample(listener->context, &told)) &&
	       (!listener->group || listener->group(listener->context, &told, group));
}

static void take_sample(struct loader *loader, const struct pesa_sample *sample)
{
	struct pesa_profile_totals *totals = &loader->profile->totals;
	uint64_t period, limit = UINT64_MAX / PESA_CYCLE;
	struct pesa_record record;
	const struct pesa_layout *layout;
	uint32_t group;

	if ((loader->options->pid >= 0 && sample->pid != (uint64_t)loader->options->pid) ||
	    (loader->options->tid >= 0 && sample->tid != (uint64_t)loader->options->tid))
		return;
	if (has_raw(loader, sample) && sample->raw[0] == PESA_EXACT_VERSION) {
		take_exact(loader, sample);
		return;
	}
	totals->samples++;
	record_of(loader, sample, &record);
	totals->lost += record.flags >> PESA_RECORD_LOST_SHIFT & PESA_RECORD_LOST_MASK;
	if (!(record.flags & PESA_RECORD_HAS_DETAILS))
		totals->plain_samples++;
	/* A raw record's PC is exact, also where the recorder did not mark it. */
	if (!sample->exact_ip && !has_raw(loader, sample))
		totals->skidding_samples++;
	period = period_of(loader, sample);
	if (period > limit - loader->periods) {
		totals->overflowed++;
		return;
	}
	loader->periods += period;
	totals->period_squared += (double)period * (double)period;
	if (!tell_sample(loader, *sample, &record, period, &group))
		loader->out_of_memory = true;
	layout = layout_of(loader, sample->pid);
	for (;;) {
		enum pesa_counting counting =
			pesa_record_table_count(loader->table, &record, layout, group,
						sample->branches, sample->branch_count, period);

		if (counting == PESA_COUNTING_DONE)
			break;
		if (counting == PESA_COUNTING_FULL)
			walk_all(loader);
		else
			loader->out_of_memory = true;
		if (loader->out_of_memory)
			break;
	}
}

/*
 * Every map may leave a layout behind that records hold, which is as large as all maps of its
 * process. Programs that make code all the time would fill the memory with them.
 */
static void limit_layouts(struct loader *loader, uint32_t pid)
{
	loader->mappings += pesa_spaces_layout(loader->profile->spaces, pid)->count;
	if (loader->mappings <= MAPPINGS)
		return;
	walk_all(loader);
	loader->mappings = 0;
}

static struct pesa_error *take_event(struct loader *loader, const struct pesa_event *event)
{
	const struct pesa_profile_listener *listener = loader->options->listener;
	struct pesa_error *error;

	if (event->type != PERF_RECORD_SAMPLE && listener && listener->event &&
	    !listener->event(listener->context, event))
		return pesa_error_no_memory();
	switch (event->type) {
	case PERF_RECORD_SAMPLE:
		if (event->sample.attribute >= loader->attributes) {
			error = choose(loader);
			if (error)
				return error;
		}
		if (event->sample.attribute < loader->attributes &&
		    loader->chosen[event->sample.attribute])
			take_sample(loader, &event->sample);
		else
			loader->profile->totals.other_events++;
		return NULL;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		return NULL; /* the reader counts them, and none twice */
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		/* Records hold the layout of their process, but the kernel's is everyone's. */
		if (event->mmap.pid == KERNEL_PID ||
		    (event->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
			walk_all(loader);
		break;
	default:
		break;
	}
	loader->layout = NULL;
	error = pesa_spaces_apply(loader->profile->spaces, event);
	if (!error && (event->type == PERF_RECORD_MMAP || event->type == PERF_RECORD_MMAP2))
		limit_layouts(loader, event->mmap.pid);
	return error;
}

static void count_event(struct loader *loader)
{
	uint64_t done, total;

	if (++loader->events % EVENTS_BETWEEN_PROGRESS || !loader->options->progress)
		return;
	pesa_perfdata_progress(loader->reader, &done, &total);
	if (total)
		loader->options->progress(loader->options->progress_context,
					  (double)done / (double)total);
}

/*
 * For pesa_perfdata_offer_raw(): a sample like one before it, which most are, needs no decoding.
 * All others, and whatever is unusual, take the long way.
 */
static bool take_again(void *context, const struct pesa_raw_sample *sample)
{
	struct loader *loader = context;
	struct pesa_profile_totals *totals = &loader->profile->totals;
	uint64_t period = sample->period;
	struct pesa_record head;

	if (!loader->raw_is_ours || sample->attribute >= loader->attributes ||
	    !loader->chosen[sample->attribute] || loader->options->pid >= 0 ||
	    loader->options->tid >= 0 || sample->raw_size < PESA_RECORD_SIZE || !period ||
	    (loader->options->listener &&
	     (loader->options->listener->sample || loader->options->listener->group)) ||
	    period > UINT64_MAX / PESA_CYCLE - loader->periods)
		return false;
	memcpy(&head, sample->raw, offsetof(struct pesa_record, pc));
	if (head.version != PESA_RECORD_VERSION || le16toh(head.size) != PESA_RECORD_SIZE ||
	    !(le32toh(head.flags) & PESA_RECORD_HAS_DETAILS))
		return false;
	if (!pesa_record_table_count_again(loader->table, sample->raw,
					   layout_of(loader, sample->pid), period))
		return false;
	totals->samples++;
	totals->lost += le32toh(head.flags) >> PESA_RECORD_LOST_SHIFT & PESA_RECORD_LOST_MASK;
	loader->periods += period;
	totals->period_squared += (double)period * (double)period;
	count_event(loader);
	return true;
}

static struct pesa_error *take_events(struct loader *loader)
{
	struct pesa_event event;

	pesa_perfdata_offer_raw(loader->reader, take_again, loader);
	while (pesa_perfdata_next(loader->reader, &event) > 0) {
		struct pesa_error *error = take_event(loader, &event);

		if (error)
			return error;
		if (loader->out_of_memory)
			return pesa_error_no_memory();
		count_event(loader);
	}
	walk_all(loader);
	return loader->out_of_memory ? pesa_error_no_memory() : NULL;
}

/* ---- Finishing ---------------------------------------------------------------------------------
 */

static struct pesa_error *no_such_event(const struct loader *loader)
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

static bool copy_counts(struct loader *loader)
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

static bool copy_facts(struct loader *loader)
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

/* Keep the dsos that instructions or edges name. */
static bool renumber_dsos(struct loader *loader, uint32_t **renumber)
{
	struct pesa_profile *profile = loader->profile;
	unsigned int count = pesa_spaces_dso_count(profile->spaces);
	bool *used = calloc(count, sizeof(*used));

	*renumber = calloc(count, sizeof(**renumber));
	profile->dso = calloc(count, sizeof(*profile->dso));
	if (used && *renumber && profile->dso) {
		pesa_profile_store_dsos(loader->store, used);
		for (uint32_t i = 0; i < loader->tolds; i++)
			used[i] |= loader->told[i];
		for (unsigned int i = 0; i < count; i++) {
			if (!used[i])
				continue;
			(*renumber)[i] = profile->dsos;
			profile->dso[profile->dsos++] = i;
			pesa_binaries_image(profile->binaries, i); /* settles the status */
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

static struct pesa_error *finish(struct loader *loader)
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
	/* The reader, which knows build ids, goes away. */
	pesa_binaries_set_reader(profile->binaries, NULL);
	return done ? NULL : pesa_error_no_memory();
}

static struct pesa_error *load(struct loader *loader)
{
	struct pesa_profile *profile = loader->profile;
	struct pesa_error *error = pesa_spaces_create(&profile->spaces);

	if (error)
		return error;
	profile->binaries = pesa_binaries_create(profile->spaces, loader->options->symbol_root);
	loader->store = pesa_profile_store_create();
	loader->table = pesa_record_table_create(RECORDS);
	if (!profile->binaries || !loader->store || !loader->table)
		return pesa_error_no_memory();
	pesa_binaries_set_reader(profile->binaries, loader->reader);
	if (loader->options->listener && loader->options->listener->group) {
		loader->unwinder = pesa_unwinder_create(profile->binaries, profile->spaces,
							pesa_perfdata_arch(loader->reader));
		if (!loader->unwinder)
			return pesa_error_no_memory();
	}
	error = choose(loader);
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
	struct loader loader = {0};
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
	free(loader.told);
	pesa_perfdata_close(loader.reader);
	if (error) {
		pesa_profile_free(loader.profile);
		return pesa_error_prefix(error, "%s: ", path);
	}
	*profile = loader.profile;
	return NULL;
}
