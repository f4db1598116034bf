/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as the answers of a database: a sequence of 1 byte (which answer), 2 bytes (its size, little
 * endian) and the answer.  What is taken gives a file that is read without damage, or an error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/fleet/restore.h"
#include "pesa/perfdata.h"
#include "pesa/profile.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ANSWERS 7

static char folder[64], output[96];

static void clean_up(void)
{
	unlink(output);
	rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	snprintf(folder, sizeof(folder), "/tmp/fuzz-fleet-XXXXXX");
	if (!mkdtemp(folder) || atexit(clean_up))
		abort();
	snprintf(output, sizeof(output), "%s/out", folder);
	return 0;
}

/* The file is whole, and its samples are as many as the database's. */
static void read_back(const struct restore *restore)
{
	struct pesa_profile *profile;
	struct pesa_error *error = pesa_profile_load(output, NULL, &profile);

	if (!error) {
		const char *damage = pesa_profile_losses(profile)->damage;

		/* The recordings may have been damaged: the database says so, and the file does. */
		if (damage && !strstr(damage, "recordings that were damaged"))
			abort();
		if (pesa_profile_totals(profile)->samples +
			    pesa_profile_totals(profile)->other_events >
		    restore_totals(restore).samples)
			abort();
		pesa_profile_free(profile);
	}
	pesa_error_free(error);
}

static void use(struct restore *restore)
{
	uint64_t numbers[16];
	struct pesa_error *error;

	for (unsigned int answer = RESTORE_RECORDS; answer <= RESTORE_EVENTS; answer++)
		while (restore_wanted(restore, (enum restore_answer)answer, numbers, 16) > 0)
			;
	error = restore_write(restore, "fuzz", output);
	if (!error)
		read_back(restore);
	pesa_error_free(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct restore *restore = restore_create();
	struct pesa_error *error = NULL;

	if (!restore)
		abort();
	while (size >= 3 && !error) {
		size_t length = data[1] | (size_t)data[2] << 8;

		if (length > size - 3)
			length = size - 3;
		error = restore_take(restore, (enum restore_answer)(data[0] % ANSWERS), data + 3,
				     length);
		data += 3 + length;
		size -= 3 + length;
	}
	if (!error && restore_totals(restore).rows)
		use(restore);
	pesa_error_free(error);
	restore_free(restore);
	return 0;
}
