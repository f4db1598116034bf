/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers that take time: profiles of the next seconds, and the latest samples.
 *
 * Both come from the collector's files, which are only read; they consist of pieces (intervals.h).
 * A profile is made of the pieces between two points in time, merged if they are in several files,
 * as pprof.  An interval is one piece: the file itself if that is all of it; otherwise, and if the
 * kernel's addresses are hidden, an excerpt (excerpt.h).  Each answer is made by a thread of its
 * own, which mostly waits; files are processed one at a time, which bounds the memory.
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
	const char *directory; /* for temporary files */
	int compression;       /* of generated intervals */
	pthread_mutex_t exporting;
};

/* One of `text`, `data` and `file` is set. */
struct pesad_answer {
	unsigned int status; /* of HTTP */
	char text[256];	     /* message if the status is not 200 */
	char *data;	     /* malloc() */
	size_t size;
	int file;		     /* descriptor; -1: none */
	struct pesad_piece interval; /* of a file */
};

/* Answer with a pprof profile of the next `seconds`. */
void pesad_answer_profile(struct pesad_answerer *answerer, bool hide_kernel, uint64_t seconds,
			  struct pesad_answer *answer);
/* Answer with the piece after `after`, flushed after `seconds` unless it has ended by then. */
void pesad_answer_interval(struct pesad_answerer *answerer, bool hide_kernel, uint32_t after,
			   uint64_t seconds, struct pesad_answer *answer);

#endif
