/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests: access control.
 *
 * The check has two stages.  First, whether the client may send requests at all:
 *
 *   - on the unix socket: users who may read the store (peer.h);
 *   - with a configured token: requests that carry it ("Authorization: Bearer TOKEN"); with a
 *     configured CA: clients that have a certificate; with both: both are required;
 *   - on an address that the configuration declares open: all clients.  On a loopback address that
 *     means local requests.  A web page can make a local browser send requests (a name that
 *     resolves to 127.0.0.1), and a local proxy forwards requests of others: so the Host header
 *     must name this host, and headers that proxies add must be absent;
 *   - on any other address: no client.
 *
 * Only then the path, method and arguments are checked.  The check allocates no memory and reads
 * nothing but its arguments.
 */
#ifndef DAEMON_PESAD_HTTP_REQUEST_H
#define DAEMON_PESAD_HTTP_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

enum pesad_reach {
	PESAD_REACH_SOCKET,   /* unix socket */
	PESAD_REACH_LOOPBACK, /* a port that only this host reaches */
	PESAD_REACH_NETWORK,
};

enum pesad_resource {
	PESAD_RESOURCE_NONE, /* only a status and a text */
	PESAD_RESOURCE_INDEX,
	PESAD_RESOURCE_PPROF_INDEX,
	PESAD_RESOURCE_HEALTH,
	PESAD_RESOURCE_METRICS,
	PESAD_RESOURCE_PROFILE,	 /* pprof of the next `seconds` */
	PESAD_RESOURCE_INTERVAL, /* perf.data of an interval that has ended */
	PESAD_RESOURCE_PAGE,	 /* page of a range of the store */
};

/* As received; NULL: absent. */
struct pesad_request {
	const char *method, *path;
	const char *host, *authorization;
	bool forwarded;		     /* has a header that only a proxy adds */
	const char *seconds, *after; /* arguments of the query */
	const char *since, *until, *unit, *cgroup, *host_name; /* likewise, of a page */
};

#define PESAD_TIME_MAX 40   /* bytes of a time, the last one 0 */
#define PESAD_NAME_MAX 256  /* of the name of a unit or host */
#define PESAD_PATH_MAX 1024 /* of a control group */

/* What a page is to show, as `pesa report` takes it; "": not given. */
struct pesad_range {
	char since[PESAD_TIME_MAX], until[PESAD_TIME_MAX];
	char unit[PESAD_NAME_MAX], host[PESAD_NAME_MAX], cgroup[PESAD_PATH_MAX];
};

struct pesad_access {
	enum pesad_reach reach;
	bool reads_store;  /* unix socket: the user at the other end */
	bool wants_token;  /* port: a token is configured */
	const char *token; /* NULL or "": not readable, every request is refused */
	bool wants_certificate, has_certificate;
	bool open;
	uint64_t seconds_most; /* the longest profile that a client may request */
};

struct pesad_judgement {
	unsigned int status; /* of HTTP; 200: answer with `resource` */
	enum pesad_resource resource;
	uint64_t seconds;	  /* length of a profile; maximum time to wait for an interval */
	uint64_t after;		  /* serial number of the previous interval; 0: none */
	struct pesad_range range; /* of a page */
	const char *text;	  /* message for another status */
};

#define PESAD_PROFILE_SECONDS 30u /* default length of a profile, as in Go */

void pesad_request_judge(const struct pesad_request *request, const struct pesad_access *access,
			 struct pesad_judgement *judgement);

/* Return whether only proxies add this header. */
bool pesad_header_of_proxy(const char *name);

#endif
