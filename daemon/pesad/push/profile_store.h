/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profile stores: how each wants a profile in pprof form to be sent.
 *
 *   pyroscope       /ingest?name=APP{labels}&from=&until=: a form with the profile
 *                   and what its sample types are (without that, servers drop types that they do
 *                   not know, and name the profile after the last one)
 *   pyroscope-push  /push.v1.PusherService/Push: a PushRequest of the Connect protocol, as protobuf
 *   alloy           the same: pyroscope.receive_http takes both of Pyroscope's
 *   parca           /api/profiles/writeraw: a WriteRawRequest as JSON
 *
 * Sources: "Server HTTP API" in Pyroscope's documentation (reference-server-api) and its
 * api/push/v1/push.proto and api/types/v1/types.proto; "Connect Protocol Reference"
 * (connectrpc.com) for unary requests; the page of pyroscope.receive_http in Grafana Alloy's
 * documentation; for Parca proto/parca/profilestore/v1alpha1/profilestore.proto, whose
 * google.api.http annotation gives path and body, below /api where its server mounts the gateway
 * (pkg/server/server.go).
 */
#ifndef DAEMON_PESAD_PUSH_PROFILE_STORE_H
#define DAEMON_PESAD_PUSH_PROFILE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/pesad/push/spool.h"
#include "pesa/error.h"

enum pesa_store_kind {
	PESA_STORE_PYROSCOPE,
	PESA_STORE_PYROSCOPE_PUSH,
	PESA_STORE_ALLOY,
	PESA_STORE_PARCA,
	PESA_STORE_CLICKHOUSE, /* a database: not a profile, but a parcel (database.h) */
	PESA_STORE_KINDS,
};

struct pesa_label {
	const char *name, *value;
};

/* What a store shall know about where profiles come from. */
struct pesa_store_target {
	enum pesa_store_kind kind;
	const char *url;	 /* base: "https://pyroscope.example:4040" */
	const char *application; /* Pyroscope's service_name, Parca's job */
	const char *tenant;	 /* NULL: none */
	const struct pesa_label *labels;
	size_t label_count;
};

#define CONTENT_TYPE_MAX 96

/* A request, ready to be sent.  All of it is freed with pesa_store_request_free(). */
struct pesa_store_request {
	char *url;
	char content_type[CONTENT_TYPE_MAX];
	char *tenant_header;	  /* a whole header line; NULL: none */
	const char *extra_header; /* likewise */
	char *body;
	size_t body_size;
	bool body_is_lent; /* it is not freed with the request */
};

/* "pyroscope", "parca", ...; false if it is none. */
bool pesa_store_kind_parse(const char *name, enum pesa_store_kind *kind);

/* Whether a target can be asked for at all: its URL, its labels. */
struct pesa_error *pesa_store_check(const struct pesa_store_target *target);

/* Make the request for a profile (gzip of pprof's protobuf). */
struct pesa_error *pesa_store_request(const struct pesa_store_target *target,
				      const struct pesa_spool_entry *entry, const void *profile,
				      size_t size, struct pesa_store_request *request);
void pesa_store_request_free(struct pesa_store_request *request);

#endif
