// SPDX-License-Identifier: GPL-2.0-or-later
/* The file with counted records.  See restore.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/fleet/restored.h"
#include "pesa/perfdata.h"
#include "pesa/space.h"

/* Places of 64-bit binaries: where neither programs nor the kernel can be. */
#define USER_FIRST   (UINT64_C(1) << 57)
#define USER_LAST    (UINT64_C(1) << 63)
#define KERNEL_FIRST (UINT64_C(1) << 63)
#define KERNEL_LAST  (UINT64_C(0xff) << 56)
#define FILE_ROOM    (UINT64_C(1) << 40) /* bytes of the largest file */
/* Of 32-bit ones. */
#define USER_FIRST_32	UINT64_C(0x10000)
#define USER_LAST_32	UINT64_C(0x7fff0000)
#define KERNEL_FIRST_32 UINT64_C(0x80000000)
#define KERNEL_LAST_32	UINT64_C(0xfffe0000)

#define PAGE	   UINT64_C(0x10000)
#define AFTER	   4096 /* bytes beyond the last address, which a path may go through */
#define PARENT	   1	/* the process that has the maps */
#define FIRST_PID  1000
#define TIME	   UINT64_C(1000000000) /* ns: of all samples */
#define KERNEL_PID UINT32_MAX
#define UNIT	   1000 /* by which the unit of periods grows */
#define PMU_TYPE   64
#define SAMPLE_TYPE                                                                     \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW)

struct task {
	uint32_t process, thread; /* key: names */
	uint32_t pid, tid;
};

struct output {
	struct restore *restore;
	struct pesa_perfdata_writer *writer;
	struct pesa_perfdata_writer_attribute *attribute;
	unsigned int attributes;
	struct distinct_records tasks;	   /* struct task */
	struct distinct_records processes; /* by name; its number is the place in the list */
	uint64_t lost;
	uint64_t unit, rest; /* cycles that a period counts; those not given to a row yet */
	uint64_t address[2 * RESTORED_CHAIN_MAX];
	struct pesa_branch_entry branch[RESTORED_CHAIN_MAX / 2];
};

static const char *text(const struct output *output, uint32_t number)
{
	return distinct_text_at(&output->restore->texts, number);
}

/* The record of a number that the answers refer to. */
static void *record_of(const struct distinct_records *set, uint64_t number)
{
	return distinct_records_at(set,
				   distinct_records_get((struct distinct_records *)set, &number));
}

/* ---- Places ---------------------------------------------------------------------------------- */

static void use_place(struct output *output, struct fleet_place place)
{
	struct restored_binary *binary;

	if (place.binary == FLEET_NO_BINARY)
		return;
	binary = record_of(&output->restore->binaries, place.binary);
	if (!binary->used || place.offset < binary->lowest)
		binary->lowest = place.offset;
	if (!binary->used || place.offset > binary->highest)
		binary->highest = place.offset;
	binary->used = true;
}

static const uint8_t *chain_of(const struct output *output, uint64_t number, size_t *count)
{
	const struct restored_chain *chain;
	const uint8_t *bytes;

	*count = 0;
	if (!number)
		return NULL;
	chain = record_of(&output->restore->chains, number);
	bytes = distinct_bytes_at(&output->restore->places, chain->place, count);
	*count /= sizeof(struct fleet_place);
	return bytes;
}

static struct fleet_place place_of_chain(const uint8_t *bytes, size_t index)
{
	struct fleet_place place;

	memcpy(&place, bytes + index * sizeof(place), sizeof(place));
	return place;
}

static void use_chain(struct output *output, uint64_t number)
{
	size_t count;
	const uint8_t *bytes = chain_of(output, number, &count);

	for (size_t i = 0; i < count; i++)
		use_place(output, place_of_chain(bytes, i));
}

