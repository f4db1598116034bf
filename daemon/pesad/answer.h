/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers that take time: profiles of the next seconds, and intervals that have not ended yet.
 *
 * Both come from the collector's files.  A profile is the files between two cuts, merged when they
 * are several, in pprof's form; an interval is a file as it is.  Each answer is made by a thread of
 * its own, which waits most of the time; exports are made one after the other, so that memory
 * follows one of them.
 */
#ifndef DAEMON_PESAD_ANSWER_H
#define DAEMON_PESAD_ANSWER_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/pesad/intervals.h"

struct pesad_answerer {
	struct pesad_intervals *intervals;
	const char *directory; /* for what is merged, removed again at once */
	pthread_mutex_t exporting;
};

/* One of `text`, `data` and `file` is there. */
struct pesad_answer {
	unsigned int status; /* of HTTP */
	char text[256];	     /* what to say when it is not 200 */
	char *data;	     /* malloc() */
	size_t size;
	int file;		       /* descriptor; -1: none */
	struct pesad_message interval; /* of a file */
};

/* Answer with pprof of the next `seconds`. */
void pesad_answer_profile(struct pesad_answerer *answerer, uint64_t seconds,
			  struct pesad_answer *answer);
/* Answer with the interval behind `after`, ended after `seconds` if it has not ended by then. */
void pesad_answer_interval(struct pesad_answerer *answerer, uint32_t after, uint64_t seconds,
			   struct pesad_answer *answer);

#endif
