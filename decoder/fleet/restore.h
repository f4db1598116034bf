/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows that the database added up become a file with counted records.
 *
 * All binaries get places of their own in one address space, where no real address is (of 64 bits: from
 * 2^57 on, between the addresses of programs and those of the kernel), so that places in them are
 * addresses again, and addresses that were in no mapping stay so.  Processes and threads have names only:
 * each name is one process.
 *
 * Answers are given in this order: recordings, counts, samples; then, as long as restore_wanted() names
 * some, what their numbers stand for.
 */
#ifndef DECODER_FLEET_RESTORE_H
#define DECODER_FLEET_RESTORE_H

#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

struct restore;

struct restore *restore_create(void); /* NULL: out of memory */
void restore_free(struct restore *restore);

enum restore_answer {
	RESTORE_RECORDINGS,
	RESTORE_COUNTS,
	RESTORE_SAMPLES,
	RESTORE_RECORDS,
	RESTORE_BINARIES,
	RESTORE_CHAINS,
	RESTORE_EVENTS,
};

/* Take the answer to a query of schema.h. */
struct pesa_error *restore_take(struct restore *restore, enum restore_answer answer,
				const void *bytes, size_t size);
/* Up to `room` numbers of records, chains, binaries or events that have not been asked for; returns how
 * many, -1: out of memory.  Records name chains and events, both name binaries: ask in this order. */
long restore_wanted(struct restore *restore, enum restore_answer answer, uint64_t *numbers,
		    size_t room);
/* Write the file; `title` says where it is from. */
struct pesa_error *restore_write(struct restore *restore, const char *title, const char *path);

struct restore_totals {
	uint64_t recordings, hosts, samples, rows;
};
struct restore_totals restore_totals(const struct restore *restore);

#endif
