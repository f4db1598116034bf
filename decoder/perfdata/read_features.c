// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/base/number.h"
#include "decoder/perfdata/reader.h"

/* A larger section is damage: the largest known ones have some hundred kilobytes. */
#define SECTION_MAX (64u << 20)

/* A cursor.  It notes failures; perfdata_feature_parse() asks for them. */
struct contents {
	const uint8_t *at, *end;
	bool swap;
	bool failed; /* damage, or no memory: nothing more is parsed */
	bool no_memory;
};

static void lack_memory(struct contents *contents)
{
	contents->failed = contents->no_memory = true;
}

/* Note an error if it is a lack of memory, and free it. */
static void note_error(struct contents *contents, struct pesa_error *error)
{
	if (error && error->code == PESA_ERROR_NO_MEMORY)
		lack_memory(contents);
	pesa_error_free(error);
}

static uint32_t take_u32(struct contents *contents)
{
	uint32_t value;

	if ((size_t)(contents->end - contents->at) < sizeof(value)) {
		contents->failed = true;
		return 0;
	}
	value = perfdata_u32(contents->at, contents->swap);
	contents->at += sizeof(value);
	return value;
}

static const uint8_t *take_bytes(struct contents *contents, uint64_t count, size_t size)
{
	const uint8_t *bytes = contents->at;

	if (count > (size_t)(contents->end - contents->at) / size) {
		contents->failed = true;
		return NULL;
	}
	contents->at += count * size;
	return bytes;
}

/* A string: its padded length, its text.  *length is the length of the text. */
static const char *take_string(struct contents *contents, size_t *length)
{
	uint32_t size = take_u32(contents);
	const char *text = (const char *)take_bytes(contents, size, 1);

	*length = text ? strnlen(text, size) : 0;
	return contents->failed ? NULL : text;
}

typedef void parse_function(struct pesa_perfdata *reader, struct contents *contents);

static void parse_text(struct contents *contents, char **text)
{
	size_t length;
	const char *string = take_string(contents, &length);
	char *copy = string ? strndup(string, length) : NULL;

	if (string && !copy)
		lack_memory(contents);
	if (!copy)
		return;
	free(*text);
	*text = copy;
}

static void parse_arch(struct pesa_perfdata *reader, struct contents *contents)
{
	parse_text(contents, &reader->arch);
}

static void parse_hostname(struct pesa_perfdata *reader, struct contents *contents)
{
	parse_text(contents, &reader->hostname);
}

static void parse_os_release(struct pesa_perfdata *reader, struct contents *contents)
{
	parse_text(contents, &reader->os_release);
}

static void parse_cpu_description(struct pesa_perfdata *reader, struct contents *contents)
{
	parse_text(contents, &reader->cpu_description);
}

/* Number of available CPUs; the number of online ones follows it in the section. */
static void parse_cpus(struct pesa_perfdata *reader, struct contents *contents)
{
	uint32_t cpus = take_u32(contents);

	if (cpus > PERFDATA_CPUS_MAX)
		contents->failed = true;
	if (!contents->failed)
		reader->cpus = cpus;
}

static void parse_cpuid(struct pesa_perfdata *reader, struct contents *contents)
{
	parse_text(contents, &reader->cpu_id);
}

static void parse_cmdline(struct pesa_perfdata *reader, struct contents *contents)
{
	uint32_t words = take_u32(contents);
	size_t room = contents->end - contents->at + 1, used = 0;
	char *line = malloc(room);

	if (!line) {
		lack_memory(contents);
		return;
	}
	for (uint32_t i = 0; i < words && !contents->failed; i++) {
		size_t length;
		const char *word = take_string(contents, &length);

		if (!word)
			break;
		/* each string has a length field of four bytes: there is room for the space */
		if (used)
			line[used++] = ' ';
		memcpy(line + used, word, length);
		used += length;
	}
	line[used] = '\0';
	free(reader->cmdline);
	reader->cmdline = line;
}

