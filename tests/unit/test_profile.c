// SPDX-License-Identifier: GPL-2.0-or-later
/* Whole files through pesa_profile_load(): what a profile says of samples that are known. */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "pesa/profile.h"
#include "tests/elf_file.h"
#include "tests/temporary_folder.h"

#define PERIOD 1000
#define BASE   0x7f0000000000 /* where the program is mapped */
#define START  0x10400	      /* its text, as the ELF file says */

static const uint8_t id[20] = {0xde, 0xad, 0xbe, 0xef, 5, 6, 7, 8, 9};
static const uint8_t other_id[20] = {0x12, 0x34};
static uint64_t now;

static const char *in_folder(const char *name)
{
	static char path[4][160];
	static unsigned int turn;
	char *buffer = path[turn++ % 4];

	snprintf(buffer, sizeof(path[0]), "%s/%s", folder, name);
	return buffer;
}

/* 0: nop, 4: c.nop, 6: c.nop, 8: beq x0,x0,-8, 12: ret, 16: no instruction */
static void make_program(const char *path, uint16_t machine, const uint8_t *build_id)
{
	static const uint32_t text[] = {0x00000013, 0x00010001, 0xfe000ce3, 0x00008067, 0xffffffff};
	struct elf_file file = {.machine = machine,
				.text = text,
				.text_size = sizeof(text),
				.text_address = START,
				.text_offset = 0x400,
				.build_id = build_id,
				.isa = "rv64gc"};

	assert_true(elf_file_write(&file, path));
}

/* ---- Writing ----------------------------------------------------------------------------------
 */

struct recording {
	struct pesa_perfdata_writer *writer;
	const char *path;
};

static struct recording record_to(const char *name, const char *arch, bool raw)
{
	struct pesa_perfdata_writer_attribute attributes[] = {
		{.attr = {.type = PERF_TYPE_SOFTWARE,
			  .config = PERF_COUNT_SW_DUMMY,
			  .size = sizeof(struct perf_event_attr),
			  .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					 PERF_SAMPLE_PERIOD | PERF_SAMPLE_IDENTIFIER,
			  .sample_id_all = 1},
		 .name = "dummy:u"},
		{.attr = {.type = 42,
			  .size = sizeof(struct perf_event_attr),
			  .sample_period = PERIOD,
			  .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					 PERF_SAMPLE_PERIOD | PERF_SAMPLE_IDENTIFIER |
					 (raw ? PERF_SAMPLE_RAW : 0),
			  .sample_id_all = 1},
		 .name = raw ? "pesa/cycles/" : "cycles:u"},
	};
	char *command[] = {(char *)"a", (char *)"program", NULL};
	struct pesa_perfdata_writer_options options = {.attributes = attributes,
						       .attribute_count = 2,
						       .arch = arch,
						       .command = command,
						       .cpus = 1};
	struct recording recording = {.path = strdup(in_folder(name))};

	now = 1000;
	assert_null(pesa_perfdata_writer_create(recording.path, &options, &recording.writer));
	return recording;
}

static void finish(struct recording *recording)
{
	assert_null(pesa_perfdata_writer_finish(recording->writer));
}

static void map(struct recording *recording, uint32_t pid, uint64_t address, uint64_t offset,
		const char *path, const uint8_t *build_id)
{
	struct pesa_mmap mmap = {.pid = pid,
				 .tid = pid,
				 .address = address,
				 .length = 0x10000,
				 .offset = offset,
				 .protection = PROT_READ | PROT_EXEC,
				 .path = path};

	if (build_id) {
		mmap.build_id_size = 20;
		memcpy(mmap.build_id, build_id, 20);
	}
	assert_null(pesa_perfdata_write_mmap(recording->writer, &mmap, now += 10));
}

static void write_sample(struct recording *recording, uint32_t pid, uint32_t tid, uint64_t ip,
			 const void *raw, uint32_t size, uint64_t period, uint32_t attribute)
{
	struct pesa_sample sample = {.ip = ip,
				     .pid = pid,
				     .tid = tid,
				     .time = now += 10,
				     .period = period,
				     .attribute = attribute,
				     .exact_ip = raw,
				     .raw = raw,
				     .raw_size = size};

	assert_null(pesa_perfdata_write_sample(recording->writer, &sample, PERF_RECORD_MISC_USER));
}

