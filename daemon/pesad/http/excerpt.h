/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Excerpts: a part of a recording as a recording of its own, optionally without kernel addresses.
 *
 * A part is between two flush positions of the file: its samples and losses, preceded by the side
 * band of the file up to the part's end.  So consecutive parts have each sample once, and each part
 * is complete by itself, even while the file is still written.
 *
 * If kernel addresses are hidden: the kernel's maps are left out; a sample in the kernel has an
 * address in a map named PESAD_EXCERPT_HIDDEN; records are marked as scrubbed, and their kernel
 * targets and data are 0, as the driver does it.  The rest of the sample is kept: process, state of
 * the retire stage, causes.
 */
#ifndef DAEMON_PESAD_HTTP_EXCERPT_H
#define DAEMON_PESAD_HTTP_EXCERPT_H

#include <stdbool.h>
#include <stdint.h>

#include "pesa/error.h"

#define PESAD_EXCERPT_HIDDEN "[kernel: address hidden]"

struct pesad_excerpt {
	uint64_t begin, end; /* bytes of the file; UINT64_MAX: to its end */
	bool hide_kernel;
	int compression; /* level of zstd; 0: none */
};

/* Write the excerpt.  *hidden: number of samples whose addresses were removed. */
struct pesa_error *pesad_excerpt_write(const char *path, const struct pesad_excerpt *excerpt,
				       const char *to, uint64_t *hidden);

#endif