/* Everything that rows refer to has to be known before it is used. */
static struct pesa_error *check_known(const struct restore *restore)
{
	const struct {
		const struct distinct_records *set;
		const char *what;
	} sets[] = {
		{&restore->records, "record"},
		{&restore->binaries, "binary"},
		{&restore->chains, "call chain"},
		{&restore->events, "event"},
	};

	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
		for (uint32_t j = 0; j < sets[i].set->index.count; j++) {
			const struct restored_number *one = distinct_records_at(sets[i].set, j);

			if (!one->known)
				return pesa_error_create(PESA_ERROR_FORMAT,
							 "the database does not say what the %s "
							 "%" PRIu64 " of its samples is: was its "
							 "table emptied?",
							 sets[i].what, one->number);
		}
	return NULL;
}

/* Whether a kernel can be where it was: what was placed before is elsewhere. */
static bool is_free(const struct restore *restore, uint32_t before, uint64_t start, uint64_t length)
{
	for (uint32_t i = 0; i < before; i++) {
		const struct restored_binary *other = distinct_records_at(&restore->binaries, i);

		if (other->kind == PESA_DSO_KERNEL && other->length &&
		    start < other->start + other->length && other->start < start + length)
			return false;
	}
	return true;
}

/* Put a binary behind those that have a place. */
static struct pesa_error *put_binary(const struct restore *restore, uint32_t index, bool narrow,
				     uint64_t next[2])
{
	struct restored_binary *binary = distinct_records_at(&restore->binaries, index);
	const bool kernel = binary->kind == PESA_DSO_KERNEL;
	const uint64_t last = kernel   ? narrow ? KERNEL_LAST_32 : KERNEL_LAST
			      : narrow ? USER_LAST_32
				       : USER_LAST;
	uint64_t *place = &next[kernel];

	if (binary->kind == PESA_DSO_FILE || binary->kind == PESA_DSO_VDSO || kernel)
		binary->lowest = 0;
	binary->lowest &= ~(PAGE - 1);
	if (binary->highest - binary->lowest > UINT64_MAX / 4)
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "the database has an offset 0x%" PRIx64 " in a binary",
					 binary->highest);
	binary->length = (binary->highest - binary->lowest + AFTER + 2 * PAGE) & ~(PAGE - 1);
	/* A path may lead further on in the file. */
	if (!narrow && !kernel && binary->length < FILE_ROOM / 2)
		binary->length = FILE_ROOM / 2;
	if (kernel && binary->base >= (narrow ? KERNEL_FIRST_32 : KERNEL_FIRST) &&
	    binary->length <= UINT64_MAX - binary->base &&
	    is_free(restore, index, binary->base, binary->length)) {
		binary->start = binary->base;
		return NULL;
	}
	if (binary->length + PAGE > last - *place)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "more code than one address space holds: choose less "
					 "with service=, host= or a shorter time");
	binary->start = *place;
	*place += binary->length + PAGE;
	return NULL;
}

static struct pesa_error *put_binaries(struct output *output)
{
	struct restore *restore = output->restore;
	bool narrow = false;
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < restore->rows; i++) {
		const struct fleet_key *key = &restore->row[i].key;

		narrow |= key->xlen == 32;
		use_place(output, key->pc);
		use_place(output, key->target[0]);
		use_place(output, key->target[1]);
		use_chain(output, key->chain);
		use_chain(output, key->branches);
	}
	uint64_t next[2] = {narrow ? USER_FIRST_32 : USER_FIRST,
			    narrow ? KERNEL_FIRST_32 : KERNEL_FIRST};

	for (uint32_t i = 0; i < restore->binaries.index.count && !error; i++)
		error = put_binary(restore, i, narrow, next);
	return error;
}

static uint64_t address_of(const struct output *output, struct fleet_place place)
{
	const struct restored_binary *binary;

	if (place.binary == FLEET_NO_BINARY)
		return place.offset;
	binary = record_of(&output->restore->binaries, place.binary);
	return binary->start + (place.offset - binary->lowest);
}

/* ---- Header ---------------------------------------------------------------------------------- */

static struct pesa_error *make_attributes(struct output *output)
{
	const struct restore *restore = output->restore;
	bool chains = false, branches = false;

