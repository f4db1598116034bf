/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as an input of a merge.  What can be merged gives a file that is whole, has as many
 * samples as the input, and does not change when it is merged again, alone or with the input.  A
 * second byte string, made of the first, is another input: both orders give the same bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decoder/base/read_file.h"
#include "pesa/merge.h"
#include "pesa/perfdata.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUTS_MAX 3

static char folder[64];

static void clean_up(void)
{
	rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	snprintf(folder, sizeof(folder), "/tmp/fuzz-merge-XXXXXX");
	if (!mkdtemp(folder) || atexit(clean_up))
		abort();
	return 0;
}

struct merged {
	char *bytes; /* NULL: it was refused */
	size_t size;
	uint64_t samples, lost, records, unread;
};

/* Merge inputs, of which those that cannot be read are left out. */
static struct merged merge(char *const *paths, size_t count)
{
	struct merged merged = {0};
	struct pesa_merge *merge;
	struct pesa_error *error = pesa_merge_create(&merge);
	char output[96];
	size_t added = 0;

	if (error)
		abort();
	snprintf(output, sizeof(output), "%s/out", folder);
	for (size_t i = 0; i < count; i++) {
		const char *damage;

		error = pesa_merge_add(merge, paths[i], &damage);
		added += !error;
		pesa_error_free(error);
	}
	error = added ? pesa_merge_arrange(merge) : NULL;
	if (added && !error)
		error = pesa_merge_write(merge, output, 0);
	if (added && !error) {
		for (size_t i = 0; i < pesa_merge_count(merge); i++) {
			struct pesa_merge_recording recording;

			pesa_merge_recording(merge, i, &recording);
			if (recording.same_as)
				continue;
			merged.samples += recording.samples;
			merged.lost += recording.lost;
			merged.records += recording.damaged_records;
			merged.unread += recording.damaged_bytes;
		}
		if (pesa_read_file(output, &merged.bytes, &merged.size))
			abort();
		unlink(output);
	}
	pesa_error_free(error);
	pesa_merge_free(merge);
	return merged;
}

static int open_bytes(const void *bytes, size_t size, char *path, size_t room)
{
	int descriptor = memfd_create("input", MFD_CLOEXEC);

	if (descriptor < 0 || write(descriptor, bytes, size) != (ssize_t)size)
		abort();
	snprintf(path, room, "/proc/self/fd/%d", descriptor);
	return descriptor;
}

/* As readers see it: as many samples and losses as the merge counted, no damage of its own. */
static void check_read(const struct merged *merged, const char *path)
{
	struct pesa_perfdata *reader;
	const struct pesa_perfdata_losses *losses;
	struct pesa_event event;
	uint64_t samples = 0;

	if (pesa_perfdata_open(path, &reader))
		abort();
	while (pesa_perfdata_next(reader, &event) > 0)
		samples += event.type == PERF_RECORD_SAMPLE;
	losses = pesa_perfdata_losses(reader);
	if (samples != merged->samples || losses->lost != merged->lost ||
	    losses->damaged_records != merged->records || losses->damaged_bytes != merged->unread)
		abort();
	pesa_perfdata_close(reader);
}

static void check_same(const struct merged *left, const struct merged *right)
{
	if (left->size != right->size || !left->bytes != !right->bytes ||
	    (left->bytes && memcmp(left->bytes, right->bytes, left->size)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[INPUTS_MAX][32], *paths[INPUTS_MAX];
	struct merged once, again, forth, back;
	int descriptor[INPUTS_MAX];
	uint8_t *other;

	for (unsigned int i = 0; i < INPUTS_MAX; i++)
		paths[i] = name[i];
	descriptor[0] = open_bytes(data, size, name[0], sizeof(name[0]));
	once = merge(paths, 1);
	if (!once.bytes) {
		close(descriptor[0]);
		return 0;
	}
	descriptor[1] = open_bytes(once.bytes, once.size, name[1], sizeof(name[1]));
	check_read(&once, name[1]);
	again = merge(paths + 1, 1);
	check_same(&once, &again);
	free(again.bytes);
	/* Another file: the same with a byte of its last quarter changed. */
	other = malloc(size + 1);
	if (!other)
		abort();
	memcpy(other, data, size);
	other[size - 1 - size / 8] ^= 1;
	descriptor[2] = open_bytes(other, size, name[2], sizeof(name[2]));
	free(other);
	paths[0] = name[1];
	paths[1] = name[2];
	forth = merge(paths, 2);
	paths[0] = name[2];
	paths[1] = name[0];
	back = merge(paths, 2);
	check_same(&forth, &back);
	free(once.bytes);
	free(forth.bytes);
	free(back.bytes);
	for (unsigned int i = 0; i < INPUTS_MAX; i++)
		close(descriptor[i]);
	return 0;
}
