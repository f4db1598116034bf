/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data that an export collects while a profile is loaded: tasks, call chains, nodes of the tree of
 * stacks, and rows.  See pesa/export.h.
 */
#ifndef DECODER_EXPORT_DATA_H
#define DECODER_EXPORT_DATA_H

#include "decoder/base/distinct.h"
#include "decoder/profile/thread_names.h"
#include "pesa/export.h"

/* States of rows: those of a profile (including PESA_STATE_UNKNOWN), and one for unattributed
 * weight. */
#define EXPORT_UNATTRIBUTED PESA_PROFILE_STATES
#define EXPORT_STATES	    (PESA_PROFILE_STATES + 1)

/* Thread and CPU of samples.  All fields are the key. */
struct export_task {
	uint32_t pid, tid, cpu;	  /* cpu: UINT32_MAX if it was not recorded */
	uint32_t process, thread; /* names, in texts; DISTINCT_NONE: unknown */
	uint32_t cgroup;	  /* path, in texts; DISTINCT_NONE: not recorded */
};

/* A control group.  The id is the key. */
struct export_cgroup {
	uint64_t id;
	uint32_t path; /* in texts */
};

/* Samples that must be kept separate even if their records are equal.  All fields are the key. */
struct export_group {
	uint32_t task, chain; /* chain in chains; DISTINCT_NONE: no call chain */
	uint64_t slice;	      /* as in struct export_row */
};

/* A place with all its callers.  All fields are the key. */
struct export_node {
	uint32_t caller; /* node; DISTINCT_NONE: unknown */
	uint32_t
		dso; /* as in struct pesa_place; DISTINCT_NONE: address is an enum pesa_unattributed
		      */
	uint64_t address; /* of a caller: within its call instruction */
};

/* The key ends before weight. */
struct export_row {
	uint32_t state; /* PESA_STATE_*, PESA_STATE_UNKNOWN, EXPORT_UNATTRIBUTED */
	uint32_t cause, node, task;
	uint64_t slice; /* ns, a time in the slice of the sample; 0: slices are not kept apart */
	uint64_t weight, executions;
	uint64_t retired_samples; /* in which it retired */
};

struct pesa_export {
	struct pesa_profile_listener listener;
	struct thread_names *names;
	struct distinct_bytes texts, chains;
	struct distinct_records tasks, groups, nodes, rows;
	struct distinct_records cgroups; /* struct export_cgroup */
	uint64_t first, last;		 /* ns, time of samples; 0: none */
	unsigned int slice_shift; /* slices have 2^slice_shift ns; 0: they are not kept apart */
	/* Of the last sample; same_task DISTINCT_NONE: not looked up. */
	uint32_t same_pid, same_tid, same_cpu, same_task;
	uint64_t same_cgroup;
	struct export_group same_group;
	uint32_t same_number; /* of the group; DISTINCT_NONE: none yet */
};

/*
 * Keep apart what was sampled in different slices of time, about EXPORT_SLICES of them: for a timeline.
 * Before the first sample.  Slices become longer while a recording is read, so that earlier ones may
 * be shorter: rows have a time in their slice.
 */
#define EXPORT_SLICES 64u
void export_keep_slices(struct pesa_export *rows);

#endif