	for (size_t i = 0; i < restore->rows; i++) {
		chains |= restore->row[i].key.chain != 0;
		branches |= restore->row[i].key.branches != 0;
	}
	output->attributes = restore->events.index.count;
	output->attribute = calloc(output->attributes + 1, sizeof(*output->attribute));
	if (!output->attribute)
		return pesa_error_no_memory();
	for (unsigned int i = 0; i < output->attributes; i++) {
		struct restored_event *event = distinct_records_at(&restore->events, i);

		event->attribute = i;
		output->attribute[i] = (struct pesa_perfdata_writer_attribute){
			.attr = {.type = event->event.type,
				 .size = PERF_ATTR_SIZE_VER7,
				 .config = event->event.config,
				 .sample_period = event->event.period,
				 .sample_type = SAMPLE_TYPE | (chains ? PERF_SAMPLE_CALLCHAIN : 0) |
						(branches ? PERF_SAMPLE_BRANCH_STACK : 0),
				 .freq = event->event.is_frequency,
				 .precise_ip = event->event.precise & 3,
				 .sample_id_all = 1},
			.name = text(output, event->event.name),
		};
	}
	return NULL;
}

/* Lines "NAME=VALUE". */
static struct pesa_error *read_capabilities(const char *lines,
					    struct pesa_capabilities *capabilities)
{
	char line[2 * PESA_CAPABILITY_NAME_MAX * (PESA_CAUSE_COUNT + 1)], *equals;

	pesa_capabilities_default(capabilities);
	while (*lines) {
		size_t length = strcspn(lines, "\n");
		struct pesa_error *error;

		if (length >= sizeof(line))
			return pesa_error_create(PESA_ERROR_FORMAT,
						 "the database has a capability of %zu bytes",
						 length);
		memcpy(line, lines, length);
		line[length] = '\0';
		equals = strchr(line, '=');
		if (equals) {
			*equals = '\0';
			error = pesa_capabilities_set(capabilities, line, equals + 1);
			if (error)
				return error;
		}
		lines += length + (lines[length] == '\n');
	}
	return NULL;
}

/* The cycles of a fleet may be more than a profile can have: periods then count thousands of them. */
static void choose_unit(struct output *output)
{
	unsigned __int128 cycles = 0;

	for (size_t i = 0; i < output->restore->rows; i++)
		cycles += output->restore->row[i].periods;
	output->unit = 1;
	while (cycles / output->unit > UINT64_MAX / PESA_CYCLE)
		output->unit *= UNIT;
}

static struct pesa_error *create(struct output *output, const char *title, const char *path)
{
	const struct restored_recordings *recordings = &output->restore->recordings;
	char damaged_records[24], damaged_bytes[24];
	const struct pesa_fact facts[] = {
		{"counted", "1"},
		{"hostname", text(output, recordings->host)},
		{"damaged_records", damaged_records},
		{"damaged_bytes", damaged_bytes},
	};
	const bool damaged = recordings->damaged_records || recordings->damaged_bytes;
	const struct pesa_recording recording = {facts, damaged ? 4 : 2};
	const struct pesa_perfdata_machine machine = {text(output, recordings->host), NULL};
	char *command[] = {NULL, NULL};
	const char *capabilities_text = text(output, recordings->capabilities);
	struct pesa_capabilities capabilities;
	struct pesa_perfdata_writer_options options = {
		.attributes = output->attribute,
		.attribute_count = output->attributes,
		.arch = text(output, recordings->arch),
		.cpu_description = text(output, recordings->cpu),
		.cpu_id = text(output, recordings->cpu_id),
		.command = command,
		.capabilities = *capabilities_text ? &capabilities : NULL,
		.cpus = 1,
		.machine = &machine,
		.recordings = &recording,
		.recording_count = 1,
		.reproducible = true,
	};
	struct pesa_error *error = read_capabilities(capabilities_text, &capabilities);

	if (asprintf(command,
		     output->unit > 1 ? "%s; each cycle below is %" PRIu64 " cycles" : "%s", title,
		     output->unit) < 0)
		*command = NULL;
	snprintf(damaged_records, sizeof(damaged_records), "%" PRIu64, recordings->damaged_records);
	snprintf(damaged_bytes, sizeof(damaged_bytes), "%" PRIu64, recordings->damaged_bytes);
	if (!error && !*command)
		error = pesa_error_no_memory();
	if (!*options.cpu_description)
		options.cpu_description = NULL;
	if (!*options.cpu_id)
		options.cpu_id = NULL;
	if (!error)
		error = pesa_perfdata_writer_create(path, &options, &output->writer);
	free(*command);
	return error;
}

