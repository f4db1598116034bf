/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a profile, shared by loading, reading and comparing. */
#ifndef DECODER_PROFILE_DATA_H
#define DECODER_PROFILE_DATA_H

#include "decoder/binary/binaries.h"
#include "decoder/profile/store.h"
#include "pesa/profile.h"
#include "pesa/space.h"

struct pesa_profile {
	struct pesa_profile_totals totals;
	struct pesa_perfdata_losses losses; /* its `damage` string belongs to the profile */
	struct pesa_capabilities capabilities;
	char *event, *arch, *cmdline, *cpu_id, *hostname, *os_release; /* NULL: unknown */
	struct pesa_count *count; /* name strings belong to the profile */
	size_t counts;
	struct pesa_spaces *spaces;
	struct pesa_binaries *binaries;
	uint32_t *dso; /* number in `spaces` of each dso of the profile */
	uint32_t dsos;
	struct pesa_profile_arrays arrays;
	size_t *first; /* first instruction of each dso, dsos + 1 */
	/* By instruction, executions and their errors; NULL: those of the samples. */
	double *executions, *errors;
};

#endif
