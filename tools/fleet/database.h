/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `pesa store` and the reader of a database do with its tables. */
#ifndef TOOLS_FLEET_DATABASE_H
#define TOOLS_FLEET_DATABASE_H

#include <stdbool.h>

#include "decoder/fleet/fleet.h"
#include "tools/fleet/server.h"

struct database {
	const struct fleet_url *url;
	struct server *server;
	bool cluster; /* it is spread over several servers */
	struct fleet_sent sent;
};

/* Connect, and see that its tables are those of this version.  Closed with database_close(), also after
 * an error. */
struct pesa_error *database_open(const struct fleet_url *url, struct database *database);
void database_close(struct database *database);

/* Make the tables of one server, or bring them up to date; *before: the version that it had, 0: none. */
struct pesa_error *database_create(const struct fleet_url *url, const char *cluster,
				   unsigned int *before);

/* Drop what was recorded before the day of a time (s since 1970, UTC), on one server. */
struct pesa_error *database_drop_before(const struct fleet_url *url, uint32_t before,
					unsigned int *days);

/* Send recordings, all in one insert for each table.  Each counts as soon as all of it has arrived, and
 * once; after an error none may be taken as sent. */
struct pesa_error *database_put(struct database *database, struct fleet_recording *recordings,
				size_t count, const char *service, uint64_t *bytes);

struct database_named {
	uint64_t places,
		unnamed; /* that got a name now; whose binary is here, but no function of it */
	size_t binaries, absent; /* that samples are of, and those of them that are not here */
};
/* Name the functions of places that have samples and no name yet, by the binaries that are here. */
struct pesa_error *database_name_functions(struct database *database, const char *root,
					   struct database_named *named);

/* Read what the URL chooses into a file of counted records. */
struct pesa_error *database_get(struct database *database, const char *path);

#endif
