/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of the functions that places of the database lie in.
 *
 * The database has binaries and offsets; what they are called is known where the programs are, or can be
 * had by build id.  Dashboards are elsewhere.  So whoever has programs puts the names of the places that
 * samples have into the table `functions`: those that pesa report shows, each place once.  A place whose
 * program is not here, or that is in no function, gets no row.
 */
#ifndef DECODER_FLEET_FUNCTIONS_H
#define DECODER_FLEET_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "decoder/perfdata/buffer.h"
#include "pesa/error.h"

struct fleet_functions;

/* `root`: as pesa_profile_options.symbol_root. */
struct pesa_error *fleet_functions_create(const char *root, struct fleet_functions **functions);
void fleet_functions_free(struct fleet_functions *functions);

/* Take the answer to query_sampled_binaries(), and look for their programs. */
struct pesa_error *fleet_functions_binaries(struct fleet_functions *functions, const void *bytes,
					    size_t size);
/* The binaries that are here, *count of them, and in *absent how many are not. */
const uint64_t *fleet_functions_present(const struct fleet_functions *functions, size_t *count,
					size_t *absent);

/* Take the answer to query_unnamed_places() and make a block of rows of it; *rows: how many, *unnamed: how
 * many places got none. */
struct pesa_error *fleet_functions_name(struct fleet_functions *functions, const void *bytes,
					size_t size, struct perfdata_buffer *block, uint32_t *rows,
					uint64_t *unnamed);
/* "binary, pc, ...", for INSERT INTO functions. */
const char *fleet_functions_columns(void);

#endif
