/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests to a ClickHouse server, over its HTTP interface.
 *
 * Server and network are hostile: an answer has a limit of bytes, a request a deadline, nothing is
 * redirected, and an answer counts only if its status says that it is complete.
 */
#ifndef TOOLS_FLEET_SERVER_H
#define TOOLS_FLEET_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "decoder/perfdata/buffer.h"
#include "pesa/error.h"
#include "tools/fleet/url.h"

struct server;

/* The URL is used as long as the server is. */
struct pesa_error *server_open(const struct fleet_url *url, struct server **server);
void server_close(struct server *server);
/* HOST:PORT, for messages. */
const char *server_name(const struct server *server);

/* Run a statement and append its answer. */
struct pesa_error *server_ask(struct server *server, const struct perfdata_buffer *sql,
			      struct perfdata_buffer *answer);
/* Insert rows: `sql` ends with FORMAT Native. */
struct pesa_error *server_insert(struct server *server, const struct perfdata_buffer *sql,
				 const void *rows, size_t size);

#endif