/* ---- Side band ------------------------------------------------------------------------------- */

static struct pesa_error *write_maps(struct output *output)
{
	struct pesa_error *error = NULL;

	for (uint32_t i = 0; i < output->restore->binaries.index.count && !error; i++) {
		const struct restored_binary *binary =
			distinct_records_at(&output->restore->binaries, i);
		const bool kernel = binary->kind == PESA_DSO_KERNEL;
		struct pesa_mmap mmap = {
			.pid = kernel ? KERNEL_PID : PARENT,
			.tid = kernel ? 0 : PARENT,
			.address = binary->start,
			.length = binary->length,
			.offset = kernel ? binary->start : binary->lowest,
			.protection = 5, /* PROT_READ | PROT_EXEC */
			.flags = 2,	 /* MAP_PRIVATE */
			.build_id_size = binary->build_id_size,
			.path = text(output, binary->path),
		};

		memcpy(mmap.build_id, binary->build_id, binary->build_id_size);
		error = pesa_perfdata_write_mmap(output->writer, &mmap, 0);
	}
	return error;
}

static struct pesa_error *add_task(struct output *output, const struct fleet_key *key)
{
	const uint32_t names[2] = {key->process, key->thread};
	const uint32_t before = output->tasks.index.count;
	uint32_t index = distinct_records_get(&output->tasks, names);
	uint32_t process = distinct_records_get(&output->processes, &key->process);
	struct task *task;
	struct pesa_error *error;

	if (index == DISTINCT_NONE || process == DISTINCT_NONE)
		return pesa_error_no_memory();
	if (index < before)
		return NULL;
	task = distinct_records_at(&output->tasks, index);
	task->pid = task->tid = FIRST_PID + process;
	if (key->thread != key->process)
		task->tid = INT32_MAX - index;
	error = pesa_perfdata_write_fork(output->writer, task->pid, PARENT, task->pid, PARENT, 0);
	if (!error && key->thread != key->process)
		error = pesa_perfdata_write_fork(output->writer, task->pid, task->pid, task->tid,
						 task->pid, 0);
	if (!error)
		error = pesa_perfdata_write_comm(output->writer, task->pid, task->pid,
						 text(output, key->process), false, 0);
	if (!error)
		error = pesa_perfdata_write_comm(output->writer, task->pid, task->tid,
						 text(output, key->thread), false, 0);
	return error;
}

static struct pesa_error *write_side_band(struct output *output)
{
	struct restore *restore = output->restore;
	struct pesa_error *error =
		pesa_perfdata_write_comm(output->writer, PARENT, PARENT, "store", false, 0);

	if (!error)
		error = write_maps(output);
	for (size_t i = 0; i < restore->rows && !error; i++)
		error = add_task(output, &restore->row[i].key);
	for (size_t i = 0; i < restore->counts && !error; i++)
		error = pesa_perfdata_write_count(output->writer,
						  text(output, restore->count[i].name),
						  restore->count[i].value);
	return error;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static void make_chain(struct output *output, uint64_t number, struct pesa_sample *sample)
{
	size_t count;
	const uint8_t *bytes = chain_of(output, number, &count);

	for (size_t i = 0; i < count; i++)
		output->address[i] = address_of(output, place_of_chain(bytes, i));
	sample->callchain = (const uint8_t *)output->address;
	sample->callchain_count = count;
}

static void make_branches(struct output *output, uint64_t number, struct pesa_sample *sample)
{
	size_t count;
	const uint8_t *bytes = chain_of(output, number, &count);

	for (size_t i = 0; i < count / 2; i++)
		output->branch[i] = (struct pesa_branch_entry){
			.from = address_of(output, place_of_chain(bytes, 2 * i)),
			.to = address_of(output, place_of_chain(bytes, 2 * i + 1)),
		};
	sample->branches = (const uint8_t *)output->branch;
	sample->branch_count = count / 2;
}

static struct pesa_error *write_sample(struct output *output, const struct fleet_row *row)
{
	const struct fleet_key *key = &row->key;
	const struct restored_event *event = record_of(&output->restore->events, key->event);
	const uint32_t names[2] = {key->process, key->thread};
	const struct task *task =
		distinct_records_at(&output->tasks, distinct_records_get(&output->tasks, names));
	struct {
		struct pesa_counted_sample counted;
		struct pesa_record record;
	} payload = {
		.counted = {.version = PESA_COUNTED_VERSION,
			    .kind = key->kind & ~FLEET_EXACT_PC,
			    .size = sizeof(payload),
			    .samples = row->samples},
		.record = {.version = PESA_RECORD_VERSION,
			   .xlen = key->xlen,
			   .size = PESA_RECORD_SIZE,
			   .flags = key->flags,
			   .pc = address_of(output, key->pc),
			   .details = key->details},
	};
	struct pesa_sample sample = {
		.ip = payload.record.pc,
		.time = TIME,
		.pid = task->pid,
		.tid = task->tid,
		.attribute = event->attribute,
		.raw = (const uint8_t *)&payload,
		.raw_size = sizeof(payload),
	};
	double squares;
	uint16_t misc = payload.record.pc >> (key->xlen - 1) ? PERF_RECORD_MISC_KERNEL
							     : PERF_RECORD_MISC_USER;

