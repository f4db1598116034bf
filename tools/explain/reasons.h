/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reasons: what a bucket of a cycle stack means in words, and what can be done about it.
 */
#ifndef TOOLS_EXPLAIN_REASONS_H
#define TOOLS_EXPLAIN_REASONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/topdown.h"

struct explain_reason {
	unsigned int state; /* PESA_STATE_* */
	uint16_t cause;	    /* one of these bits is among the causes; 0: any or none */
	bool blocked;	    /* the core's own bit for no room in the back end is among them */
	const char *words;  /* the end of "12 % of its cycles ..." */
	const char *advice; /* what may make them fewer */
};

#define EXPLAIN_REASONS 10

/* The reason of a bucket, an index below EXPLAIN_REASONS; EXPLAIN_REASONS: the state is unknown. */
size_t explain_reason_of(const struct pesa_topdown_bits *bits, unsigned int state, uint16_t cause);
const struct explain_reason *explain_reason(size_t index);

#endif
