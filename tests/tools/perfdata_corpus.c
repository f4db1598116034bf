// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes the seeds of fuzz_perfdata: small files with every kind of record, in both byte orders,
 * plain, compressed, as a pipe.  Usage: perfdata_corpus DIRECTORY
 */
#include <zstd.h>

#include "tests/perfdata_builder.h"

static void put_trailer(struct bytes *bytes, uint64_t time)
{
	put32(bytes, 7); /* pid */
	put32(bytes, 8); /* tid */
	put64(bytes, time);
	put64(bytes, 1); /* cpu */
	put64(bytes, 100);
}

#define SEED_TYPE                                                                          \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |    \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | \
	 PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |              \
	 PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_AUX)

static void put_sample(struct bytes *bytes, uint64_t time)
{
	size_t start = record_begin(bytes, PERF_RECORD_SAMPLE, 0x4002);

	put64(bytes, 100);
	put64(bytes, 0x10000);
	put32(bytes, 7);
	put32(bytes, 8);
	put64(bytes, time);
	put64(bytes, 1);
	put64(bytes, 1000);
	put64(bytes, 1); /* read: one value and its id */
	put64(bytes, 5);
	put64(bytes, 100);
	put64(bytes, 2); /* callers */
	put64(bytes, 0x10000);
	put64(bytes, 0x10010);
	put32(bytes, 52); /* raw */
	put8(bytes, 1);
	put8(bytes, 64);
	put16(bytes, 48);
	put_zeros(bytes, 48);
	put64(bytes, 1); /* branches */
	put64(bytes, 2);
	put64(bytes, 0x10000);
	put64(bytes, 0x10010);
	put64(bytes, 1);
	put64(bytes, 2); /* registers */
	put64(bytes, 3);
	put64(bytes, 8); /* stack */
	put64(bytes, 3);
	put64(bytes, 8);
	put64(bytes, 9); /* weight */
	put64(bytes, 8); /* aux */
	put64(bytes, 3);
	record_end(bytes, start);
}

static void put_records(struct bytes *bytes)
{
	size_t start = record_begin(bytes, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);

	put32(bytes, 7);
	put32(bytes, 7);
	put_path(bytes, "program");
	put_trailer(bytes, 1);
	record_end(bytes, start);
	for (unsigned int i = 0; i < 3; i++) {
		start = record_begin(bytes, i ? PERF_RECORD_MMAP2 : PERF_RECORD_MMAP,
				     i == 2 ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0);
		put32(bytes, 7);
		put32(bytes, 7);
		put64(bytes, 0x10000);
		put64(bytes, 0x1000);
		put64(bytes, 0);
		if (i) {
			put8(bytes, 20);
			put_zeros(bytes, 23);
			put64(bytes, 5);
		}
		put_path(bytes, "/nonexistent/program");
		put_trailer(bytes, 2 + i);
		record_end(bytes, start);
	}
	for (uint32_t type = PERF_RECORD_EXIT; type <= PERF_RECORD_FORK; type++) {
		start = record_begin(bytes, type, 0);
		put64(bytes, 7);
		put64(bytes, 100);
		put64(bytes, 5);
		put_trailer(bytes, 6);
		record_end(bytes, start);
	}
	put_sample(bytes, 20);
	put_sample(bytes, 10);
	record_end(bytes, record_begin(bytes, 68, 0)); /* FINISHED_ROUND */
	put_sample(bytes, 30);
	for (unsigned int i = 0; i < 2; i++) {
		start = record_begin(bytes, i ? PERF_RECORD_LOST_SAMPLES : PERF_RECORD_LOST, 0);
		if (!i)
			put64(bytes, 100);
		put64(bytes, 3);
		put_trailer(bytes, 40);
		record_end(bytes, start);
	}
	start = record_begin(bytes, 71, 0); /* AUXTRACE and 16 bytes behind it */
	put64(bytes, 16);
	put_zeros(bytes, 32);
	record_end(bytes, start);
	put_zeros(bytes, 16);
}

static void put_compressed(struct bytes *to, uint32_t type)
{
	struct bytes plain = {.swap = to->swap};
	uint8_t packed[4096];
	size_t size, start;

	for (uint64_t time = 50; time < 60; time++)
		put_sample(&plain, time);
	size = ZSTD_compress(packed, sizeof(packed), plain.at, plain.size, 1);
	start = record_begin(to, type, 0);
	if (type == 83)
		put64(to, size);
	put(to, packed, size);
	if (type == 83)
		put_zeros(to, -size % 8);
	record_end(to, start);
	free(plain.at);
}

