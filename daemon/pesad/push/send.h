/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sending: one attempt to deliver a profile.
 *
 * The result is one of: delivered; refused, for which a retry is useless (4xx other than 408 and
 * 429); or failed, to be retried (network, TLS, timeout, 408, 429, 5xx, an invalid response).  At
 * most three redirections are followed, with method and body, never from https to http, and without
 * the secrets if the host differs.
 */
#ifndef DAEMON_PESAD_PUSH_SEND_H
#define DAEMON_PESAD_PUSH_SEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/pesad/push/profile_store.h"
#include "pesa/error.h"

enum pesa_sent {
	PESA_SENT_DELIVERED,
	PESA_SENT_REFUSED,
	PESA_SENT_FAILED,
	PESA_SENT_STOPPED, /* by pesa_sender_wake() with `stop` */
};

struct pesa_sender_options {
	struct pesa_store_target target;
	const char *token_file;	       /* "Authorization: Bearer"; NULL: none */
	const char *basic_file;	       /* USER:PASSWORD; NULL: none */
	const char *authority;	       /* certificates of authorities, PEM; NULL: the system's */
	const char *certificate, *key; /* of this client, PEM; NULL: none */
	bool verify;		       /* the server's certificate and name */
	uint64_t timeout;	       /* ns of one attempt */
};

struct pesa_sent_result {
	enum pesa_sent sent;
	uint64_t retry_after; /* ns that the server asked for; 0: nothing */
	char why[256];	      /* one line, for refused and failed */
};

struct pesa_sender;

/* The options' texts must outlive the sender. */
struct pesa_error *pesa_sender_create(const struct pesa_sender_options *options,
				      struct pesa_sender **sender);
void pesa_sender_free(struct pesa_sender *sender);

/* Send; on the thread that calls pesa_sender_wait(). */
struct pesa_sent_result pesa_sender_send(struct pesa_sender *sender,
					 const struct pesa_spool_entry *entry, const void *profile,
					 size_t size);
/* Wait up to `duration` ns, or until woken. */
void pesa_sender_wait(struct pesa_sender *sender, uint64_t duration);
/* From any thread: end a wait; with `stop` also the current and all later transfers. */
void pesa_sender_wake(struct pesa_sender *sender, bool stop);

#endif