static void parse_event_desc(struct pesa_perfdata *reader, struct contents *contents)
{
	uint32_t count = take_u32(contents), attr_size = take_u32(contents);

	for (uint32_t i = 0; i < count && !contents->failed; i++) {
		const uint8_t *attr = take_bytes(contents, attr_size, 1);
		uint32_t ids = take_u32(contents), attribute = i;
		size_t length;
		const char *name = take_string(contents, &length);
		const uint8_t *id = take_bytes(contents, ids, sizeof(uint64_t));

		if (!attr || !name || !id)
			return;
		if (ids)
			perfdata_attribute_find(reader, perfdata_u64(id, contents->swap),
						&attribute);
		if (attribute < reader->attribute_count && length)
			note_error(contents,
				   perfdata_attribute_rename(reader, attribute, name, length));
	}
}

/* One PMU's capabilities: names and values. */
static bool parse_caps(struct contents *contents, struct pesa_capabilities *capabilities)
{
	uint32_t count = take_u32(contents);
	bool ours = false;

	pesa_capabilities_default(capabilities);
	for (uint32_t i = 0; i < count && !contents->failed; i++) {
		char name[PESA_CAPABILITY_NAME_MAX], value[1024];
		size_t name_length, value_length;
		const char *name_text = take_string(contents, &name_length);
		const char *value_text = take_string(contents, &value_length);

		if (!name_text || !value_text || name_length >= sizeof(name) ||
		    value_length >= sizeof(value))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)name_length, name_text);
		snprintf(value, sizeof(value), "%.*s", (int)value_length, value_text);
		/* a capability that cannot be set keeps its default, like a missing one */
		note_error(contents, pesa_capabilities_set(capabilities, name, value));
		ours |= !strcmp(name, "ct_targets");
	}
	return ours && !contents->failed;
}

static void free_counts(struct pesa_perfdata *reader)
{
	for (size_t i = 0; i < reader->count_count; i++)
		free((char *)reader->counts[i].event);
	free(reader->counts);
	reader->counts = NULL;
	reader->count_count = 0;
}

/* PMU capabilities that hold counts; values that are not numbers are skipped. */
static void parse_counts(struct pesa_perfdata *reader, struct contents *contents)
{
	uint32_t count = take_u32(contents);

	free_counts(reader);
	for (uint32_t i = 0; i < count && !contents->failed; i++) {
		size_t name_length, value_length;
		const char *name = take_string(contents, &name_length);
		const char *text = take_string(contents, &value_length);
		struct pesa_count *grown, read;
		char value[24];

		if (!name || !text || !value_length || value_length >= sizeof(value))
			continue;
		snprintf(value, sizeof(value), "%.*s", (int)value_length, text);
		if (!number_read(value, 10, 0, UINT64_MAX, &read.value))
			continue;
		grown = realloc(reader->counts, (reader->count_count + 1) * sizeof(*grown));
		if (grown)
			reader->counts = grown;
		read.event = grown ? strndup(name, name_length) : NULL;
		if (!read.event) {
			lack_memory(contents);
			return;
		}
		grown[reader->count_count++] = read;
	}
}

void perfdata_recordings_free(struct pesa_recording *recordings, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < recordings[i].facts; j++) {
			free((char *)recordings[i].fact[j].name);
			free((char *)recordings[i].fact[j].value);
		}
		free((struct pesa_fact *)recordings[i].fact);
	}
	free(recordings);
}

static void recordings_free(struct pesa_perfdata *reader)
{
	perfdata_recordings_free(reader->recordings, reader->recording_count);
	reader->recordings = NULL;
	reader->recording_count = 0;
}

