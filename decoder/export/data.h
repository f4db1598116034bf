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
	uint32_t pid, tid, cpu;
	uint32_t process, thread; /* names, in texts; DISTINCT_NONE: unknown */
};

/* Samples that must be kept separate even if their records are equal.  All fields are the key. */
struct export_group {
	uint32_t task, chain; /* chain in chains; DISTINCT_NONE: no call chain */
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
	uint64_t weight, executions;
};

struct pesa_export {
	struct pesa_profile_listener listener;
	struct thread_names *names;
	struct distinct_bytes texts, chains;
	struct distinct_records tasks, groups, nodes, rows;
	uint64_t first, last; /* ns, time of samples; 0: none */
	uint32_t same_pid, same_tid, same_cpu,
		same_task; /* of the last sample; DISTINCT_NONE: not looked up */
};

#endif
