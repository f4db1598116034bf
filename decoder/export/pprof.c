// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Export for pprof: a gzip-compressed message, see decoder/export/pprof.proto.
 *
 * Concatenated protobuf messages of one type are read as one message with concatenated lists.  So
 * each sample, location and so on is written as a profile with no other contents, and no list is
 * ever in memory as a whole.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "decoder/export/write.h"
#include "decoder/profile/data.h"
#include "pesa/version.h"
#include "pprof.pb-c.h"

#define VALUES_MAX (2 + EXPORT_STATES)
/* Process, its id, thread, its id, CPU, state, and causes. */
#define LABELS_MAX (6 + PESA_CAUSE_COUNT)
#define TEXT_MAX   512

/* ---- Compressed output ----------------------------------------------------------------------- */

struct gzip {
	ProtobufCBuffer base; /* first member, as protobuf-c requires */
	z_stream stream;
	FILE *out;
	bool failed;
};

static void deflate_all(struct gzip *gzip, const uint8_t *bytes, size_t size, int flush)
{
	uint8_t packed[16384];

	gzip->stream.next_in = (uint8_t *)bytes;
	gzip->stream.avail_in = (uInt)size;
	do {
		gzip->stream.next_out = packed;
		gzip->stream.avail_out = sizeof(packed);
		if (deflate(&gzip->stream, flush) == Z_STREAM_ERROR)
			gzip->failed = true;
		fwrite(packed, 1, sizeof(packed) - gzip->stream.avail_out, gzip->out);
	} while (!gzip->stream.avail_out);
}

static void append(ProtobufCBuffer *buffer, size_t size, const uint8_t *bytes)
{
	struct gzip *gzip = (struct gzip *)buffer;

	while (size) {
		size_t part = size < UINT32_MAX ? size : UINT32_MAX;

		deflate_all(gzip, bytes, part, Z_NO_FLUSH);
		bytes += part;
		size -= part;
	}
}

static struct pesa_error *gzip_begin(struct gzip *gzip, FILE *out)
{
	*gzip = (struct gzip){.base = {.append = append}, .out = out};
	if (deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16,
			 MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		return pesa_error_no_memory();
	return NULL;
}

static struct pesa_error *gzip_end(struct gzip *gzip)
{
	deflate_all(gzip, NULL, 0, Z_FINISH);
	deflateEnd(&gzip->stream);
	return gzip->failed ? pesa_error_no_memory() : NULL;
}

/* ---- Strings --------------------------------------------------------------------------------- */

/* A writer of the parts of a profile.  It notes a failure and goes on; export_pprof() asks for it. */
struct pprof {
	struct export_writing *writing;
	struct gzip gzip;
	struct distinct_bytes *texts; /* the string table */
	uint64_t *mapping_of_dso;     /* id of its first mapping; 0: none */
	struct pesa_error *error;     /* NULL: none */
};

static int64_t string(struct pprof *pprof, const char *text)
{
	uint32_t number = distinct_text_get(pprof->texts, text);

	if (number != DISTINCT_NONE)
		return number;
	pprof->error = pesa_error_no_memory();
	return 0;
}

static int64_t number_string(struct pprof *pprof, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return string(pprof, text);
}

static void put(struct pprof *pprof, const Pprof__Profile *part)
{
	pprof__profile__pack_to_buffer(part, &pprof->gzip.base);
}

/* ---- Value types
 * ------------------------------------------------------------------------------ */

/* States with a value of their own in each sample. */
static unsigned int value_states(const struct export_writing *writing,
				 uint8_t states[EXPORT_STATES])
{
	unsigned int count = 0;
	bool unknown = false;

	for (uint32_t i = 0; i < writing->count; i++)
		unknown |= writing->row[i]->state == PESA_STATE_UNKNOWN;
	for (unsigned int i = 0; i < EXPORT_STATES; i++)
		if (i != PESA_STATE_UNKNOWN || unknown)
			states[count++] = (uint8_t)i;
	return count;
}

/* The type of a plain event is known from its name only, without modifiers (":u"). */
static int64_t plain_type(struct pprof *pprof)
{
	const char *event = pprof->writing->event ? pprof->writing->event : "samples";
	char name[TEXT_MAX];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(event, ":"), event);
	return string(pprof, name);
}

