/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The collector: samples of every CPU, written interval by interval.
 *
 * It stands on the parts of `pesa record` (daemon/record/session.h): events on all CPUs that are online
 * and on those that come, one ring for each CPU, the side band.  What differs is that it has no
 * end, so that nothing may grow with time, and that a failure ends an interval's file, never the
 * collection: samples that cannot be written are taken out of the rings, counted and forgotten.
 *
 * Intervals overlap.  A file must begin with everything that runs, and reading /proc takes longer
 * than a ring may fill.  So the next file is begun while the last one goes on: processes are read
 * in small portions between looks at the rings, and until the change what the kernel tells of maps,
 * names, forks and exits goes into both, samples only into the last.  The change itself is one
 * moment, with no sample between the two.  The first file has samples from the beginning.
 *
 * Counting in the kernel (aggregate.h): where a source of counted samples is given, each event that
 * is opened is shown to it before it is enabled, and when a file ends what was counted is written
 * into it.  What it did not count comes through the rings as ever.
 */
#ifndef DAEMON_PESAD_COLLECT_H
#define DAEMON_PESAD_COLLECT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/record/sideband.h"
#include "daemon/pesad/base/config.h"
#include "daemon/pesad/base/log.h"
#include "daemon/pesad/base/metrics.h"
#include "daemon/pesad/base/store.h"
#include "daemon/pesad/worker.h"
#include "pesa/error.h"
#include "pesa/perfdata.h"

/* What was counted in the kernel is written with this, which counts it as taken and pending. */
struct pesad_sink;

/* Write a sample of the (only) sampling event, `count` times.  `id` and `attribute` are filled in.
 */
struct pesa_error *pesad_sink_sample(struct pesad_sink *sink, const struct pesa_sample *sample,
				     uint64_t count);
/* A source of counted samples, see aggregate.h. */
struct pesad_source {
	void *context;
	/*
	 * An event was opened on a CPU, and is not enabled yet unless the CPU came later.  What is
	 * attached with PERF_EVENT_IOC_SET_BPF goes when the collector closes the descriptor.
	 */
	struct pesa_error *(*attach)(void *context, int descriptor, unsigned int cpu,
				     const struct perf_event_attr *attr);
	/*
	 * Write everything that was counted since the last call and forget it.  Called when an
	 * interval ends and at least every bpf.flush.  An error (of the sink, or of reading the
	 * map) counts what could not be written as lost.  The samples can be as old as the last
	 * call: a round (pesa_perfdata_write_round()) may be written behind a call and at no other
	 * time.
	 */
	struct pesa_error *(*take)(void *context, struct pesad_sink *sink);
	/* Whether a sample of a task that came through a ring is wanted (the configuration's
	 * filter); false counts it as filtered.  NULL: all are. */
	bool (*wants)(void *context, uint32_t pid, uint32_t tid);
};

struct pesad_collector;

/*
 * Open the events.  `source`: NULL reads rings only; copied.  `kernel`: maps for every file, which
 * stay the caller's, as do the other arguments, until the collector is closed.  Nothing is sampled
 * before pesad_collector_start().  An error: no CPU can be sampled, and why.
 */
struct pesa_error *pesad_collector_open(const struct pesad_config *config,
					const struct pesad_source *source,
					const struct pesa_kernel_maps *kernel,
					struct pesad_store *store, struct pesad_metrics *metrics,
					struct pesad_log *log, struct pesad_collector **collector);
/* The attributes of the sampling event, for a source. */
const struct perf_event_attr *pesad_collector_attribute(const struct pesad_collector *collector);
void pesad_collector_start(struct pesad_collector *collector);

/* Descriptors to wait for: valid until the next look. */
const struct pollfd *pesad_collector_polled(const struct pesad_collector *collector, size_t *count);
/* How long may be waited, ms. */
int pesad_collector_patience(const struct pesad_collector *collector);

/*
 * Empty the rings, follow CPUs, go on with the next file, end the interval when its time has come.
 * Returns true when an interval has ended, or was written out: *message tells of it.
 */
bool pesad_collector_look(struct pesad_collector *collector, struct pesad_message *message);
/* Write out what there is of the interval, not before a second has passed since the last time; it
 * goes on. */
void pesad_collector_flush(struct pesad_collector *collector);
/* Stop sampling and end the interval.  True as above. */
bool pesad_collector_stop(struct pesad_collector *collector, struct pesad_message *message);
void pesad_collector_close(struct pesad_collector *collector);

#endif
