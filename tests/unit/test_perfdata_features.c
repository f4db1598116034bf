// SPDX-License-Identifier: GPL-2.0-or-later
/* Feature sections: what the writer says comes back, and what cannot be costs no more than itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "decoder/perfdata/format.h"
#include "tests/perfdata_records.h"

/* ---- Sections byte by byte ------------------------------------------------------------------- */

/* A file of one round with these sections; their contents are freed. */
static struct bytes file_of(struct feature *features, size_t count)
{
	const struct perf_event_attr attr = test_attr(PERF_SAMPLE_IP);
	struct bytes records = {0}, file;

	record_end(&records, record_begin(&records, FINISHED_ROUND, 0));
	file = build_file(false, &attr, 1, &records, features, count);
	free(records.at);
	for (size_t i = 0; i < count; i++)
		free(features[i].contents.at);
	return file;
}

static struct pesa_perfdata *open_features(struct feature *features, size_t count, char **path)
{
	struct bytes file = file_of(features, count);
	struct pesa_perfdata *reader = open_bytes(&file, path);

	free(file.at);
	return reader;
}

static void put_pairs(struct bytes *contents, const char *const (*pairs)[2], size_t count)
{
	put32(contents, count);
	for (size_t i = 0; i < count; i++) {
		put_string(contents, pairs[i][0]);
		put_string(contents, pairs[i][1]);
	}
}

#define PAIRS(pairs) pairs, sizeof(pairs) / sizeof((pairs)[0])

static void damage_is(const struct pesa_perfdata *reader, const char *what)
{
	const struct pesa_perfdata_losses *losses = pesa_perfdata_losses(reader);

	assert_int_equal(losses->damaged_records, 1);
	assert_int_equal(losses->damaged_bytes, 0);
	if (!strstr(losses->damage, what))
		fail_msg("%s, not %s", losses->damage, what);
}

/* ---- Capabilities ---------------------------------------------------------------------------- */

static void add_text(void *context, const char *name, const char *value)
{
	put(context, name, strlen(name));
	put(context, "=", 1);
	put(context, value, strlen(value) + 1);
}

static void same_capabilities(const struct pesa_capabilities *found,
			      const struct pesa_capabilities *expected)
{
	struct bytes texts[2] = {{0}};

	assert_non_null(found);
	pesa_capabilities_each(found, add_text, &texts[0]);
	pesa_capabilities_each(expected, add_text, &texts[1]);
	assert_int_equal(texts[0].size, texts[1].size);
	assert_memory_equal(texts[0].at, texts[1].at, texts[1].size);
	free(texts[0].at);
	free(texts[1].at);
}

static void capabilities_that_are_not_named_are_the_defaults(void **state)
{
	static const char *const ours[][2] = {{"ct_targets", "1"}};
	static const char *const others[][2] = {{"retire_width", "3"}, {"branches", "32"}};
	struct pesa_capabilities expected;

	(void)state;
	pesa_capabilities_default(&expected);
	expected.ct_targets = 1;
	/* Our PMU is recognised by its capabilities: first, last, and where no PMU is named. */
	for (unsigned int i = 0; i < 3; i++) {
		struct feature feature = {
			i < 2 ? PERFDATA_FEATURE_PMU_CAPS : PERFDATA_FEATURE_CPU_PMU_CAPS, {0}};
		struct pesa_perfdata *reader;
		char *path;

		if (i < 2)
			put32(&feature.contents, 2);
		if (i == 1) {
			put_pairs(&feature.contents, PAIRS(others));
			put_string(&feature.contents, "cpu");
		}
		put_pairs(&feature.contents, PAIRS(ours));
		if (i < 2)
			put_string(&feature.contents, "some_name");
		if (!i) {
			put_pairs(&feature.contents, PAIRS(others));
			put_string(&feature.contents, "cpu");
		}
		reader = open_features(&feature, 1, &path);
		assert_null(pesa_perfdata_losses(reader)->damage);
		same_capabilities(pesa_perfdata_capabilities(reader), &expected);
		close_file(reader, path);
	}
}

static void capabilities_of_no_pmu_of_ours_are_none(void **state)
{
	static const char *const others[][2] = {{"retire_width", "3"}, {"xlen", "64"}};

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct feature feature = {
			i ? PERFDATA_FEATURE_PMU_CAPS : PERFDATA_FEATURE_CPU_PMU_CAPS, {0}};
		struct pesa_perfdata *reader;
		char *path;

		if (i)
			put32(&feature.contents, 1);
		put_pairs(&feature.contents, PAIRS(others));
		if (i)
			put_string(&feature.contents, "cpu");
		reader = open_features(&feature, 1, &path);
		assert_null(pesa_perfdata_losses(reader)->damage);
		assert_null(pesa_perfdata_capabilities(reader));
		close_file(reader, path);
	}
}

