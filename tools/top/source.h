/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sources of intervals for pesa top.
 *
 * A source delivers perf.data files.  One source requests intervals from a daemon (GET
 * /debug/pesa/interval, over its unix socket or the network), the other records an event itself.
 * Both work in the background; a descriptor becomes readable when there is a file or an error.
 */
#ifndef TOOLS_TOP_SOURCE_H
#define TOOLS_TOP_SOURCE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "pesa/error.h"

struct top_interval {
	char path[2048]; /* path of the file, which the reader removes; "": none.  Limited so
			  * that a pipe write is atomic */
	struct pesa_error *error; /* NULL, or why there is no file */
	bool fatal;		  /* the source has ended */
};

struct top_source {
	void *state;
	const char *name; /* "daemon", "own event" */
	int descriptor;	  /* poll() it for reading */
	/* Get the next file or message; false: none yet. */
	bool (*take)(void *state, struct top_interval *interval);
	void (*close)(void *state);
};

struct pesa_event_catalogue;

struct top_daemon_options {
	const char *socket;	/* path; NULL: `url` */
	const char *url;	/* base URL */
	const char *token_file; /* NULL: none */
	const char *authority;	/* certificates, PEM; NULL: the system's */
	uint64_t delay;		/* ns of an interval */
};

struct top_event_options {
	const char *event;
	const char
		*second; /* a second event that counts the same thing in other modes; NULL: none */
	const char *joined; /* name of what was chosen; NULL: the user named the event */
	const struct pesa_event_catalogue *catalogue; /* event files; NULL: none */
	uint64_t frequency, period;		      /* 0: the default */
	const pid_t *processes, *threads;
	unsigned int process_count, thread_count; /* both 0: the whole system */
	uint64_t delay;				  /* ns of an interval */
};

/* The strings must outlive the source.  `folder`: an empty directory for its files. */
struct pesa_error *top_daemon_open(const struct top_daemon_options *options, const char *folder,
				   struct top_source *source);
struct pesa_error *top_event_open(const struct top_event_options *options, const char *folder,
				  struct top_source *source);

#endif
