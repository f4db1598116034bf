/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests that store a parcel (decoder/fleet/parcel.h) in a ClickHouse database.
 *
 * A parcel takes several requests, in this order: what version the tables have, the rows of each table,
 * and at last the row by which they count.  One that fails ends the attempt; the next attempt has
 * another number, and what arrived of this one never counts.
 */
#ifndef DAEMON_PESAD_PUSH_DATABASE_H
#define DAEMON_PESAD_PUSH_DATABASE_H

#include <stdint.h>
#include <stdio.h>

#include "daemon/pesad/push/profile_store.h"
#include "decoder/fleet/fleet.h"

struct push_parcel {
	struct fleet_blocks blocks;
	unsigned int step; /* of the next request */
	char nothing[1];   /* the body of a query */
	bool cluster;	   /* the tables are spread over several servers */
};

/* Count the recording in `path`, which began at `from` (ns since 1970), into a parcel. */
struct pesa_error *push_parcel_make(const char *path, const char *service, uint64_t from,
				    FILE *out);

/* Open a parcel of the spool, and give it the number of an attempt.  Closed with push_parcel_close(),
 * also after an error. */
struct pesa_error *push_parcel_open(const void *bytes, size_t size, struct push_parcel *parcel);
void push_parcel_close(struct push_parcel *parcel);

/* The next request; *any: false if there is none.  Its body belongs to the parcel. */
struct pesa_error *push_parcel_request(struct push_parcel *parcel,
				       const struct pesa_store_target *target,
				       struct pesa_store_request *request, bool *any);
/* Take the answer to the request that was made last; an error ends the attempt. */
struct pesa_error *push_parcel_answered(struct push_parcel *parcel, const char *answer);

/* Whether the path of a target's URL is the name of a database. */
struct pesa_error *push_database_check(const struct pesa_store_target *target);

#endif
