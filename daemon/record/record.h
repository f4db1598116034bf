/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recording through the kernel: open events, read their rings, write perf.data.
 *
 * Every event is opened for every task on every CPU (or for whatever runs on a CPU), and everything
 * on one CPU goes into one ring, so that the records of a CPU are in order.  The recorder waits for
 * rings that fill, empties all of them and closes a round: readers put events in order round by
 * round.
 *
 * CPUs that come online while whole CPUs are recorded are recorded from then on.  Tasks are
 * recorded on the CPUs that were there when the recording began, online or not.
 *
 * With `snapshot` the samples go into overwritable rings, and only the side band is written as it
 * comes; what the rings hold is written when SIGUSR2 arrives and at the end.  Each time, as with
 * switching, the file is finished and renamed to its name with the time behind it, and the next one
 * begins with everything that runs then.
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
	const char *devices;			      /* PESA_PMU_DIRECTORY, or one like it */
	const struct pesa_event_catalogue *catalogue; /* of event files, NULL: none */
	const char *const *events;
	unsigned int event_count;      /* 1 to PESA_HARDWARE_EVENTS_MAX */
	struct pesa_sampling sampling; /* backward, tracking and enable_on_exec are ours to set */
	bool system_wide;
	bool has_cpus; /* `cpus` only; false: all that are online */
	struct pesa_cpu_set cpus;
	const pid_t *processes; /* with all their threads */
	size_t process_count;
	const pid_t *threads;
	size_t thread_count;
	size_t ring_bytes; /* of each CPU, without the first page; 0: the default */
	uint64_t duration; /* ns; 0: until the program or the tasks end */
	bool snapshot;
	bool switch_on_signal; /* SIGUSR2 begins a new file */
	uint64_t switch_bytes; /* a new file when the file has so many; 0: not */
	uint64_t switch_time;  /* a new file after so many ns; 0: not */
	const char *output;    /* "-": a pipe on standard output */
	int compression;       /* zstd level, 0: none */
	char *const *command;  /* of the recorder, for the file */
	char *const *program;  /* argv to run, NULL: none */
};

struct pesa_hardware_summary {
	int status;	 /* of the program, as from waitpid(); 0 without one */
	bool unfinished; /* the program was still running and was killed */
	uint64_t samples;
	uint64_t lost;	    /* that found no room in a ring */
	uint64_t discarded; /* that the hardware took while the last one had not been read yet */
	uint64_t filled;    /* times that a hart had no room for its own records (AutoRun) */
	uint64_t throttled; /* times that the kernel stopped an event for its rate */
	/* 0; or most of the time went into taking the samples: the shortest period with which it does
	 * not. */
	uint64_t shortest_period;
	uint64_t damaged;	 /* bytes in rings that were no records */
	uint64_t late_build_ids; /* maps without one, since a file did not answer in time */
	uint64_t bytes;		 /* of all files */
	unsigned int files;
	char file[PATH_MAX];  /* the last one */
	bool user_only;	      /* the kernel was left out for want of privilege */
	bool kernel_hidden;   /* the kernel's addresses could not be read */
	uint64_t followed;    /* CPUs that came and are recorded since */
	char unfollowed[256]; /* why CPUs that came were not recorded; "": all were */
};

/*
 * Record.  Returns an error when nothing could be recorded or a file could not be written; what the
 * program itself did is summary->status.  SIGINT, SIGTERM, SIGQUIT and SIGHUP end the recording: a
 * program is told (unless the terminal has told it) and given 2 seconds to end, a second signal
 * ends it at once.  The file is complete in every case.
 */
struct pesa_error *pesa_hardware_record(const struct pesa_hardware_options *options,
					struct pesa_hardware_summary *summary);

#endif