static void sample(struct recording *recording, uint32_t pid, uint64_t pc,
		   struct pesa_details details, uint64_t bt1, uint64_t period)
{
	struct pesa_record record = {
		.version = PESA_RECORD_VERSION,
		.xlen = 64,
		.size = htole16(PESA_RECORD_SIZE),
		.flags = htole32(PESA_RECORD_HAS_DETAILS | (bt1 ? PESA_RECORD_HAS_BT1 : 0)),
		.pc = htole64(pc),
		.details = htole64(pesa_details_pack(&details)),
		.bt = {htole64(bt1)},
	};

	write_sample(recording, pid, pid, pc, &record, sizeof(record), period, 1);
}

/* ---- Reading ----------------------------------------------------------------------------------
 */

static struct pesa_profile *load(struct recording *recording,
				 const struct pesa_profile_options *options)
{
	struct pesa_profile *profile;
	struct pesa_error *error = pesa_profile_load(recording->path, options, &profile);
	const struct pesa_profile_totals *totals;
	uint64_t sum = 0;

	if (error)
		fail_msg("%s", error->message);
	totals = pesa_profile_totals(profile);
	for (size_t i = 0; i < pesa_profile_instruction_count(profile); i++)
		sum += pesa_profile_instruction(profile, i)->weight;
	for (unsigned int i = 0; i < PESA_UNATTRIBUTED_REASONS; i++)
		sum += totals->unattributed[i];
	assert_int_equal(sum, totals->weight);
	return profile;
}

static void forget(struct recording *recording, struct pesa_profile *profile)
{
	pesa_profile_free(profile);
	unlink(recording->path);
	free((char *)recording->path);
}

static const struct pesa_instruction *find(const struct pesa_profile *profile, const char *path,
					   uint64_t address)
{
	for (unsigned int i = 0; i < pesa_profile_dso_count(profile); i++)
		if (!strcmp(pesa_profile_dso(profile, i)->path, path))
			return pesa_profile_find(profile, i, address);
	return NULL;
}

/* ---- Tests ------------------------------------------------------------------------------------
 */

static void equal_records_are_walked_once_and_add_up(void **state)
{
	const char *program = in_folder("program");
	struct recording recording = record_to("perf.data", "riscv64", true);
	const struct pesa_profile_totals *totals;
	const struct pesa_instruction *instruction;
	struct pesa_profile *profile;

	(void)state;
	make_program(program, EM_RISCV, id);
	map(&recording, 7, BASE, 0, program, id);
	/* nop, c.nop, c.nop, beq taken; D$ miss at the first of the next */
	for (unsigned int i = 0; i < 30; i++)
		sample(&recording, 7, BASE + 0x400,
		       (struct pesa_details){.instret = 4, .transfers = 1, .transfer_offset = {4}},
		       BASE + 0x400, PERIOD);
	for (unsigned int i = 0; i < 10; i++)
		sample(&recording, 7, BASE + 0x404,
		       (struct pesa_details){.state = PESA_STATE_STALLED,
					     .cause_offset = 1,
					     .cause = PESA_CAUSE_DCACHE_MISS},
		       0, 2 * PERIOD);
	finish(&recording);
	profile = load(&recording, NULL);
	totals = pesa_profile_totals(profile);
	assert_int_equal(totals->samples, 40);
	assert_int_equal(totals->distinct_records, 2);
	assert_int_equal(totals->weight, (30 + 20) * PERIOD * (uint64_t)PESA_CYCLE);
	assert_true(totals->period == 50.0 * PERIOD / 40);
	assert_false(totals->exact);
	assert_string_equal(pesa_profile_event(profile), "pesa/cycles/");
	assert_int_equal(pesa_profile_instruction_count(profile), 4);

	instruction = find(profile, program, START + 4); /* c.nop: a quarter, and the stall */
	assert_non_null(instruction);
	assert_int_equal(instruction->executions, 30 * PERIOD);
	assert_int_equal(instruction->retired_samples, 30);
	assert_int_equal(instruction->samples, 40);
	assert_int_equal(instruction->buckets, 2);
	assert_int_equal(instruction->bucket[0].state, PESA_STATE_STALLED);
	assert_int_equal(instruction->bucket[0].cause, PESA_CAUSE_DCACHE_MISS);
	assert_int_equal(instruction->bucket[0].weight, 20 * PERIOD * (uint64_t)PESA_CYCLE);
	assert_int_equal(instruction->bucket[0].samples, 10);
	assert_int_equal(instruction->bucket[1].weight, 30 * PERIOD * (uint64_t)PESA_CYCLE / 4);
	/* w is 1/4 of PERIOD and r 1, 30 times; w is 2 PERIOD, 10 times */
	assert_true(instruction->weight_squared == 1e6 * (30.0 / 16 + 4 * 10));
	assert_true(instruction->weight_times_retired == 1e6 * 30 / 4);
	assert_true(instruction->retired_squared == 1e6 * 30);

	instruction = find(profile, program, START + 8);
	assert_int_equal(instruction->edges, 1);
	assert_int_equal(instruction->edge[0].target, START);
	assert_int_equal(instruction->edge[0].count, 30 * PERIOD);
	assert_int_equal(instruction->transfers_known, 30);
	assert_int_equal(instruction->transfers_taken, 30);
	assert_string_equal(pesa_profile_isa(profile, 0), "rv64gc");
	forget(&recording, profile);
	unlink(program);
}