/* Of the two sections that may have them, the one that names PMUs counts. */
static void capabilities_of_a_named_pmu_come_first(void **state)
{
	static const char *const narrow[][2] = {{"ct_targets", "1"}, {"retire_width", "2"}};
	static const char *const wide[][2] = {{"ct_targets", "2"}, {"retire_width", "8"}};
	struct feature features[] = {{PERFDATA_FEATURE_CPU_PMU_CAPS, {0}},
				     {PERFDATA_FEATURE_PMU_CAPS, {0}}};
	struct pesa_perfdata *reader;
	char *path;

	(void)state;
	put_pairs(&features[0].contents, PAIRS(narrow));
	put32(&features[1].contents, 1);
	put_pairs(&features[1].contents, PAIRS(wide));
	put_string(&features[1].contents, "pesa");
	reader = open_features(features, 2, &path);
	assert_int_equal(pesa_perfdata_capabilities(reader)->retire_width, 8);
	assert_int_equal(pesa_perfdata_capabilities(reader)->ct_targets, 2);
	close_file(reader, path);
}

static void names_and_values_of_capabilities_have_a_limit(void **state)
{
	char value[1025], name[PESA_CAPABILITY_NAME_MAX + 1];

	(void)state;
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	memset(value, '0', sizeof(value));
	for (unsigned int i = 0; i < 2; i++) {
		const char *const pairs[][2] = {
			{name, "1"}, {"ct_targets", "1"}, {"retire_width", value}};
		struct feature feature = {PERFDATA_FEATURE_CPU_PMU_CAPS, {0}};
		struct pesa_perfdata *reader;
		char *path;

		/* 1023 and 1024 digits: the second is no capability that we know. */
		value[1022 + i] = '7';
		value[1023 + i] = '\0';
		put_pairs(&feature.contents, PAIRS(pairs));
		reader = open_features(&feature, 1, &path);
		assert_null(pesa_perfdata_losses(reader)->damage);
		assert_int_equal(pesa_perfdata_capabilities(reader)->retire_width, i ? 0 : 7);
		close_file(reader, path);
		value[1022 + i] = '0';
	}
}

/* ---- Counts ---------------------------------------------------------------------------------- */

static void counts_are_whole_numbers_of_64_bits(void **state)
{
	static const char *const before[][2] = {{"GONE", "1"}, {"GONE.TOO", "2"}, {"ALSO", "3"}};
	static const char *const counts[][2] = {
		{"A", "1"},
		{"LARGEST", "18446744073709551615"},
		{"TOO.LARGE", "18446744073709551616"},
		{"EMPTY", ""},
		{"TEXT", "12x"},
		{"SIGNED", "-1"},
		{"PADDED", "00000000000000000000042"},
		{"TOO.LONG", "000000000000000000000043"},
		{"LAST", "7"},
	};
	static const struct pesa_count expected[] = {
		{"A", 1}, {"LARGEST", UINT64_MAX}, {"PADDED", 42}, {"LAST", 7}};
	struct feature feature = {PERFDATA_FEATURE_PMU_CAPS, {0}};
	const struct pesa_count *found;
	struct pesa_perfdata *reader;
	size_t count;
	char *path;

	(void)state;
	/* Of two lists the last is the one. */
	put32(&feature.contents, 2);
	put_pairs(&feature.contents, PAIRS(before));
	put_string(&feature.contents, PERFDATA_COUNTS_PMU);
	put_pairs(&feature.contents, PAIRS(counts));
	put_string(&feature.contents, PERFDATA_COUNTS_PMU);
	reader = open_features(&feature, 1, &path);
	assert_null(pesa_perfdata_losses(reader)->damage);
	assert_null(pesa_perfdata_capabilities(reader));
	found = pesa_perfdata_counts(reader, &count);
	assert_int_equal(count, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(found[i].event, expected[i].event);
		assert_int_equal(found[i].value, expected[i].value);
	}
	close_file(reader, path);
}

