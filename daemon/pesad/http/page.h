/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages: what `pesa report --html` writes for a range of the store.
 *
 * The program pesa beside pesad makes them: a child process of the worker, with the worker's filter
 * of system calls, and limits of its own for time, memory and the size of files.  It reads finished
 * intervals; if the kernel's addresses are hidden, excerpts of them (excerpt.h).  One page is made
 * at a time; meanwhile others are refused and may be asked for again.
 */
#ifndef DAEMON_PESAD_HTTP_PAGE_H
#define DAEMON_PESAD_HTTP_PAGE_H

#include "daemon/pesad/http/answer.h"
#include "daemon/pesad/http/request.h"

struct pesad_pager {
	struct pesad_answerer *answerer;
	const char *store; /* directory */
	uint64_t time;	   /* ns that a page may take */
	uint64_t size;	   /* bytes that a file of it may have */
	char *program;	   /* pesa; NULL: not installed */
	pthread_mutex_t busy;
};

/* Find the program, and prepare the lock; the caller fills in the other members. */
void pesad_pager_begin(struct pesad_pager *pager);
void pesad_pager_end(struct pesad_pager *pager);
/* Answer with the page of a range. */
void pesad_answer_page(struct pesad_pager *pager, bool hide_kernel, const struct pesad_range *range,
		       struct pesad_answer *answer);

#endif
