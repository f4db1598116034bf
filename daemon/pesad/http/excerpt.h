/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Excerpts: a part of a recording, and what may be seen of it, as a recording of its own.
 *
 * The part is what stands between two places of the file, both ends of something that was flushed:
 * its samples and losses, behind all that was told of processes and maps up to its end.  So parts
 * that follow each other have each sample once, and each makes sense by itself, also while the file
 * is still being written.
 *
 * Where the kernel's addresses are hidden, its maps are left out, a sample in the kernel has the
 * one address of a map that says so (PESAD_EXCERPT_HIDDEN), records are marked as scrubbed, and
 * their targets and data in the kernel are 0, as the driver leaves them out.  Everything else of
 * such a sample stays: the process, the state of the retire stage and its causes.
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

/* Write it to a file.  *hidden: samples whose addresses were taken out. */
struct pesa_error *pesad_excerpt_write(const char *path, const struct pesad_excerpt *excerpt,
				       const char *to, uint64_t *hidden);

#endif