/* Cut anywhere, the section is damaged once, and nothing behind its end is looked at. */
static void lists_that_are_cut_off_are_damage(void **state)
{
	static const char *const counts[][2] = {{"A", "1"}, {"B", "2"}};
	static const char *const ours[][2] = {{"A", "1"}, {"ct_targets", "2"}};
	static const char *const pmus[] = {PERFDATA_COUNTS_PMU, PERFDATA_RECORDING_PMU, "pesa"};
	struct bytes whole = {0};
	size_t one;

	(void)state;
	put32(&whole, 3);
	for (unsigned int i = 0; i < 3; i++) {
		if (i < 2)
			put_pairs(&whole, PAIRS(counts));
		else
			put_pairs(&whole, PAIRS(ours));
		put_string(&whole, pmus[i]);
	}
	one = (whole.size - 4) / 3;
	for (size_t size = 0; size <= whole.size; size += 4) {
		struct bytes part = {.at = malloc(size + 1), .size = size, .capacity = size + 1};
		struct feature feature = {PERFDATA_FEATURE_PMU_CAPS, part};
		struct pesa_perfdata *reader;
		size_t counted, recordings;
		char *path;

		memcpy(part.at, whole.at, size);
		reader = open_features(&feature, 1, &path);
		pesa_perfdata_counts(reader, &counted);
		pesa_perfdata_recordings(reader, &recordings);
		assert_int_equal(counted, size >= 4 + one ? 2 : 0);
		assert_int_equal(recordings, size >= 4 + 2 * one ? 1 : 0);
		assert_int_equal(!pesa_perfdata_capabilities(reader), size < whole.size);
		if (size < whole.size)
			damage_is(reader, "a feature section that is shorter than its contents");
		else
			assert_null(pesa_perfdata_losses(reader)->damage);
		close_file(reader, path);
	}
	free(whole.at);
}

/* ---- Build ids ------------------------------------------------------------------------------- */

static void put_build_id(struct bytes *contents, const char *path)
{
	size_t start = record_begin(contents, 0, PERF_RECORD_MISC_USER);

	put32(contents, 1);
	put_zeros(contents, 24);
	put_path(contents, path);
	record_end(contents, start);
}

static bool has_build_id(const struct pesa_perfdata *reader, const char *path)
{
	uint8_t build_id[PESA_BUILD_ID_MAX], size;

	return pesa_perfdata_build_id(reader, path, build_id, &size);
}

static void build_ids_end_where_one_cannot_be(void **state)
{
	/* Nothing, less than a header, without a path, one byte more than there is. */
	static const uint16_t sizes[] = {0, 7, 36, 8 + 4 + 24 + 16 + 1};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct feature feature = {PERFDATA_FEATURE_BUILD_ID, {0}};
		struct pesa_perfdata *reader;
		size_t last;
		char *path;

		put_build_id(&feature.contents, "/bin/first-of-all");
		last = feature.contents.size;
		put_build_id(&feature.contents, "/bin/second-one");
		memcpy(feature.contents.at + last + 6, &sizes[i], sizeof(sizes[i]));
		if (i < 3)
			put_build_id(&feature.contents, "/bin/third");
		reader = open_features(&feature, 1, &path);
		assert_true(has_build_id(reader, "/bin/first-of-all"));
		assert_false(has_build_id(reader, "/bin/second-one"));
		assert_false(has_build_id(reader, "/bin/third"));
		damage_is(reader, "shorter than its contents");
		close_file(reader, path);
	}
}

/* ---- Where sections are ---------------------------------------------------------------------- */

static void a_section_beyond_the_end_is_damage_and_the_others_are_read(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct feature features[] = {{PERFDATA_FEATURE_HOSTNAME, {0}},
					     {PERFDATA_FEATURE_ARCH, {0}}};
		struct perfdata_section section;
		struct pesa_perfdata *reader;
		uint64_t table[2];
		struct bytes file;
		char *path, at[64];

		put_string(&features[0].contents, "host");
		put_string(&features[1].contents, "mips");
		file = file_of(features, 2);
		memcpy(table, file.at + offsetof(struct perfdata_header, data), sizeof(table));
		memcpy(&section, file.at + table[0] + table[1], sizeof(section));
		if (i == 0)
			section.offset = file.size + 1;
		else if (i == 1)
			section.size = file.size - section.offset + 1;
		else
			section.size = UINT64_MAX - 4;
		memcpy(file.at + table[0] + table[1], &section, sizeof(section));
		reader = open_bytes(&file, &path);
		assert_null(pesa_perfdata_hostname(reader));
		assert_string_equal(pesa_perfdata_arch(reader), "mips");
		snprintf(at, sizeof(at), "beyond the end of the file at offset %llu",
			 (unsigned long long)section.offset);
		damage_is(reader, at);
		close_file(reader, path);
		free(file.at);
	}
}