static void put_types(struct pprof *pprof, const uint8_t *states, unsigned int count)
{
	const bool plain = pprof->writing->plain;
	const double period = pesa_profile_totals(pprof->writing->profile)->period;
	Pprof__ValueType type[VALUES_MAX], *types[VALUES_MAX], period_type;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	int64_t cycles = plain ? plain_type(pprof) : string(pprof, "cycles");

	for (unsigned int i = 0; i < VALUES_MAX; i++) {
		pprof__value_type__init(&type[i]);
		types[i] = &type[i];
	}
	type[0].type = cycles;
	type[0].unit =
		string(pprof, pesa_profile_totals(pprof->writing->profile)->is_time ? "nanoseconds"
			      : plain						    ? "count"
										    : "cycles");
	type[1].type = string(pprof, "executions");
	type[1].unit = string(pprof, "count");
	for (unsigned int i = 0; i < count; i++) {
		type[2 + i].type = string(pprof, export_state_name(states[i]));
		type[2 + i].unit = type[0].unit;
	}
	period_type = type[0];
	part.sample_type = types;
	part.n_sample_type = plain ? 1 : 2 + count;
	part.period_type = &period_type;
	part.period = (int64_t)(period + 0.5);
	part.default_sample_type = cycles;
	put(pprof, &part);
}

/* ---- Samples --------------------------------------------------------------------------------- */

struct labels {
	Pprof__Label label[LABELS_MAX], *list[LABELS_MAX];
	size_t count;
};

static void add_label(struct pprof *pprof, struct labels *labels, const char *key, int64_t value)
{
	Pprof__Label *label = &labels->label[labels->count];

	pprof__label__init(label);
	label->key = string(pprof, key);
	label->str = value;
	labels->list[labels->count++] = label;
}

static void add_name(struct pprof *pprof, struct labels *labels, const char *key, uint32_t name)
{
	if (name != DISTINCT_NONE)
		add_label(pprof, labels, key,
			  string(pprof, distinct_text_at(&pprof->writing->rows->texts, name)));
}

static void add_labels(struct pprof *pprof, struct labels *labels, const struct export_row *row)
{
	const struct export_task *task = export_task_of(pprof->writing, row);

	labels->count = 0;
	add_name(pprof, labels, "process", task->process);
	add_label(pprof, labels, "pid", number_string(pprof, task->pid));
	add_name(pprof, labels, "thread", task->thread);
	add_label(pprof, labels, "tid", number_string(pprof, task->tid));
	add_label(pprof, labels, "cpu", number_string(pprof, task->cpu));
	if (pprof->writing->plain)
		return;
	add_label(pprof, labels, "state", string(pprof, export_state_name(row->state)));
	for (unsigned int bit = 0; bit < PESA_CAUSE_COUNT; bit++) {
		char name[2 * PESA_CAPABILITY_NAME_MAX];

		if (!(row->cause & 1u << bit))
			continue;
		export_cause_name(pprof->writing, 1u << bit, name, sizeof(name));
		add_label(pprof, labels, "cause", string(pprof, name));
	}
}

static void put_samples(struct pprof *pprof, const uint8_t *states, unsigned int count)
{
	const struct export_writing *writing = pprof->writing;
	struct export_rounding rounding = {0};
	uint64_t stack[EXPORT_CHAIN_MAX];
	struct labels labels;

	for (uint32_t i = 0; i < writing->count && !pprof->error; i++) {
		const struct export_row *row = writing->row[i];
		Pprof__Profile part = PPROF__PROFILE__INIT;
		Pprof__Sample sample = PPROF__SAMPLE__INIT, *samples = &sample;
		int64_t value[VALUES_MAX] = {0};

		for (uint32_t node = row->node;
		     node != DISTINCT_NONE && sample.n_location_id < EXPORT_CHAIN_MAX;
		     node = export_node_at(writing, node)->caller)
			stack[sample.n_location_id++] = writing->frames.location[node] + 1u;
		sample.location_id = stack;
		value[0] = (int64_t)export_round(&rounding, row->weight);
		value[1] = (int64_t)row->executions;
		for (unsigned int j = 0; j < count; j++)
			value[2 + j] = states[j] == row->state ? value[0] : 0;
		sample.value = value;
		sample.n_value = writing->plain ? 1 : 2 + count;
		add_labels(pprof, &labels, row);
		sample.label = labels.list;
		sample.n_label = labels.count;
		part.sample = &samples;
		part.n_sample = 1;
		put(pprof, &part);
	}
}