	output->rest += row->periods % output->unit;
	payload.counted.periods = row->periods / output->unit + output->rest / output->unit;
	output->rest %= output->unit;
	sample.period = payload.counted.periods;
	squares = row->periods_squared / ((double)output->unit * (double)output->unit);
	memcpy(&payload.counted.periods_squared, &squares, sizeof(squares));
	if (key->flags & PESA_RECORD_HAS_BT1)
		payload.record.bt[0] = address_of(output, key->target[0]);
	if (key->flags & PESA_RECORD_HAS_BT2)
		payload.record.bt[1] = address_of(output, key->target[1]);
	if (key->kind & FLEET_EXACT_PC)
		misc |= PERF_RECORD_MISC_EXACT_IP;
	make_chain(output, key->chain, &sample);
	make_branches(output, key->branches, &sample);
	output->lost += row->lost;
	return pesa_perfdata_write_sample(output->writer, &sample, misc);
}

static struct pesa_error *write_samples(struct output *output)
{
	const struct restore *restore = output->restore;
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < restore->rows && !error; i++)
		error = write_sample(output, &restore->row[i]);
	if (!error && output->lost + restore->recordings.lost)
		error = pesa_perfdata_write_lost(output->writer, 0,
						 output->lost + restore->recordings.lost, TIME);
	return error;
}

/* The server sums in any order: the same rows give the same file. */
static int by_key(const void *left, const void *right)
{
	return memcmp(left, right, sizeof(struct fleet_key));
}

struct pesa_error *restore_write(struct restore *restore, const char *title, const char *path)
{
	struct output *output = calloc(1, sizeof(*output));
	struct pesa_error *error;

	if (!output)
		return pesa_error_no_memory();
	output->restore = restore;
	distinct_records_begin(&output->tasks, sizeof(struct task), 2 * sizeof(uint32_t));
	distinct_records_begin(&output->processes, sizeof(uint32_t), sizeof(uint32_t));
	error = check_known(restore);
	for (size_t i = 0; i < restore->rows && !error; i++) {
		const struct restored_record *record =
			record_of(&restore->records, restore->record[i]);

		restore->row[i].key = record->key;
	}
	qsort(restore->row, restore->rows, sizeof(*restore->row), by_key);
	if (!error)
		error = put_binaries(output);
	if (!error)
		error = make_attributes(output);
	choose_unit(output);
	if (!error)
		error = create(output, title, path);
	if (!error)
		error = write_side_band(output);
	if (!error)
		error = write_samples(output);
	if (!error) {
		error = pesa_perfdata_writer_finish(output->writer);
		output->writer = NULL;
	}
	if (output->writer)
		pesa_perfdata_writer_abandon(output->writer);
	free(output->attribute);
	distinct_records_free(&output->tasks);
	distinct_records_free(&output->processes);
	free(output);
	return error;
}
