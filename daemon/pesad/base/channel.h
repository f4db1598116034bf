/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages between the collector and its workers, and the context of a worker.
 *
 * A channel is a socket pair with one message per datagram.
 */
#ifndef DAEMON_PESAD_BASE_CHANNEL_H
#define DAEMON_PESAD_BASE_CHANNEL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/pesad/base/config.h"
#include "daemon/pesad/base/log.h"
#include "daemon/pesad/base/metrics.h"
#include "pesa/error.h"

enum pesad_message_kind {
	PESAD_MESSAGE_INTERVAL, /* to workers: an interval has ended */
	PESAD_MESSAGE_PING,	/* to workers: no content; shows the watchdog that they listen */
	PESAD_MESSAGE_FLUSHED,	/* to workers: the current interval was flushed to its file */
	PESAD_MESSAGE_FLUSH,	/* to the collector: flush the current interval */
};

struct pesad_message {
	uint32_t kind;
	uint32_t serial;      /* number of the message: 1, 2, ... since the daemon started */
	uint32_t interval;    /* number of its interval: 1, 2, ... */
	uint64_t bytes;	      /* size of the valid part of the file; UINT64_MAX: all of it */
	uint64_t from, until; /* wall time, ns since the epoch; `until` is `from` plus the
			       * duration by the monotonic clock, so it is never before `from` */
	uint64_t monotonic_from, monotonic_until; /* ns */
	uint64_t samples;
	char path[PATH_MAX]; /* path of the file; "": it could not be written, or is empty */
};

/* The context of a worker. */
struct pesad_worker_context {
	const struct pesad_config *config;
	struct pesad_metrics *metrics;
	struct pesad_log *log;
	int channel; /* poll() this descriptor */
};

/*
 * Receive the next message other than a ping; false: none now.  *gone: the collector has ended, so
 * end.
 */
bool pesad_channel_take(int channel, struct pesad_message *message, bool *gone);
/* Request a flush: a message follows of an interval that ended, or was flushed, after this call. */
struct pesa_error *pesad_channel_flush(int channel);

/*
 * In the collector: receive at most PESAD_MESSAGES_MOST messages of a worker.  *more: there may be
 * more. Returns whether the worker requested a flush.
 */
#define PESAD_MESSAGES_MOST 64u
bool pesad_channel_wants_flush(int channel, bool *more);

/*
 * A worker's main function.  It runs until SIGTERM (blocked at the start; the worker reads it from
 * a descriptor) or until its channel closes.  Returns an error to be logged, or NULL.
 */
typedef struct pesa_error *(*pesad_worker_function)(const struct pesad_worker_context *context);

/*
 * Common setup: few malloc() arenas, each of which takes 64 MB of address space, and a descriptor
 * that is readable after SIGTERM.
 */
struct pesa_error *pesad_worker_begin(int *signals);

/* Size of a message on the channel, which depends on its path. */
size_t pesad_message_bytes(const struct pesad_message *message);

#endif
