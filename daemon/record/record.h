/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recording through the kernel: opens events, reads their rings, writes perf.data.
 *
 * Every event is opened for every task on every CPU, or for every CPU.  All events of a CPU share
 * one ring, so the records of a CPU are in order.  The recorder waits until a ring fills, reads all
 * of them and ends the round with FINISHED_ROUND: readers sort events round by round.
 *
 * CPU-wide recording includes CPUs that come online later.  Tasks are recorded on the CPUs that
 * existed when the recording began, online or not.
 *
 * With `snapshot` the samples go to overwritable rings, and only the side band is written as it
 * comes; the contents of the rings are written on SIGUSR2 and at the end.  Each time, as with
 * switching, the file is finished and renamed to its name plus a time stamp, and the next file
 * begins with the side band of all running tasks.
 */
#ifndef DAEMON_RECORD_RECORD_H
#define DAEMON_RECORD_RECORD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/events/event.h"
#include "daemon/events/pmu.h"
#include "pesa/error.h"

#define PESA_HARDWARE_EVENTS_MAX 16u

struct pesa_hardware_options {
	/* PESA_PMU_DIRECTORY, or a directory of the same layout */
	const char *devices;
	const struct pesa_event_catalogue *catalogue; /* event files; NULL: none */
	const char *const *events;
	unsigned int event_count; /* 1 to PESA_HARDWARE_EVENTS_MAX */
	/*
	 * The events count the same thing in modes that exclude each other (source.h): in the file
	 * they are one event of this name.  NULL: they are events of their own.
	 */
	const char *joined;
	struct pesa_sampling sampling; /* backward, tracking and enable_on_exec are set by the
				        * recorder */
	bool system_wide;
	bool has_cpus; /* only `cpus`; false: all online CPUs */
	struct pesa_cpu_set cpus;
	const pid_t *processes; /* including all their threads */
	size_t process_count;
	const pid_t *threads;
	size_t thread_count;
	size_t ring_bytes; /* per CPU, without the first page; 0: default */
	uint64_t duration; /* ns; 0: until the program or the tasks end */
	bool snapshot;
	bool switch_on_signal; /* begin a new file on SIGUSR2 */
	uint64_t switch_bytes; /* begin a new file at this size; 0: never */
	uint64_t switch_time;  /* begin a new file after this time in ns; 0: never */
	const char *output;    /* "-": a pipe on standard output */
	int compression;       /* zstd level, 0: none */
	char *const *command;  /* the recorder's argv, stored in the file */
	char *const *program;  /* argv to run; NULL: none */
};

struct pesa_hardware_summary {
	int status;	 /* wait status of the program; 0 without one */
	bool unfinished; /* the program did not end and was killed */
	uint64_t samples;
	uint64_t lost;	    /* samples lost because a ring was full */
	uint64_t discarded; /* overflows that the hardware discarded while a sample was pending */
	uint64_t filled;    /* number of times that an AutoRun buffer was full */
	uint64_t throttled; /* number of times that the kernel throttled an event */
	/*
	 * 0, or, if most of the time went into taking samples, the shortest period that avoids
	 * this.
	 */
	uint64_t shortest_period;
	uint64_t raised_period;	 /* used in place of a period below the least of a PMU; 0: none */
	uint64_t damaged;	 /* bytes in rings that were not records */
	uint64_t late_build_ids; /* maps without a build id because the file was not read in time */
	uint64_t bytes;		 /* in all files */
	unsigned int files;
	char file[PATH_MAX];  /* name of the last file */
	bool user_only;	      /* the kernel was excluded for lack of privileges */
	bool kernel_hidden;   /* the kernel's addresses could not be read */
	uint64_t followed;    /* CPUs that came online and were added */
	char unfollowed[256]; /* why CPUs that came online were not recorded; "": all were */
};

/*
 * Record.  Returns an error if nothing could be recorded or a file could not be written; the
 * program's own result is summary->status.  SIGINT, SIGTERM, SIGQUIT and SIGHUP end the recording:
 * the signal is passed on to the program (unless the terminal sent it), which has 2 seconds to end;
 * a second signal kills it.  The file is complete in every case.
 */
struct pesa_error *pesa_hardware_record(const struct pesa_hardware_options *options,
					struct pesa_hardware_summary *summary);

#endif