/* PMU capabilities that hold the facts of a recording in a merged file. */
static void parse_recording(struct pesa_perfdata *reader, struct contents *contents)
{
	struct pesa_recording *recording, *grown = reader->recordings;
	uint32_t count = take_u32(contents);

	/* grown in steps of a power of two */
	if (!(reader->recording_count & (reader->recording_count - 1)))
		grown = realloc(grown, (reader->recording_count ? 2 * reader->recording_count : 1) *
					       sizeof(*grown));
	if (!grown) {
		lack_memory(contents);
		return;
	}
	reader->recordings = grown;
	recording = &grown[reader->recording_count++];
	*recording = (struct pesa_recording){0};
	for (uint32_t i = 0; i < count && !contents->failed; i++) {
		size_t name_length, value_length;
		const char *name = take_string(contents, &name_length);
		const char *value = take_string(contents, &value_length);
		struct pesa_fact *facts, *fact;

		if (!name || !value)
			break;
		facts = (struct pesa_fact *)recording->fact;
		if (!(recording->facts & (recording->facts - 1)))
			facts = realloc(facts, (recording->facts ? 2 * recording->facts : 1) *
						       sizeof(*facts));
		if (!facts) {
			lack_memory(contents);
			return;
		}
		recording->fact = facts;
		fact = &facts[recording->facts++];
		fact->name = strndup(name, name_length);
		fact->value = strndup(value, value_length);
		if (!fact->name || !fact->value)
			lack_memory(contents);
	}
}

static bool is_text(const char *name, size_t length, const char *text)
{
	return name && length == strlen(text) && !memcmp(name, text, length);
}

static void parse_pmu_caps(struct pesa_perfdata *reader, struct contents *contents)
{
	uint32_t pmus = take_u32(contents);

	recordings_free(reader);
	for (uint32_t i = 0; i < pmus && !contents->failed; i++) {
		struct contents again = *contents;
		struct pesa_capabilities capabilities;
		bool ours = parse_caps(contents, &capabilities);
		size_t length;
		/* pesa's own PMU is recognised by its capabilities */
		const char *name = take_string(contents, &length);

		if (is_text(name, length, PERFDATA_COUNTS_PMU))
			parse_counts(reader, &again);
		else if (is_text(name, length, PERFDATA_RECORDING_PMU))
			parse_recording(reader, &again);
		if (again.no_memory)
			lack_memory(contents);
		if (!ours || contents->failed)
			continue;
		reader->capabilities = capabilities;
		reader->has_capabilities = true;
	}
}

void perfdata_recordings_damage(struct pesa_perfdata *reader)
{
	uint64_t records = 0, bytes = 0;

	for (size_t i = 0; i < reader->recording_count; i++) {
		const struct pesa_recording *recording = &reader->recordings[i];
		const char *damaged = pesa_recording_fact(recording, "damaged_records");
		const char *unread = pesa_recording_fact(recording, "damaged_bytes");

		records += damaged ? strtoull(damaged, NULL, 10) : 0;
		bytes += unread ? strtoull(unread, NULL, 10) : 0;
	}
	if (!records && !bytes)
		return;
	perfdata_damage(
		reader, records, bytes, 0,
		pesa_recording_fact(&reader->recordings[0], "counted")
			? "recordings that were damaged when they were stored"
			: "merged of recordings that were damaged: see 'pesa merge --list'");
}

static void parse_cpu_pmu_caps(struct pesa_perfdata *reader, struct contents *contents)
{
	struct pesa_capabilities capabilities;

	if (!parse_caps(contents, &capabilities) || reader->has_capabilities)
		return;
	reader->capabilities = capabilities;
	reader->has_capabilities = true;
}

static void parse_build_ids(struct pesa_perfdata *reader, struct contents *contents)
{
	while (contents->end - contents->at >= (ptrdiff_t)sizeof(struct perfdata_record)) {
		uint16_t size = perfdata_u16(contents->at + 6, contents->swap);
		const char *problem = NULL;

		if (size > contents->end - contents->at) {
			contents->failed = true;
			return;
		}
		note_error(contents, perfdata_build_id_parse(reader, contents->at, size, &problem));
		contents->failed |= problem != NULL;
		if (contents->failed)
			return;
		contents->at += size;
	}
}

