/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sources: where pesa top's intervals come from.
 *
 * Each gives one perf.data file after the other.  One asks a daemon for its intervals (GET
 * /debug/pesa/interval, over its unix socket or the network), the other records by itself.  Both do
 * it on their own: a descriptor becomes readable when there is a file, or something to say.
 */
#ifndef TOOLS_TOP_SOURCE_H
#define TOOLS_TOP_SOURCE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "pesa/error.h"

struct top_interval {
	char path[2048]; /* of the file, to be removed when it was read; "": none.  Small enough for
			    a pipe to take all of it at once */
	struct pesa_error *error; /* NULL, or why there is none */
	bool fatal;		  /* the source has ended */
};

struct top_source {
	void *state;
	const char *name; /* "daemon", "own event" */
	int descriptor;	  /* poll() it for reading */
	/* The next file or message; false: there is none yet. */
	bool (*take)(void *state, struct top_interval *interval);
	void (*close)(void *state);
};

struct top_daemon_options {
	const char *socket;	/* path; NULL: `url` */
	const char *url;	/* base URL */
	const char *token_file; /* NULL: none */
	const char *authority;	/* certificates, PEM; NULL: the system's */
	uint64_t delay;		/* ns of an interval */
};

struct top_event_options {
	const char *event;
	uint64_t frequency, period; /* 0: the default */
	const pid_t *processes, *threads;
	unsigned int process_count, thread_count; /* 0 both: the whole system */
	uint64_t delay;				  /* ns of an interval */
};

/* The texts must outlive the source.  `folder`: an empty directory for its files. */
struct pesa_error *top_daemon_open(const struct top_daemon_options *options, const char *folder,
				   struct top_source *source);
struct pesa_error *top_event_open(const struct top_event_options *options, const char *folder,
				  struct top_source *source);

#endif
