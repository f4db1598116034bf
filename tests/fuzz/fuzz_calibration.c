/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: calibrations; one that is accepted is written and read again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pesa/calibration.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct pesa_calibration *calibration)
{
	double all = 0;

	if (!calibration->ways || calibration->ways > PESA_DESKID_WAYS_MAX)
		abort();
	for (unsigned int i = 0; i < calibration->ways; i++)
		all += calibration->way[i].share;
	if (all < 0.999 || all > 1.001)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pesa_calibration first, second;
	struct pesa_error *error;
	/* Not terminated, as what is mapped: the parser must stop at the size. */
	char *text = malloc(size + 1), *written = NULL;
	size_t length;
	FILE *stream;

	if (!text)
		abort();
	memcpy(text, data, size);
	text = realloc(text, size ? size : 1);
	error = pesa_calibration_parse("fuzz", text, size, &first);
	free(text);
	if (error) {
		pesa_error_free(error);
		return 0;
	}
	check(&first);
	stream = open_memstream(&written, &length);
	if (!stream)
		abort();
	pesa_calibration_write(&first, stream);
	if (fclose(stream))
		abort();
	error = pesa_calibration_parse("written", written, length, &second);
	free(written);
	if (error || second.ways != first.ways || strcmp(first.cpu, second.cpu))
		abort();
	return 0;
}