static void what_cannot_be_read_or_attributed_is_counted(void **state)
{
	const char *program = in_folder("program");
	struct recording recording = record_to("perf.data", "riscv64", true);
	const struct pesa_profile_totals *totals;
	struct pesa_profile *profile;
	static const uint8_t nonsense[] = {7, 7, 7, 7};
	const uint64_t cycle = PERIOD * (uint64_t)PESA_CYCLE;

	(void)state;
	make_program(program, EM_RISCV, NULL);
	map(&recording, 7, BASE, 0, program, NULL);
	sample(&recording, 7, BASE + 0x40c, (struct pesa_details){.instret = 2}, 0, PERIOD);
	sample(&recording, 7, BASE + 0x408,
	       (struct pesa_details){.instret = 2, .transfers = 1, .transfer_offset = {1}},
	       BASE + 0x410, PERIOD);
	sample(&recording, 7, 0x1000, (struct pesa_details){.instret = 2}, 0, PERIOD);
	sample(&recording, 7, BASE + 0x410, (struct pesa_details){.instret = 2}, 0, PERIOD);
	sample(&recording, 8, BASE + 0x400, (struct pesa_details){.instret = 1}, 0, PERIOD);
	write_sample(&recording, 7, 7, BASE, nonsense, sizeof(nonsense), PERIOD, 1);
	assert_null(pesa_perfdata_write_lost(recording.writer, 1, 5, now += 10));
	/* more cycles than can be counted */
	sample(&recording, 7, BASE + 0x400, (struct pesa_details){.instret = 1}, 0, UINT64_MAX / 2);
	finish(&recording);
	profile = load(&recording, NULL);
	totals = pesa_profile_totals(profile);
	assert_int_equal(totals->samples, 7);
	assert_int_equal(totals->impossible, 1);
	assert_int_equal(totals->overflowed, 1);
	assert_int_equal(totals->lost, 5);
	assert_int_equal(totals->weight, 6 * cycle);
	/* a return without a transfer; the record that cannot be read */
	assert_int_equal(totals->unattributed[PESA_UNATTRIBUTED_IMPOSSIBLE], cycle / 2 + cycle);
	assert_int_equal(totals->unattributed[PESA_UNATTRIBUTED_UNMAPPED], cycle / 2);
	assert_int_equal(totals->unattributed[PESA_UNATTRIBUTED_UNDECODABLE], cycle / 2);
	/* samples in no mapping: those of another process too */
	assert_int_equal(find(profile, "[unknown]", 0x1000)->weight, cycle / 2);
	assert_int_equal(find(profile, "[unknown]", BASE + 0x400)->weight, cycle);
	forget(&recording, profile);
	unlink(program);
}

static struct pesa_error *ignore_sample(void *context, const struct pesa_profile_sample *taken)
{
	(void)context;
	(void)taken;
	return NULL;
}