/* Each bit has its place in the table, also those that nobody knows: the first, the last. */
static void unknown_features_are_passed_over(void **state)
{
	static const unsigned int unknown[] = {0, 1, 5, 63, 64, 255};

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		struct feature features[2];
		const bool before = unknown[i] < PERFDATA_FEATURE_ARCH;
		struct pesa_perfdata *reader;
		char *path;

		features[!before] = (struct feature){unknown[i], {0}};
		features[before] = (struct feature){PERFDATA_FEATURE_ARCH, {0}};
		put_string(&features[!before].contents, "of another kind");
		put_string(&features[before].contents, "mips");
		reader = open_features(features, 2, &path);
		assert_null(pesa_perfdata_losses(reader)->damage);
		assert_string_equal(pesa_perfdata_arch(reader), "mips");
		close_file(reader, path);
	}
}

static void a_table_that_is_cut_off_is_told(void **state)
{
	struct feature features[] = {{PERFDATA_FEATURE_HOSTNAME, {0}},
				     {PERFDATA_FEATURE_ARCH, {0}}};
	struct pesa_perfdata *reader;
	uint64_t table[2];
	struct bytes file;
	char *path;

	(void)state;
	put_string(&features[0].contents, "host");
	put_string(&features[1].contents, "mips");
	file = file_of(features, 2);
	memcpy(table, file.at + offsetof(struct perfdata_header, data), sizeof(table));
	file.size = table[0] + table[1] + 2 * sizeof(struct perfdata_section) - 1;
	reader = open_bytes(&file, &path);
	assert_null(pesa_perfdata_arch(reader));
	assert_non_null(strstr(pesa_perfdata_losses(reader)->damage, "beyond the end"));
	close_file(reader, path);
	file.size = table[0] + table[1];
	reader = open_bytes(&file, &path);
	assert_non_null(
		strstr(pesa_perfdata_losses(reader)->damage, "the feature sections are cut off"));
	assert_int_equal(pesa_perfdata_losses(reader)->damaged_records, 0);
	close_file(reader, path);
	free(file.at);
}

static void no_machine_has_so_many_processors(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct feature feature = {PERFDATA_FEATURE_NRCPUS, {0}};
		struct pesa_perfdata *reader;
		char *path;

		put32(&feature.contents, 65536 + i);
		put32(&feature.contents, 1);
		reader = open_features(&feature, 1, &path);
		assert_int_equal(pesa_perfdata_cpus(reader), i ? 0 : 65536);
		assert_int_equal(pesa_perfdata_losses(reader)->damaged_records, i);
		close_file(reader, path);
	}
}

/* ---- What is written is read ----------------------------------------------------------------- */

static struct pesa_perfdata *write_and_read(struct pesa_perfdata_writer_options options,
					    const struct pesa_count *counts, size_t count,
					    char **path)
{
	const struct pesa_perfdata_writer_attribute attribute = {
		.attr = {.type = 42, .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME}};
	struct pesa_perfdata_writer *writer;
	struct pesa_perfdata *reader = NULL;

	options.attributes = &attribute;
	options.attribute_count = 1;
	*path = save("", 0);
	assert_null(pesa_perfdata_writer_create(*path, &options, &writer));
	for (size_t i = 0; i < count; i++)
		assert_null(pesa_perfdata_write_count(writer, counts[i].event, counts[i].value));
	assert_null(pesa_perfdata_writer_finish(writer));
	assert_null(pesa_perfdata_open(*path, &reader));
	return reader;
}

static void what_is_not_known_is_not_written(void **state)
{
	const struct pesa_perfdata_machine machine = {0};
	const struct pesa_perfdata_writer_options options = {.machine = &machine};
	struct pesa_perfdata *reader;
	size_t counts = 1, recordings = 1;
	char *path;

	(void)state;
	reader = write_and_read(options, NULL, 0, &path);
	assert_null(pesa_perfdata_hostname(reader));
	assert_null(pesa_perfdata_os_release(reader));
	assert_null(pesa_perfdata_arch(reader));
	assert_null(pesa_perfdata_cpu_description(reader));
	assert_null(pesa_perfdata_cpu_id(reader));
	assert_null(pesa_perfdata_cmdline(reader));
	assert_null(pesa_perfdata_capabilities(reader));
	pesa_perfdata_counts(reader, &counts);
	pesa_perfdata_recordings(reader, &recordings);
	assert_int_equal(counts, 0);
	assert_int_equal(recordings, 0);
	assert_int_equal(pesa_perfdata_cpus(reader), 1);
	assert_string_equal(pesa_perfdata_attribute(reader, 0)->name, "unknown");
	assert_null(pesa_perfdata_losses(reader)->damage);
	close_file(reader, path);
}