/* ---- Binaries -------------------------------------------------------------------------------- */

/* Properties of the locations in a dso. */
struct dso_facts {
	uint64_t low, high; /* addresses; low > high: none */
	bool functions, files, inlines;
};

static struct dso_facts *facts_of_dsos(const struct export_writing *writing)
{
	unsigned int dsos = pesa_profile_dso_count(writing->profile);
	const struct distinct_records *locations = &writing->frames.locations;
	struct dso_facts *facts = malloc((dsos + 1) * sizeof(*facts));

	if (!facts)
		return NULL;
	for (unsigned int i = 0; i < dsos; i++)
		facts[i] = (struct dso_facts){.low = UINT64_MAX};
	for (uint32_t i = 0; i < locations->index.count; i++) {
		const struct export_location *location = distinct_records_at(locations, i);
		struct dso_facts *fact;

		if (location->dso == DISTINCT_NONE)
			continue;
		fact = &facts[location->dso];
		if (location->address < fact->low)
			fact->low = location->address;
		if (location->address > fact->high)
			fact->high = location->address;
		fact->functions |= location->frames > 0;
		fact->files |= location->lines;
		fact->inlines |= location->frames > 1;
	}
	return facts;
}

static int64_t build_id_string(struct pprof *pprof, const struct pesa_dso *dso)
{
	char text[2 * PESA_BUILD_ID_MAX + 1] = "";

	for (unsigned int i = 0; i < dso->build_id_size; i++)
		snprintf(text + i * 2, 3, "%02x", dso->build_id[i]);
	return string(pprof, text);
}

static void put_mapping(struct pprof *pprof, const struct pesa_dso *dso,
			const struct dso_facts *facts, uint64_t id, uint64_t start, uint64_t limit,
			uint64_t offset)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Mapping mapping = PPROF__MAPPING__INIT, *mappings = &mapping;

	mapping.id = id;
	mapping.memory_start = start;
	mapping.memory_limit = limit;
	mapping.file_offset = offset;
	mapping.filename = string(pprof, dso->path);
	mapping.build_id = build_id_string(pprof, dso);
	mapping.has_functions = facts->functions;
	mapping.has_filenames = mapping.has_line_numbers = facts->files;
	mapping.has_inline_frames = facts->inlines;
	part.mapping = &mappings;
	part.n_mapping = 1;
	put(pprof, &part);
}

/*
 * Addresses are those of the ELF file, so a binary's mappings are its executable segments with the
 * file's addresses.  Without a file, addresses are file offsets or run-time addresses.
 */
static void put_mappings_of(struct pprof *pprof, uint32_t number, const struct dso_facts *facts,
			    uint64_t *id)
{
	const struct pesa_profile *profile = pprof->writing->profile;
	const struct pesa_dso *dso = pesa_profile_dso(profile, number);
	const struct pesa_image *image = NULL;
	uint64_t address, offset, size;

	if (facts->low > facts->high || dso->kind == PESA_DSO_UNKNOWN)
		return;
	pprof->mapping_of_dso[number] = *id;
	if (dso->kind == PESA_DSO_FILE || dso->kind == PESA_DSO_VDSO)
		image = pesa_binaries_image(profile->binaries, profile->dso[number]);
	for (unsigned int i = 0; image && pesa_image_segment(image, i, &address, &offset, &size);
	     i++)
		put_mapping(pprof, dso, facts, (*id)++, address, address + size, offset);
	if (pprof->mapping_of_dso[number] == *id)
		put_mapping(pprof, dso, facts, (*id)++, facts->low, facts->high + 1,
			    dso->kind == PESA_DSO_FILE ? facts->low : 0);
}

/* The recorded command's binary, or else the one with most cycles: pprof takes the first mapping as
 * the main one. */
static uint32_t main_dso(const struct export_writing *writing)
{
	const char *command = pesa_profile_cmdline(writing->profile);
	unsigned int dsos = pesa_profile_dso_count(writing->profile);
	size_t count = pesa_profile_instruction_count(writing->profile), at = 0;
	uint64_t most = 0;
	uint32_t main = 0;

	for (uint32_t i = 0; i < dsos; i++) {
		const struct pesa_dso *dso = pesa_profile_dso(writing->profile, i);
		const char *slash = strrchr(dso->path, '/');
		const char *name = slash ? slash + 1 : dso->path;
		uint64_t weight = 1;

		for (; at < count; at++) {
			const struct pesa_instruction *instruction =
				pesa_profile_instruction(writing->profile, at);

			if (instruction->dso != i)
				break;
			weight += instruction->weight;
		}
		if (dso->kind != PESA_DSO_FILE)
			continue;
		if (command && *name && strstr(command, name) && !strstr(name, ".so"))
			weight |= UINT64_C(1) << 63;
		if (weight > most) {
			most = weight;
			main = i;
		}
	}
	return main;
}