static void totals_are_equal_with_and_without_whole_samples(void **state)
{
	static const uint8_t nonsense[] = {7, 7, 7, 7}, zeros[4];
	const struct pesa_profile_listener listener = {.sample = ignore_sample};
	struct recording recording = record_to("perf.data", "riscv64", true);
	struct pesa_record record = {
		.version = PESA_RECORD_VERSION,
		.xlen = 64,
		.size = htole16(PESA_RECORD_SIZE),
		.flags = htole32(PESA_RECORD_HAS_DETAILS | 3u << PESA_RECORD_LOST_SHIFT),
		.pc = htole64(0x1000)};
	struct pesa_profile_totals totals[2];
	struct pesa_profile_options options;

	(void)state;
	for (unsigned int i = 0; i < 20; i++) {
		record.xlen = i % 5 == 4 ? 65 : 64; /* some cannot be read */
		write_sample(&recording, 7, 7, 0x1000, &record, sizeof(record), PERIOD + i % 2, 1);
		write_sample(&recording, 7, 8, 0x1000, &record, sizeof(record), PERIOD, 1);
	}
	record.xlen = 64;
	record.flags = htole32(PESA_RECORD_HAS_DATA);
	write_sample(&recording, 7, 7, 0x1000, &record, sizeof(record), PERIOD, 1);
	write_sample(&recording, 7, 7, 0x1000, nonsense, sizeof(nonsense), PERIOD, 1);
	write_sample(&recording, 7, 7, 0x1000, zeros, sizeof(zeros), PERIOD, 1);
	write_sample(&recording, 7, 7, 0x1000, NULL, 0, UINT64_MAX / 2, 1);
	write_sample(&recording, 7, 7, 0x1000, NULL, 0, 1, 0);
	finish(&recording);
	pesa_profile_options_default(&options);
	options.tid = 7;
	for (unsigned int i = 0; i < 2; i++) {
		struct pesa_profile *profile;

		options.listener = i ? &listener : NULL;
		profile = load(&recording, &options);
		totals[i] = *pesa_profile_totals(profile);
		if (i)
			forget(&recording, profile);
		else
			pesa_profile_free(profile);
	}
	assert_int_equal(totals[0].samples, 24);
	assert_int_equal(totals[0].impossible, 5);
	assert_int_equal(totals[0].lost, 16 * 3);
	assert_int_equal(totals[0].plain_samples, 3);
	assert_int_equal(totals[0].overflowed, 1);
	assert_int_equal(totals[0].other_events, 1);
	assert_memory_equal(&totals[0], &totals[1], sizeof(totals[0]));
}

static void filters_choose_process_thread_and_event(void **state)
{
	struct recording recording = record_to("perf.data", "riscv64", true);
	struct pesa_profile_options options;
	struct pesa_profile *profile;
	struct pesa_error *error;

	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		write_sample(&recording, 7 + i / 4, 7 + i, 0x1000, NULL, 0, PERIOD, 1);
	write_sample(&recording, 7, 7, 0x1000, NULL, 0, 1, 0);
	finish(&recording);

	pesa_profile_options_default(&options);
	profile = load(&recording, &options);
	assert_int_equal(pesa_profile_totals(profile)->samples, 6);
	assert_int_equal(pesa_profile_totals(profile)->plain_samples, 6);
	/* What comes from shpmspc does not skid. */
	assert_int_equal(pesa_profile_totals(profile)->skidding_samples, 0);
	assert_int_equal(pesa_profile_totals(profile)->other_events, 1);
	pesa_profile_free(profile);
	options.pid = 7;
	profile = load(&recording, &options);
	assert_int_equal(pesa_profile_totals(profile)->samples, 4);
	pesa_profile_free(profile);
	options.tid = 9;
	profile = load(&recording, &options);
	assert_int_equal(pesa_profile_totals(profile)->samples, 1);
	pesa_profile_free(profile);
	pesa_profile_options_default(&options);
	options.event = "dummy:u";
	profile = load(&recording, &options);
	assert_int_equal(pesa_profile_totals(profile)->samples, 1);
	assert_int_equal(pesa_profile_totals(profile)->skidding_samples, 1);
	pesa_profile_free(profile);
	options.event = "instructions";
	error = pesa_profile_load(recording.path, &options, &profile);
	assert_non_null(error);
	assert_int_equal(error->code, PESA_ERROR_NOT_FOUND);
	assert_non_null(strstr(error->message, "pesa/cycles/"));
	pesa_error_free(error);
	unlink(recording.path);
	free((char *)recording.path);
}