static void write_seed(const char *directory, const char *name, bool swap, const struct bytes *file)
{
	char path[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s%s", directory, name, swap ? "-swapped" : "");
	out = fopen(path, "wb");
	if (!out || fwrite(file->at, 1, file->size, out) != file->size || fclose(out)) {
		perror(path);
		exit(1);
	}
}

static void build_features(struct feature *features, bool swap)
{
	static const unsigned int bits[] = {2, 3, 6, 11, 12, 31};
	struct perf_event_attr attr = {.sample_type = SEED_TYPE};
	size_t start;

	for (unsigned int i = 0; i < 6; i++)
		features[i] = (struct feature){bits[i], {.swap = swap}};
	start = record_begin(&features[0].contents, 0, 1 << 15);
	put_zeros(&features[0].contents, 4 + 20);
	put8(&features[0].contents, 20);
	put_zeros(&features[0].contents, 3);
	put_path(&features[0].contents, "/nonexistent/program");
	record_end(&features[0].contents, start);
	put_string(&features[1].contents, "host");
	put_string(&features[2].contents, "riscv64");
	put32(&features[3].contents, 2);
	put_string(&features[3].contents, "pesa");
	put_string(&features[3].contents, "record");
	put32(&features[4].contents, 1);
	put32(&features[4].contents, PERF_ATTR_SIZE_VER7);
	put_attr(&features[4].contents, &attr);
	put32(&features[4].contents, 1);
	put_string(&features[4].contents, "pesa/cycles/");
	put64(&features[4].contents, 100);
	put32(&features[5].contents, 1);
	put32(&features[5].contents, 2);
	put_string(&features[5].contents, "ct_targets");
	put_string(&features[5].contents, "2");
	put_string(&features[5].contents, "cause_names");
	put_string(&features[5].contents, "0:I$miss,5:other");
	put_string(&features[5].contents, "pesa");
}

static void make_seeds(const char *directory, bool swap)
{
	struct perf_event_attr attrs[2] = {
		{.type = 42,
		 .sample_type = SEED_TYPE,
		 .sample_id_all = 1,
		 .read_format = PERF_FORMAT_ID | PERF_FORMAT_GROUP,
		 .branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX,
		 .sample_regs_user = 1},
	};
	struct bytes records = {.swap = swap}, packed = {.swap = swap}, pipe = {.swap = swap};
	struct feature features[6];
	struct bytes file;

	attrs[1] = attrs[0];
	put_records(&records);
	build_features(features, swap);
	file = build_file(swap, attrs, 1, &records, NULL, 0);
	write_seed(directory, "file", swap, &file);
	free(file.at);
	file = build_file(swap, attrs, 2, &records, features, 6);
	write_seed(directory, "features", swap, &file);
	free(file.at);
	put_compressed(&packed, 81);
	put_compressed(&packed, 83);
	file = build_file(swap, attrs, 1, &packed, NULL, 0);
	write_seed(directory, "compressed", swap, &file);
	free(file.at);

	put64(&pipe, 0x32454c4946524550ull);
	put64(&pipe, 16);
	for (unsigned int i = 0; i < 2; i++) {
		size_t start = record_begin(&pipe, 64, 0); /* HEADER_ATTR */

		put_attr(&pipe, &attrs[i]);
		put64(&pipe, 100 * (i + 1));
		record_end(&pipe, start);
	}
	for (unsigned int i = 1; i < 6; i++) {
		size_t start = record_begin(&pipe, 80, 0); /* HEADER_FEATURE */

		put64(&pipe, features[i].bit);
		put(&pipe, features[i].contents.at, features[i].contents.size);
		record_end(&pipe, start);
	}
	put(&pipe, records.at, records.size);
	put_compressed(&pipe, 81);
	write_seed(directory, "pipe", swap, &pipe);
	for (unsigned int i = 0; i < 6; i++)
		free(features[i].contents.at);
	free(records.at);
	free(packed.at);
	free(pipe.at);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "Usage: perfdata_corpus DIRECTORY\n");
		return 2;
	}
	make_seeds(argv[1], false);
	make_seeds(argv[1], true);
	return 0;
}
