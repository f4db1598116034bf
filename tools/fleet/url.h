/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The URL of a database: clickhouse://HOST[:PORT]/DATABASE[?NAME=VALUE&...], or clickhouses:// with TLS.
 *
 * It goes to the server's HTTP interface (port 8123, with TLS 8443).  Names that say how to reach it:
 * password-file, ca, cert, key.  Names that choose: service, host, cpu, since, until.  Values have the
 * escapes of URLs (%20).  Secrets stand in files alone: a URL with a user or a password is refused, since
 * command lines are seen by everybody on a machine.
 */
#ifndef TOOLS_FLEET_URL_H
#define TOOLS_FLEET_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "pesa/error.h"

struct fleet_url {
	char *text;	 /* a copy, in which the others lie */
	char *with_port; /* NULL, or the server with the usual port */
	bool tls;
	const char *server;   /* HOST:PORT, brackets of IPv6 included */
	const char *database; /* a name */
	const char *password_file, *authority, *certificate, *key; /* NULL: none */
	const char *service, *host, *cpu;			   /* NULL: any */
	const char *since, *until;				   /* as given; NULL: none */
	uint32_t since_time, until_time;			   /* s since 1970; 0: none */
};

/* Take it apart.  `now`: ns since 1970.  Freed with fleet_url_free(). */
struct pesa_error *fleet_url_parse(const char *text, int64_t now, struct fleet_url *url);
void fleet_url_free(struct fleet_url *url);

#endif