struct pesa_error *perfdata_build_id_parse(struct pesa_perfdata *reader, const uint8_t *record,
					   size_t size, const char **problem)
{
	const size_t path_offset =
		sizeof(struct perfdata_record) + sizeof(uint32_t) + PERFDATA_BUILD_ID_BYTES;
	const uint8_t *field = record + sizeof(struct perfdata_record) + sizeof(uint32_t);
	struct perfdata_read_build_id *build_id;
	void *grown;

	*problem = size <= path_offset ? "a build id that is shorter than its fields" : NULL;
	if (*problem)
		return NULL;
	/* grown in steps of a power of two */
	if (!(reader->build_id_count & (reader->build_id_count - 1))) {
		size_t capacity = reader->build_id_count ? reader->build_id_count * 2 : 1;

		grown = realloc(reader->build_ids, capacity * sizeof(*reader->build_ids));
		if (!grown)
			return pesa_error_no_memory();
		reader->build_ids = grown;
	}
	build_id = &reader->build_ids[reader->build_id_count];
	build_id->size = PESA_BUILD_ID_MAX;
	if (perfdata_u16(record + 4, reader->swap) & PERFDATA_BUILD_ID_HAS_SIZE &&
	    field[PESA_BUILD_ID_MAX] <= PESA_BUILD_ID_MAX)
		build_id->size = field[PESA_BUILD_ID_MAX];
	memcpy(build_id->bytes, field, PESA_BUILD_ID_MAX);
	build_id->path = strndup((const char *)record + path_offset, size - path_offset);
	if (!build_id->path)
		return pesa_error_no_memory();
	reader->build_id_count++;
	return NULL;
}

static parse_function *const parsers[] = {
	[PERFDATA_FEATURE_BUILD_ID] = parse_build_ids,
	[PERFDATA_FEATURE_HOSTNAME] = parse_hostname,
	[PERFDATA_FEATURE_OSRELEASE] = parse_os_release,
	[PERFDATA_FEATURE_NRCPUS] = parse_cpus,
	[PERFDATA_FEATURE_CPUDESC] = parse_cpu_description,
	[PERFDATA_FEATURE_ARCH] = parse_arch,
	[PERFDATA_FEATURE_CPUID] = parse_cpuid,
	[PERFDATA_FEATURE_CMDLINE] = parse_cmdline,
	[PERFDATA_FEATURE_EVENT_DESC] = parse_event_desc,
	[PERFDATA_FEATURE_CPU_PMU_CAPS] = parse_cpu_pmu_caps,
	[PERFDATA_FEATURE_PMU_CAPS] = parse_pmu_caps,
};

static parse_function *parser_of(unsigned int feature)
{
	return feature < sizeof(parsers) / sizeof(parsers[0]) ? parsers[feature] : NULL;
}

struct pesa_error *perfdata_feature_parse(struct pesa_perfdata *reader, unsigned int feature,
					  const uint8_t *bytes, size_t size, const char **problem)
{
	struct contents contents = {.at = bytes, .end = bytes + size, .swap = reader->swap};

	if (parser_of(feature))
		parser_of(feature)(reader, &contents);
	if (contents.no_memory)
		return pesa_error_no_memory();
	*problem = contents.failed ? "a feature section that is shorter than its contents" : NULL;
	return NULL;
}

static bool read_all(struct pesa_perfdata *reader, uint64_t offset, void *bytes, size_t size)
{
	uint8_t *to = bytes;

	while (size) {
		ssize_t got = pread(reader->descriptor, to, size, offset);

		if (got <= 0)
			return false;
		to += got;
		offset += got;
		size -= got;
	}
	return true;
}

static struct pesa_error *read_section(struct pesa_perfdata *reader, unsigned int feature,
				       const struct perfdata_section *section)
{
	struct pesa_error *error = NULL;
	const char *problem = NULL;
	uint8_t *bytes;

	if (section->size > SECTION_MAX || section->offset > reader->file_size ||
	    section->size > reader->file_size - section->offset) {
		perfdata_damage(reader, 1, 0, section->offset,
				"a feature section that lies beyond the end of the file");
		return NULL;
	}
	bytes = malloc(section->size + 1);
	if (!bytes)
		return pesa_error_no_memory();
	if (!read_all(reader, section->offset, bytes, section->size))
		problem = "a feature section that cannot be read";
	else
		error = perfdata_feature_parse(reader, feature, bytes, section->size, &problem);
	if (problem)
		perfdata_damage(reader, 1, 0, section->offset, problem);
	free(bytes);
	return error;
}