static void plain_samples_are_attributed_to_their_pc(void **state)
{
	const char *program = in_folder("program");
	struct recording recording = record_to("perf.data", "x86_64", false);
	const struct pesa_instruction *instruction;
	struct pesa_profile *profile;

	(void)state;
	make_program(program, EM_X86_64, NULL);
	map(&recording, 7, BASE, 0, program, NULL);
	for (unsigned int i = 0; i < 3; i++)
		write_sample(&recording, 7, 7, BASE + 0x401, NULL, 0, PERIOD + i, 1);
	finish(&recording);
	profile = load(&recording, NULL);
	assert_int_equal(pesa_profile_totals(profile)->plain_samples, 3);
	assert_int_equal(pesa_profile_dso(profile, 0)->status, PESA_DSO_FOREIGN);
	assert_non_null(strstr(pesa_profile_dso(profile, 0)->problem, "x86-64"));
	assert_null(pesa_profile_isa(profile, 0));
	instruction = find(profile, program, START + 1);
	assert_non_null(instruction);
	assert_int_equal(instruction->weight, (3 * PERIOD + 3) * (uint64_t)PESA_CYCLE);
	assert_int_equal(instruction->executions, 0);
	assert_int_equal(instruction->bucket[0].state, PESA_STATE_UNKNOWN);
	forget(&recording, profile);
	unlink(program);
}

/* Load a recording of `path` with a build id; the status of its dso. */
static enum pesa_dso_status status_of(const char *path, const uint8_t *build_id, const char *root,
				      char file[160])
{
	struct recording recording = record_to("perf.data", "riscv64", true);
	struct pesa_profile_options options;
	struct pesa_profile *profile;
	const struct pesa_dso *dso;
	enum pesa_dso_status status;

	map(&recording, 7, BASE, 0, path, build_id);
	sample(&recording, 7, BASE + 0x400, (struct pesa_details){.instret = 2}, 0, PERIOD);
	finish(&recording);
	pesa_profile_options_default(&options);
	options.symbol_root = root;
	profile = load(&recording, &options);
	dso = pesa_profile_dso(profile, 0);
	status = dso->status;
	assert_int_equal(!dso->problem, status == PESA_DSO_OK);
	snprintf(file, 160, "%s", dso->file ? dso->file : "");
	/* without its text the second instruction is not known */
	assert_int_equal(pesa_profile_totals(profile)->unattributed[PESA_UNATTRIBUTED_NO_TEXT],
			 status == PESA_DSO_OK ? 0 : PERIOD * (uint64_t)PESA_CYCLE / 2);
	if (status != PESA_DSO_OK) /* the offset stands for the address */
		assert_non_null(find(profile, dso->path, 0x400));
	else
		assert_non_null(find(profile, dso->path, START));
	forget(&recording, profile);
	return status;
}

