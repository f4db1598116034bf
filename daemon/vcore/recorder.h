/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internals of recording on the virtual core.  The recorder (record.c) polls the rings of all
 * processes of the guest; the messages in them become records of the files (messages.c).
 */
#ifndef DAEMON_VCORE_RECORDER_H
#define DAEMON_VCORE_RECORDER_H

#include <sys/types.h>

#include "daemon/vcore/channel.h"
#include "daemon/vcore/exact.h"
#include "daemon/vcore/record.h"
#include "pesa/perfdata.h"

#define RECORDER_MESSAGE_MAX 65536u /* bytes */
#define RECORDER_CPUS	     64u    /* guest CPUs are numbered modulo this in the files */

struct stream {
	struct pesa_perfdata_writer *writer;
	bool golden;
	const char *path;
	bool had_previous; /* a file of that name, which the writer renamed to PATH.old */
	unsigned int attribute[VCORE_SAMPLER_COUNT]; /* attribute index of each sampler's samples */
};

struct watched {
	struct vcore_region *region; /* NULL: finished */
	uint32_t pid;
	int pidfd;	 /* -1: not available */
	uint64_t newest; /* ns; newest time of its messages */
};

struct recorder {
	const struct pesa_vcore_options *options;
	struct pesa_vcore_summary *summary;
	int memory; /* file descriptor */
	struct vcore_control *control;
	struct stream stream[2];
	unsigned int streams;
	struct watched *watched;
	uint32_t count;
	pid_t child;
	bool child_gone;
	/*
	 * Times: records of a round are not older than the newest one of the round before the last.
	 */
	uint64_t floor, round_newest, newest;
	uint64_t round_bytes;
	uint32_t round_turns;
	struct vcore_exact *exact;
	uint32_t exact_pid;
	uint64_t exact_time;
	unsigned char *message;
};

/* A time as it is written: not before the last round. */
uint64_t recorder_clamp(struct recorder *recorder, uint64_t time);

/* Of two errors the first; if one file cannot be written, the other one is continued. */
struct pesa_error *recorder_first_error(struct pesa_error *first, struct pesa_error *second);

/* Process the messages of a ring.  After an error some may be left; each call takes at least one. */
struct pesa_error *recorder_drain(struct recorder *recorder, struct watched *watched);

/*
 * Write the exact profile of the first `entries` entries that are in [start, end), and clear it.
 */
struct pesa_error *recorder_take_exact(struct recorder *recorder, struct watched *watched,
				       uint32_t entries, uint64_t start, uint64_t end,
				       uint64_t time);

/* Add a hart that has ended to the summary. */
struct pesa_error *recorder_end_hart(struct recorder *recorder, uint32_t pid, uint32_t tid,
				     const struct vcore_totals *totals,
				     const struct vcore_counters *counters);

/* Write how many samples were lost, if any. */
struct pesa_error *recorder_write_lost(struct recorder *recorder, uint64_t count, uint64_t time);

#endif
