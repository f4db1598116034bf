// SPDX-License-Identifier: GPL-2.0-or-later
/* The connections of a listener.  See clients.h. */
#include "daemon/pesad/http/clients.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "decoder/base/clock.h"

struct pesad_client {
	struct pesad_client *next, *previous;
	int socket;
	struct pesad_client_key key;
	uint64_t waits_since; /* ns monotonic, for a request; 0: it has one */
};

struct pesad_clients {
	pthread_mutex_t lock;
	struct pesad_client *first;
	unsigned int most;
	uint64_t timeout; /* ns */
};

struct pesad_clients *pesad_clients_create(unsigned int most_of_a_peer, uint64_t timeout)
{
	struct pesad_clients *clients = calloc(1, sizeof(*clients));

	if (!clients)
		return NULL;
	pthread_mutex_init(&clients->lock, NULL);
	clients->most = most_of_a_peer;
	clients->timeout = timeout;
	return clients;
}

void pesad_clients_free(struct pesad_clients *clients)
{
	if (!clients)
		return;
	while (clients->first)
		pesad_clients_remove(clients, clients->first);
	pthread_mutex_destroy(&clients->lock);
	free(clients);
}

static unsigned int count_of(const struct pesad_clients *clients, struct pesad_client_key key)
{
	unsigned int count = 0;

	for (const struct pesad_client *at = clients->first; at; at = at->next)
		count += at->key.family == key.family && at->key.value == key.value;
	return count;
}

struct pesad_client *pesad_clients_add(struct pesad_clients *clients, int socket,
				       struct pesad_client_key key)
{
	struct pesad_client *client = calloc(1, sizeof(*client));

	if (!client)
		return NULL;
	pthread_mutex_lock(&clients->lock);
	if (count_of(clients, key) < clients->most) {
		*client = (struct pesad_client){.socket = socket,
						.key = key,
						.next = clients->first,
						.waits_since = pesa_monotonic()};
		if (clients->first)
			clients->first->previous = client;
		clients->first = client;
	} else {
		free(client);
		client = NULL;
	}
	pthread_mutex_unlock(&clients->lock);
	return client;
}

void pesad_clients_remove(struct pesad_clients *clients, struct pesad_client *client)
{
	if (!client)
		return;
	pthread_mutex_lock(&clients->lock);
	if (client->next)
		client->next->previous = client->previous;
	if (client->previous)
		client->previous->next = client->next;
	else
		clients->first = client->next;
	pthread_mutex_unlock(&clients->lock);
	free(client);
}

static void wait_since(struct pesad_clients *clients, struct pesad_client *client, uint64_t moment)
{
	if (!client)
		return;
	pthread_mutex_lock(&clients->lock);
	client->waits_since = moment;
	pthread_mutex_unlock(&clients->lock);
}

void pesad_client_request_complete(struct pesad_clients *clients, struct pesad_client *client)
{
	wait_since(clients, client, 0);
}

void pesad_client_was_answered(struct pesad_clients *clients, struct pesad_client *client)
{
	wait_since(clients, client, pesa_monotonic());
}

unsigned int pesad_clients_drop_late(struct pesad_clients *clients)
{
	uint64_t now = pesa_monotonic();
	unsigned int late = 0;

	pthread_mutex_lock(&clients->lock);
	for (struct pesad_client *at = clients->first; at; at = at->next)
		if (at->waits_since && now - at->waits_since >= clients->timeout) {
			/* Its own thread detects the shutdown and closes it. */
			shutdown(at->socket, SHUT_RDWR);
			at->waits_since = 0;
			late++;
		}
	pthread_mutex_unlock(&clients->lock);
	return late;
}
