/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the collector and its workers say to each other, and what a worker begins with.
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
	PESAD_MESSAGE_PING,	/* to workers: nothing, but it shows that they listen */
	PESAD_MESSAGE_FLUSHED,	/* to workers: an interval goes on, and is in its file up to now */
	PESAD_MESSAGE_FLUSH,	/* to the collector: write out the interval that is under way */
};

struct pesad_message {
	uint32_t kind;
	uint32_t serial;      /* of the message: 1, 2, ... since the daemon started */
	uint32_t interval;    /* which it is of, likewise */
	uint64_t bytes;	      /* of the file, up to which it is written; UINT64_MAX: to its end */
	uint64_t from, until; /* wall time, ns since the epoch; `until` is `from` and how long it
				 took by the monotonic clock, so that it is never before it */
	uint64_t monotonic_from, monotonic_until; /* ns */
	uint64_t samples;
	char path[PATH_MAX]; /* of the file; "": it could not be written, or there was nothing */
};

/* What a worker has. */
struct pesad_worker_context {
	const struct pesad_config *config;
	struct pesad_metrics *metrics;
	struct pesad_log *log;
	int channel; /* wait for it with poll() */
};

/* Take the next message, but no ping; false: there is none now.  *gone: there will be none, so end. */
bool pesad_channel_take(int channel, struct pesad_message *message, bool *gone);
/* Ask for what is under way: a message of an interval that ends, or is written out, behind this
 * moment follows. */
struct pesa_error *pesad_channel_flush(int channel);

/* In the collector: take what a worker has to say, PESAD_MESSAGES_MOST messages of it at most.
 * *more: there may be more.  Returns whether it asked for what is under way. */
#define PESAD_MESSAGES_MOST 64u
bool pesad_channel_wants_flush(int channel, bool *more);

/*
 * What a worker does until it is told to end by SIGTERM (which it takes itself; it arrives blocked)
 * or by its channel.  Returns an error that is logged, or NULL.
 */
typedef struct pesa_error *(*pesad_worker_function)(const struct pesad_worker_context *context);

/* Each begins with this: few arenas of malloc(), each of which takes 64 MB of address space, and a
 * descriptor that can be read when SIGTERM has come. */
struct pesa_error *pesad_worker_begin(int *signals);

/* Bytes of a message on the channel: its path is as long as it is. */
size_t pesad_message_bytes(const struct pesad_message *message);

#endif
