/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers that take time: profiles of the next seconds, and what was sampled last.
 *
 * Both come from the collector's files, which no answer changes: they are made of pieces
 * (intervals.h).  A profile is those between two moments, merged when they are of several files, in
 * pprof's form; an interval is one piece, the file as it is when that is all of it.  Otherwise, and
 * where the kernel's addresses are hidden, it is an excerpt (excerpt.h).  Each answer is made by a
 * thread of its own, which waits most of the time; files are read one after the other, so that
 * memory follows one of them.
 */
#ifndef DAEMON_PESAD_HTTP_ANSWER_H
#define DAEMON_PESAD_HTTP_ANSWER_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/pesad/base/intervals.h"

struct pesad_answerer {
	struct pesad_intervals *intervals;
	struct pesad_metrics *metrics;
	const char *directory; /* for what is made, removed again at once */
	int compression;       /* of intervals that are made */
	pthread_mutex_t exporting;
};

/* One of `text`, `data` and `file` is there. */
struct pesad_answer {
	unsigned int status; /* of HTTP */
	char text[256];	     /* what to say when it is not 200 */
	char *data;	     /* malloc() */
	size_t size;
	int file;		     /* descriptor; -1: none */
	struct pesad_piece interval; /* of a file */
};

/* Answer with pprof of the next `seconds`. */
void pesad_answer_profile(struct pesad_answerer *answerer, bool hide_kernel, uint64_t seconds,
			  struct pesad_answer *answer);
/* Answer with the piece behind `after`, which ends after `seconds` if it has not ended by then. */
void pesad_answer_interval(struct pesad_answerer *answerer, bool hide_kernel, uint32_t after,
			   uint64_t seconds, struct pesad_answer *answer);

#endif