static struct pesa_error *put_mappings(struct pprof *pprof)
{
	unsigned int dsos = pesa_profile_dso_count(pprof->writing->profile);
	struct dso_facts *facts = facts_of_dsos(pprof->writing);
	uint64_t id = 1;
	uint32_t main;

	pprof->mapping_of_dso = calloc(dsos + 1, sizeof(*pprof->mapping_of_dso));
	if (facts && pprof->mapping_of_dso && dsos) {
		main = main_dso(pprof->writing);
		put_mappings_of(pprof, main, &facts[main], &id);
		for (uint32_t i = 0; i < dsos; i++)
			if (i != main)
				put_mappings_of(pprof, i, &facts[i], &id);
	}
	free(facts);
	return facts && pprof->mapping_of_dso ? NULL : pesa_error_no_memory();
}

/* The mapping of a location, by its segment. */
static uint64_t mapping_of(const struct pprof *pprof, const struct export_location *location)
{
	const struct pesa_profile *profile = pprof->writing->profile;
	const struct pesa_dso *dso;
	const struct pesa_image *image = NULL;
	uint64_t address, offset, size, id;

	if (location->dso == DISTINCT_NONE)
		return 0;
	id = pprof->mapping_of_dso[location->dso];
	dso = pesa_profile_dso(profile, location->dso);
	if (dso->kind == PESA_DSO_FILE || dso->kind == PESA_DSO_VDSO)
		image = pesa_binaries_image(profile->binaries, profile->dso[location->dso]);
	for (unsigned int i = 0; image && pesa_image_segment(image, i, &address, &offset, &size);
	     i++)
		if (location->address >= address && location->address - address < size)
			return id + i;
	return id;
}

/* ---- Places ---------------------------------------------------------------------------------- */

static void put_functions(struct pprof *pprof)
{
	const struct distinct_records *functions = &pprof->writing->frames.functions;

	for (uint32_t i = 0; i < functions->index.count; i++) {
		const struct export_function *from = distinct_records_at(functions, i);
		Pprof__Profile part = PPROF__PROFILE__INIT;
		Pprof__Function function = PPROF__FUNCTION__INIT, *list = &function;

		function.id = i + 1u;
		function.name = from->name;
		function.system_name = from->linkage_name;
		function.filename = from->file;
		function.start_line = from->line;
		part.function = &list;
		part.n_function = 1;
		put(pprof, &part);
	}
}

/* Write the function that represents a reason for unattributed cycles. */
static void put_reason(struct pprof *pprof, uint64_t id, const char *name)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Function function = PPROF__FUNCTION__INIT, *list = &function;

	function.id = id;
	function.name = function.system_name = string(pprof, name);
	part.function = &list;
	part.n_function = 1;
	put(pprof, &part);
}

static void put_location(struct pprof *pprof, uint32_t number, Pprof__Line *line,
			 Pprof__Line **lines)
{
	const struct export_frames *frames = &pprof->writing->frames;
	const struct export_location *from = export_location_at(frames, number);
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Location location = PPROF__LOCATION__INIT, *list = &location;

	location.id = number + 1u;
	location.mapping_id = mapping_of(pprof, from);
	location.line = lines;
	location.n_line = from->frames;
	for (uint32_t i = 0; i < from->frames; i++) {
		const struct export_frame *frame =
			export_frame_at(frames, frames->list[from->first + i]);

		pprof__line__init(&line[i]);
		line[i].function_id = frame->function + 1u;
		line[i].line = frame->line;
		lines[i] = &line[i];
	}
	if (!location.mapping_id) {
		char name[TEXT_MAX];
		uint64_t id = frames->functions.index.count + number + 1u;

		export_location_name(frames, from, name, sizeof(name));
		put_reason(pprof, id, name);
		pprof__line__init(&line[0]);
		line[0].function_id = id;
		lines[0] = &line[0];
		location.n_line = 1;
	}
	if (from->dso != DISTINCT_NONE)
		location.address = from->address;
	part.location = &list;
	part.n_location = 1;
	put(pprof, &part);
}