static void what_is_known_is_read_back(void **state)
{
	static const struct pesa_fact facts[] = {
		{"file", "/tmp/a b"},	  {"host", "h"},	   {"shift", "-5"}, {"empty", ""},
		{"damaged_records", "3"}, {"damaged_bytes", "400"}};
	static const struct pesa_recording recordings[] = {
		{facts, 6}, {facts, 0}, {facts + 1, 1}, {facts, 4}, {facts, 5}};
	static const struct pesa_count counts[] = {
		{"TOPDOWN.SLOTS", 0}, {"B", UINT64_MAX}, {"C", 3}};
	const struct pesa_perfdata_machine machine = {"another-host", "6.6.6"};
	char *command[] = {(char *)"pesa", (char *)"record", (char *)"a b", (char *)"", NULL};
	struct pesa_capabilities capabilities;
	struct pesa_perfdata_writer_options options = {
		.arch = "riscv64",
		.cpu_description = "a core",
		.command = command,
		.capabilities = &capabilities,
		.cpus = 12,
		.machine = &machine,
		.recordings = recordings,
		.recording_count = sizeof(recordings) / sizeof(recordings[0]),
	};
	const struct pesa_recording *read;
	const struct pesa_count *counted;
	struct pesa_perfdata *reader;
	size_t count;
	char *path;

	(void)state;
	pesa_capabilities_default(&capabilities);
	capabilities.retire_width = 5;
	strcpy(capabilities.model, "a-model");
	reader = write_and_read(options, counts, 3, &path);
	assert_string_equal(pesa_perfdata_hostname(reader), "another-host");
	assert_string_equal(pesa_perfdata_os_release(reader), "6.6.6");
	assert_string_equal(pesa_perfdata_arch(reader), "riscv64");
	assert_string_equal(pesa_perfdata_cpu_description(reader), "a core");
	assert_string_equal(pesa_perfdata_cpu_id(reader), "a-model");
	assert_string_equal(pesa_perfdata_cmdline(reader), "pesa record a b ");
	assert_int_equal(pesa_perfdata_cpus(reader), 12);
	same_capabilities(pesa_perfdata_capabilities(reader), &capabilities);
	counted = pesa_perfdata_counts(reader, &count);
	assert_int_equal(count, 3);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(counted[i].event, counts[i].event);
		assert_int_equal(counted[i].value, counts[i].value);
	}
	read = pesa_perfdata_recordings(reader, &count);
	assert_int_equal(count, options.recording_count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(read[i].facts, recordings[i].facts);
		for (size_t j = 0; j < read[i].facts; j++) {
			const struct pesa_fact *fact = &recordings[i].fact[j];

			assert_string_equal(read[i].fact[j].name, fact->name);
			assert_string_equal(read[i].fact[j].value, fact->value);
			assert_string_equal(pesa_recording_fact(&read[i], fact->name), fact->value);
		}
		assert_null(pesa_recording_fact(&read[i], "none"));
	}
	/* What was damaged of the recordings is of the file. */
	assert_int_equal(pesa_perfdata_losses(reader)->damaged_records, 6);
	assert_int_equal(pesa_perfdata_losses(reader)->damaged_bytes, 400);
	close_file(reader, path);

	/* Its own name of the processor goes before that of the model. */
	options.cpu_id = "1-2-3";
	options.recording_count = 0;
	reader = write_and_read(options, NULL, 0, &path);
	assert_string_equal(pesa_perfdata_cpu_id(reader), "1-2-3");
	assert_null(pesa_perfdata_losses(reader)->damage);
	close_file(reader, path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capabilities_that_are_not_named_are_the_defaults),
		cmocka_unit_test(capabilities_of_no_pmu_of_ours_are_none),
		cmocka_unit_test(capabilities_of_a_named_pmu_come_first),
		cmocka_unit_test(names_and_values_of_capabilities_have_a_limit),
		cmocka_unit_test(counts_are_whole_numbers_of_64_bits),
		cmocka_unit_test(lists_that_are_cut_off_are_damage),
		cmocka_unit_test(build_ids_end_where_one_cannot_be),
		cmocka_unit_test(a_section_beyond_the_end_is_damage_and_the_others_are_read),
		cmocka_unit_test(unknown_features_are_passed_over),
		cmocka_unit_test(a_table_that_is_cut_off_is_told),
		cmocka_unit_test(no_machine_has_so_many_processors),
		cmocka_unit_test(what_is_not_known_is_not_written),
		cmocka_unit_test(what_is_known_is_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