static void binaries_are_told_apart_by_build_id(void **state)
{
	char *program = strdup(in_folder("program"));
	char deleted[200], cache[300], file[160], digits[41];

	(void)state;
	snprintf(deleted, sizeof(deleted), "%s (deleted)", program);
	setenv("HOME", folder, 1);
	assert_int_equal(status_of(program, id, NULL, file), PESA_DSO_MISSING);
	make_program(program, EM_RISCV, id);
	assert_int_equal(status_of(program, id, NULL, file), PESA_DSO_OK);
	assert_string_equal(file, program);
	assert_int_equal(status_of(program, NULL, NULL, file), PESA_DSO_OK);
	assert_int_equal(status_of(program, other_id, NULL, file), PESA_DSO_CHANGED);
	/* What took the place of a deleted file is it only if the build id says so. */
	assert_int_equal(status_of(deleted, NULL, NULL, file), PESA_DSO_MISSING);
	assert_int_equal(status_of(deleted, id, NULL, file), PESA_DSO_OK);
	assert_int_equal(status_of(deleted, other_id, NULL, file), PESA_DSO_CHANGED);

	/* perf's build-id cache */
	for (unsigned int i = 0; i < 20; i++)
		snprintf(digits + 2 * i, 3, "%02x", other_id[i]);
	snprintf(cache, sizeof(cache), "mkdir -p %s/.debug/.build-id/%.2s/%s", folder, digits,
		 digits + 2);
	assert_int_equal(system(cache), 0);
	snprintf(cache, sizeof(cache), "%s/.debug/.build-id/%.2s/%s/elf", folder, digits,
		 digits + 2);
	make_program(cache, EM_RISCV, other_id);
	assert_int_equal(status_of(program, other_id, NULL, file), PESA_DSO_OK);
	assert_string_equal(file, cache);
	unlink(program);

	/* below a root */
	assert_int_equal(mkdir(in_folder("bin"), 0700), 0);
	make_program(in_folder("bin/there"), EM_RISCV, id);
	assert_int_equal(status_of("/bin/there", id, folder, file), PESA_DSO_OK);
	assert_int_equal(status_of("/bin/there", id, NULL, file), PESA_DSO_MISSING);

	/* not an ELF file */
	assert_int_equal(truncate(in_folder("bin/there"), 10), 0);
	assert_int_equal(status_of("/bin/there", id, folder, file), PESA_DSO_DAMAGED);
	snprintf(cache, sizeof(cache), "rm -r %s/bin %s/.debug", folder, folder);
	assert_int_equal(system(cache), 0);
	free(program);
}

static void records_keep_the_maps_of_their_time(void **state)
{
	const char *first = strdup(in_folder("first")), *second = strdup(in_folder("second"));
	struct recording recording = record_to("perf.data", "riscv64", true);
	struct pesa_profile *profile;

	(void)state;
	make_program(first, EM_RISCV, id);
	make_program(second, EM_RISCV, other_id);
	map(&recording, 7, BASE, 0, first, id);
	for (unsigned int i = 0; i < 3; i++)
		sample(&recording, 7, BASE + 0x400, (struct pesa_details){.instret = 1}, 0, PERIOD);
	assert_null(pesa_perfdata_write_fork(recording.writer, 8, 7, 8, 7, now += 10));
	/* the same addresses are another file's now, in the parent only */
	map(&recording, 7, BASE, 0, second, other_id);
	for (unsigned int i = 0; i < 5; i++)
		sample(&recording, 7, BASE + 0x400, (struct pesa_details){.instret = 1}, 0, PERIOD);
	for (unsigned int i = 0; i < 2; i++)
		sample(&recording, 8, BASE + 0x400, (struct pesa_details){.instret = 1}, 0, PERIOD);
	finish(&recording);
	profile = load(&recording, NULL);
	assert_int_equal(find(profile, first, START)->samples, 5);
	assert_int_equal(find(profile, second, START)->samples, 5);
	/* parent and child share a layout, so their records are equal */
	assert_int_equal(pesa_profile_totals(profile)->distinct_records, 2);
	forget(&recording, profile);
	unlink(first);
	unlink(second);
	free((char *)first);
	free((char *)second);
}