struct pesa_error *perfdata_features_read(struct pesa_perfdata *reader, uint64_t table,
					  const uint64_t features[4])
{
	for (unsigned int feature = 0; feature < PERFDATA_FEATURES; feature++) {
		struct perfdata_section section;
		struct pesa_error *error;

		if (!(features[feature / 64] >> feature % 64 & 1))
			continue;
		if (table > reader->file_size ||
		    !read_all(reader, table, &section, sizeof(section))) {
			perfdata_damage(reader, 0, 0, table, "the feature sections are cut off");
			return NULL;
		}
		table += sizeof(section);
		if (!parser_of(feature))
			continue;
		section.offset = perfdata_u64(&section.offset, reader->swap);
		section.size = perfdata_u64(&section.size, reader->swap);
		error = read_section(reader, feature, &section);
		if (error)
			return error;
	}
	return NULL;
}

void perfdata_features_free(struct pesa_perfdata *reader)
{
	free(reader->arch);
	free(reader->hostname);
	free(reader->cpu_id);
	free(reader->cmdline);
	free(reader->os_release);
	free(reader->cpu_description);
	recordings_free(reader);
	for (size_t i = 0; i < reader->build_id_count; i++)
		free(reader->build_ids[i].path);
	free(reader->build_ids);
	free_counts(reader);
}

/* ---- Accessors ------------------------------------------------------------------------------- */

const char *pesa_perfdata_arch(const struct pesa_perfdata *reader)
{
	return reader->arch;
}

const char *pesa_perfdata_cpu_id(const struct pesa_perfdata *reader)
{
	return reader->cpu_id;
}

const char *pesa_perfdata_hostname(const struct pesa_perfdata *reader)
{
	return reader->hostname;
}

const char *pesa_perfdata_cmdline(const struct pesa_perfdata *reader)
{
	return reader->cmdline;
}

const char *pesa_perfdata_os_release(const struct pesa_perfdata *reader)
{
	return reader->os_release;
}

const char *pesa_perfdata_cpu_description(const struct pesa_perfdata *reader)
{
	return reader->cpu_description;
}

unsigned int pesa_perfdata_cpus(const struct pesa_perfdata *reader)
{
	return reader->cpus;
}

bool pesa_perfdata_swapped(const struct pesa_perfdata *reader)
{
	return reader->swap;
}

const struct pesa_recording *pesa_perfdata_recordings(const struct pesa_perfdata *reader,
						      size_t *count)
{
	*count = reader->recording_count;
	return reader->recordings;
}

const char *pesa_recording_fact(const struct pesa_recording *recording, const char *name)
{
	for (size_t i = 0; i < recording->facts; i++)
		if (!strcmp(recording->fact[i].name, name))
			return recording->fact[i].value;
	return NULL;
}

const struct pesa_count *pesa_perfdata_counts(const struct pesa_perfdata *reader, size_t *count)
{
	*count = reader->count_count;
	return reader->counts;
}

const struct pesa_capabilities *pesa_perfdata_capabilities(const struct pesa_perfdata *reader)
{
	return reader->has_capabilities ? &reader->capabilities : NULL;
}

bool pesa_perfdata_build_id(const struct pesa_perfdata *reader, const char *path,
			    uint8_t build_id[PESA_BUILD_ID_MAX], uint8_t *size)
{
	for (size_t i = 0; i < reader->build_id_count && !reader->recording_count; i++) {
		if (strcmp(reader->build_ids[i].path, path))
			continue;
		memcpy(build_id, reader->build_ids[i].bytes, PESA_BUILD_ID_MAX);
		*size = reader->build_ids[i].size;
		return true;
	}
	return false;
}
