// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages between the collector and its workers.  See channel.h. */
#include "daemon/pesad/base/channel.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include "daemon/pesad/base/watchdog.h"

#define ARENAS 2

size_t pesad_message_bytes(const struct pesad_message *message)
{
	return offsetof(struct pesad_message, path) + strlen(message->path) + 1;
}

static bool take(int channel, struct pesad_message *message, bool *gone)
{
	ssize_t size = recv(channel, message, sizeof(*message), MSG_DONTWAIT);

	*gone = size == 0 ||
		(size < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
	/* The message is complete and its path terminated. */
	return size > (ssize_t)offsetof(struct pesad_message, path) &&
	       memchr(message->path, '\0', (size_t)size - offsetof(struct pesad_message, path));
}

bool pesad_channel_take(int channel, struct pesad_message *message, bool *gone)
{
	bool taken;

	pesad_watch_channel_read();
	do
		taken = take(channel, message, gone);
	while (taken && message->kind == PESAD_MESSAGE_PING);
	return taken;
}

/*
 * Drain at most PESAD_MESSAGES_MOST requests, so that a flood does not keep the collector from the
 * rings.
 */
bool pesad_channel_wants_flush(int channel, bool *more)
{
	struct pesad_message message;
	bool wanted = false, gone;
	unsigned int taken = 0;

	for (; taken < PESAD_MESSAGES_MOST && take(channel, &message, &gone); taken++)
		wanted |= message.kind == PESAD_MESSAGE_FLUSH;
	*more = taken == PESAD_MESSAGES_MOST;
	return wanted;
}

struct pesa_error *pesad_channel_flush(int channel)
{
	const struct pesad_message message = {.kind = PESAD_MESSAGE_FLUSH};

	/* If the channel is full, it already has such requests. */
	if (send(channel, &message, pesad_message_bytes(&message), MSG_DONTWAIT | MSG_NOSIGNAL) <
		    0 &&
	    errno != EAGAIN && errno != EWOULDBLOCK)
		return pesa_error_system(errno, "cannot reach the collector");
	return NULL;
}

struct pesa_error *pesad_worker_begin(int *signals)
{
	sigset_t terminate;

	mallopt(M_ARENA_MAX, ARENAS);
	sigemptyset(&terminate);
	sigaddset(&terminate, SIGTERM);
	*signals = signalfd(-1, &terminate, SFD_CLOEXEC | SFD_NONBLOCK);
	return *signals < 0 ? pesa_error_system(errno, "cannot wait for signals") : NULL;
}