static void exact_records_fill_the_same_structure(void **state)
{
	const char *program = in_folder("program");
	struct recording recording = record_to("perf.data", "riscv64", true);
	const struct pesa_exact_bucket buckets[] = {
		{.weight = 10 * (PESA_CYCLE / 2), .count = 10, .group = 2},
		{.weight = 8 * (PESA_CYCLE / 4), .count = 8, .group = 4},
		{.weight = 7 * (uint64_t)PESA_CYCLE,
		 .count = 7,
		 .group = 1,
		 .state = PESA_STATE_STALLED,
		 .cause = PESA_CAUSE_DCACHE_MISS},
	};
	const struct pesa_exact_bucket wrong = {.weight = 1, .count = 1, .group = 2};
	const struct pesa_exact_transfer transfers[] = {{BASE + 0x400, 11}, {BASE + 0x40c, 2}};
	struct pesa_sample at = {.pid = 7, .tid = 7, .time = 5000, .attribute = 1};
	const struct pesa_instruction *instruction;
	struct pesa_profile *profile;

	(void)state;
	make_program(program, EM_RISCV, id);
	map(&recording, 7, BASE, 0, program, id);
	assert_null(pesa_perfdata_write_exact(recording.writer, &at, PERF_RECORD_MISC_USER, 64,
					      BASE + 0x408, 18, buckets, 3, transfers, 2));
	assert_null(pesa_perfdata_write_exact(recording.writer, &at, PERF_RECORD_MISC_USER, 64,
					      BASE + 0x400, 1, &wrong, 1, NULL, 0));
	finish(&recording);
	profile = load(&recording, NULL);
	assert_true(pesa_profile_totals(profile)->exact);
	assert_int_equal(pesa_profile_totals(profile)->samples, 0);
	assert_int_equal(pesa_profile_totals(profile)->impossible, 1);
	assert_int_equal(pesa_profile_totals(profile)->weight, 14 * (uint64_t)PESA_CYCLE);
	instruction = find(profile, program, START + 8);
	assert_int_equal(instruction->executions, 18);
	assert_int_equal(instruction->transfers_taken, 13);
	assert_int_equal(instruction->transfers_known, 18);
	assert_int_equal(instruction->edges, 2);
	assert_int_equal(instruction->edge[0].target, START);
	assert_int_equal(instruction->edge[0].count, 11);
	assert_int_equal(instruction->edge[1].target, START + 12);
	assert_int_equal(instruction->buckets, 2);
	assert_int_equal(instruction->bucket[0].state, PESA_STATE_RETIRING == 0 ? 0 : 1);
	assert_int_equal(instruction->bucket[0].weight, 7 * (uint64_t)PESA_CYCLE);
	for (unsigned int i = 0; i < 2; i++) {
		const struct pesa_bucket *bucket = &instruction->bucket[i];

		assert_int_equal(bucket->weight, 7 * (uint64_t)PESA_CYCLE);
		assert_int_equal(bucket->shares, bucket->state == PESA_STATE_STALLED ? 1 : 2);
		if (bucket->state == PESA_STATE_RETIRING) {
			assert_int_equal(bucket->samples, 18);
			assert_int_equal(bucket->share[0].group, 2);
			assert_int_equal(bucket->share[0].cycles, 10);
			assert_int_equal(bucket->share[1].group, 4);
			assert_int_equal(bucket->share[1].cycles, 8);
		}
	}
	forget(&recording, profile);
	unlink(program);
}

static void more_records_than_the_table_holds_change_nothing(void **state)
{
	struct recording recording = record_to("perf.data", "riscv64", true);
	enum { ADDRESSES = 150000, SAMPLES = 2 * ADDRESSES };
	struct pesa_profile *profile;

	(void)state;
	for (unsigned int i = 0; i < SAMPLES; i++) {
		sample(&recording, 7, 0x1000 + 2 * (i % ADDRESSES),
		       (struct pesa_details){.state = PESA_STATE_STALLED}, 0, PERIOD);
		if (i % 4096 == 0)
			assert_null(pesa_perfdata_write_round(recording.writer));
	}
	finish(&recording);
	profile = load(&recording, NULL);
	assert_int_equal(pesa_profile_instruction_count(profile), ADDRESSES);
	for (size_t i = 0; i < ADDRESSES; i++)
		assert_int_equal(pesa_profile_instruction(profile, i)->samples, 2);
	assert_true(pesa_profile_totals(profile)->distinct_records > ADDRESSES);
	forget(&recording, profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_records_are_walked_once_and_add_up),
		cmocka_unit_test(what_cannot_be_read_or_attributed_is_counted),
		cmocka_unit_test(totals_are_equal_with_and_without_whole_samples),
		cmocka_unit_test(filters_choose_process_thread_and_event),
		cmocka_unit_test(plain_samples_are_attributed_to_their_pc),
		cmocka_unit_test(binaries_are_told_apart_by_build_id),
		cmocka_unit_test(records_keep_the_maps_of_their_time),
		cmocka_unit_test(exact_records_fill_the_same_structure),
		cmocka_unit_test(more_records_than_the_table_holds_change_nothing),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
