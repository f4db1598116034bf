/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clients: the connections of a listener, with limits per peer and in time.
 *
 * A peer (a user on the unix socket, an address on a port) can have a share of the connections.  A
 * connection whose request is not complete in time is shut down, even if it keeps sending: the
 * deadline counts from its start, or from the end of its last answer.
 */
#ifndef DAEMON_PESAD_HTTP_CLIENTS_H
#define DAEMON_PESAD_HTTP_CLIENTS_H

#include <stdint.h>

struct pesad_clients;
struct pesad_client;

/* Identifies the peer of a connection. */
struct pesad_client_key {
	uint64_t family, value;
};

/* NULL: out of memory. */
struct pesad_clients *pesad_clients_create(unsigned int most_of_a_peer, uint64_t timeout);
void pesad_clients_free(struct pesad_clients *clients);

/* Add a connection.  NULL: the peer has used its share, or out of memory. */
struct pesad_client *pesad_clients_add(struct pesad_clients *clients, int socket,
				       struct pesad_client_key key);
/* Remove a connection, whose socket must still be open.  NULL: nothing. */
void pesad_clients_remove(struct pesad_clients *clients, struct pesad_client *client);
/* The client's request is complete; its answer is complete. */
void pesad_client_request_complete(struct pesad_clients *clients, struct pesad_client *client);
void pesad_client_was_answered(struct pesad_clients *clients, struct pesad_client *client);

/* Shut down the connections that are too late.  Returns their number. */
unsigned int pesad_clients_drop_late(struct pesad_clients *clients);

#endif
