/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clients: the connections of a listener, so that no peer takes all of them and none waits for
 * ever.
 *
 * A peer (a user on the unix socket, an address on a port) has a share of the connections.  A
 * connection that has not brought its whole request in time is shut down, however lively it sends:
 * the deadline counts from its begin, or from the end of its last answer.
 */
#ifndef DAEMON_PESAD_HTTP_CLIENTS_H
#define DAEMON_PESAD_HTTP_CLIENTS_H

#include <stdint.h>

struct pesad_clients;
struct pesad_client;

/* Whose a connection is: equal for connections of one peer. */
struct pesad_client_key {
	uint64_t family, value;
};

/* NULL: out of memory. */
struct pesad_clients *pesad_clients_create(unsigned int most_of_a_peer, uint64_t patience);
void pesad_clients_free(struct pesad_clients *clients);

/* A connection has begun.  NULL: the peer has its share already, or memory is short. */
struct pesad_client *pesad_clients_add(struct pesad_clients *clients, int socket,
				       struct pesad_client_key key);
/* It ends; its socket is open until this returns.  NULL: nothing. */
void pesad_clients_remove(struct pesad_clients *clients, struct pesad_client *client);
/* Its request is complete, its answer is. */
void pesad_client_has_asked(struct pesad_clients *clients, struct pesad_client *client);
void pesad_client_was_answered(struct pesad_clients *clients, struct pesad_client *client);

/* Shut down those that are too late.  Returns how many. */
unsigned int pesad_clients_look(struct pesad_clients *clients);

#endif