static struct pesa_error *put_locations(struct pprof *pprof)
{
	const struct distinct_records *locations = &pprof->writing->frames.locations;
	Pprof__Line *line, **lines;
	uint32_t most = 1;

	for (uint32_t i = 0; i < locations->index.count; i++) {
		const struct export_location *location = distinct_records_at(locations, i);

		if (location->frames > most)
			most = location->frames;
	}
	line = malloc(most * sizeof(*line));
	lines = malloc(most * sizeof(*lines));
	for (uint32_t i = 0; line && lines && i < locations->index.count; i++)
		put_location(pprof, i, line, lines);
	free(line);
	free(lines);
	return line && lines ? NULL : pesa_error_no_memory();
}

/* ---- The export
 * ------------------------------------------------------------------------------- */

static void put_comment(struct pprof *pprof, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void put_comment(struct pprof *pprof, const char *format, ...)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	char *text = NULL;
	va_list arguments;
	int64_t comment;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	if (!text) {
		pprof->error = pesa_error_no_memory();
		return;
	}
	comment = string(pprof, text);
	part.comment = &comment;
	part.n_comment = 1;
	put(pprof, &part);
	free(text);
}

static void put_comments(struct pprof *pprof)
{
	const struct pesa_profile *profile = pprof->writing->profile;
	const struct pesa_capabilities *capabilities = pesa_profile_capabilities(profile);
	const struct pesa_profile_totals *totals = pesa_profile_totals(profile);
	const char *command = pesa_profile_cmdline(profile), *arch = pesa_profile_arch(profile);

	put_comment(pprof, "pesa %s", PESA_VERSION);
	if (command)
		put_comment(pprof, "command: %s", command);
	if (pprof->writing->event)
		put_comment(pprof, "event: %s", pprof->writing->event);
	if (arch)
		put_comment(pprof, "architecture: %s", arch);
	if (capabilities->core[0])
		put_comment(pprof, "core: %s", capabilities->core);
	if (capabilities->model[0])
		put_comment(pprof, "model: %s", capabilities->model);
	if (totals->exact)
		put_comment(pprof, "exact: every cycle counted");
	else
		put_comment(pprof,
			    "samples: %" PRIu64 ", lost: %" PRIu64 ", without details: %" PRIu64,
			    totals->samples, totals->lost, totals->plain_samples);
}

static void put_times(struct pprof *pprof)
{
	const struct pesa_export_options *options = pprof->writing->options;
	const struct pesa_export *rows = pprof->writing->rows;
	Pprof__Profile part = PPROF__PROFILE__INIT;

	part.time_nanos = (int64_t)options->began;
	part.duration_nanos =
		(int64_t)(options->duration ? options->duration : rows->last - rows->first);
	put(pprof, &part);
}

static void put_strings(struct pprof *pprof)
{
	for (uint32_t i = 0; i < pprof->texts->index.count; i++) {
		Pprof__Profile part = PPROF__PROFILE__INIT;
		char *text = (char *)distinct_text_at(pprof->texts, i);

		part.string_table = &text;
		part.n_string_table = 1;
		put(pprof, &part);
	}
}

/* Write all parts; pprof->error may be set too. */
static struct pesa_error *put_profile(struct pprof *pprof)
{
	uint8_t states[EXPORT_STATES];
	unsigned int count = value_states(pprof->writing, states);
	struct pesa_error *error;

	put_types(pprof, states, count);
	put_times(pprof);
	put_comments(pprof);
	error = put_mappings(pprof);
	if (error || pprof->error)
		return error;
	put_samples(pprof, states, count);
	error = put_locations(pprof);
	if (error)
		return error;
	put_functions(pprof);
	put_strings(pprof);
	return NULL;
}

struct pesa_error *export_pprof(struct export_writing *writing)
{
	struct pprof pprof = {.writing = writing, .texts = &writing->frames.texts};
	struct pesa_error *error = gzip_begin(&pprof.gzip, writing->out), *gzip_error;

	if (error)
		return error;
	error = put_profile(&pprof);
	gzip_error = gzip_end(&pprof.gzip);
	free(pprof.mapping_of_dso);
	return error ? error : pprof.error ? pprof.error : gzip_error;
}
