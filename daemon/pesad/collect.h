/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The collector: samples every CPU and writes one file per interval.
 *
 * It uses the parts of `pesa record` (daemon/record/session.h): events on all online CPUs, also on
 * those that come later, one ring per CPU, the side band.  Unlike a recording it has no end:
 * nothing may grow with time, and a failure ends the file of an interval, not the collection.
 * Samples that cannot be written are still read from the rings, and counted as lost.
 *
 * Intervals overlap.  A file begins with the side band of all processes, and reading /proc can take
 * longer than a ring takes to fill.  So the next file is begun while the current one continues:
 * processes are read in small portions between reads of the rings.  Until the switch, new side-band
 * records go to both files and samples to the current one.  The switch is a single point in time.
 * The first file has samples from its beginning.
 *
 * Aggregation in the kernel (aggregate.h): with a source of counted samples, each event is attached
 * to it before it is enabled, and the source writes its counts into a file before the file ends.
 * All other samples come through the rings.
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

/* Writes counted samples, and counts them as taken and pending. */
struct pesad_sink;

/* Write a sample of the (only) sampling event, `count` times.  Sets `id` and `attribute`. */
struct pesa_error *pesad_sink_sample(struct pesad_sink *sink, const struct pesa_sample *sample,
				     uint64_t count);
/* A source of counted samples, see aggregate.h. */
struct pesad_source {
	void *context;
	/*
	 * An event was opened on a CPU; it is not enabled yet, unless the CPU came online later.  A
	 * program attached with PERF_EVENT_IOC_SET_BPF is detached when the collector closes the
	 * descriptor.
	 */
	struct pesa_error *(*attach)(void *context, int descriptor, unsigned int cpu,
				     const struct perf_event_attr *attr);
	/*
	 * Write everything counted since the last call and forget it.  Called at the end of an
	 * interval and at least every bpf.flush.  On an error (of the sink, or of reading the map)
	 * the rest is counted as lost. The samples can be as old as the last call, so a round
	 * (pesa_perfdata_write_round()) may be written only right after a call.
	 */
	struct pesa_error *(*take)(void *context, struct pesad_sink *sink);
	/*
	 * Return whether a sample from a ring is wanted (the configuration's filter); if not, it is
	 * counted as filtered.  NULL: all are.
	 */
	bool (*wants)(void *context, uint32_t pid, uint32_t tid);
};

struct pesad_collector;

/*
 * Open the events; sampling begins with pesad_collector_start().  `source` (copied) may be NULL:
 * rings only.  `kernel`: the maps for every file.  All arguments stay the caller's and must exist
 * until the collector is closed.  An error says why no CPU can be sampled.
 */
struct pesa_error *pesad_collector_open(const struct pesad_config *config,
					const struct pesad_source *source,
					const struct pesa_kernel_maps *kernel,
					struct pesad_store *store, struct pesad_metrics *metrics,
					struct pesad_log *log, struct pesad_collector **collector);
/* The attributes of the sampling event, for a source. */
/* The event that is sampled. */
const char *pesad_collector_event(const struct pesad_collector *collector);
const struct perf_event_attr *pesad_collector_attribute(const struct pesad_collector *collector);
void pesad_collector_start(struct pesad_collector *collector);

/* Descriptors to poll; valid until the next call of pesad_collector_poll_once(). */
const struct pollfd *pesad_collector_polled(const struct pesad_collector *collector, size_t *count);
/* The poll timeout in ms. */
int pesad_collector_timeout(const struct pesad_collector *collector);

/*
 * Empty the rings, follow CPU hotplug, continue the next file, end the interval when it is due.
 * Returns true if an interval ended or was flushed; *message describes it.
 */
bool pesad_collector_poll_once(struct pesad_collector *collector, struct pesad_message *message);
/* Flush the current interval, at most once per second; the interval continues. */
void pesad_collector_flush(struct pesad_collector *collector);
/* Stop sampling and end the interval.  Returns true as above. */
bool pesad_collector_stop(struct pesad_collector *collector, struct pesad_message *message);
void pesad_collector_close(struct pesad_collector *collector);

#endif
