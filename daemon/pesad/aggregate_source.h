/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting in the kernel as a source of the collector: aggregate.h with the daemon's configuration,
 * metrics and log.
 *
 * What the configuration's `bpf` and `filter` ask for is opened once, before the collector.  When
 * it cannot be had and nothing is filtered, the collector reads rings and a line of the log says
 * why. A filter is never ignored: rings are not filtered, so that without counting the daemon
 * refuses to begin.
 */
#ifndef DAEMON_PESAD_AGGREGATE_SOURCE_H
#define DAEMON_PESAD_AGGREGATE_SOURCE_H

#include "daemon/pesad/collect.h"

struct pesad_aggregate_source;

/*
 * Open counting.  *source is NULL where rings have to be read, for which the log has the reason; an
 * error is one of the configuration.
 */
struct pesa_error *pesad_aggregate_source_open(const struct pesad_config *config,
					       struct pesad_metrics *metrics, struct pesad_log *log,
					       struct pesad_aggregate_source **source);
/*
 * Before the collector starts: whether samples of its event can be counted.  When they cannot, the
 * source does nothing from then on and the log has the reason; with a filter it is an error.
 */
struct pesa_error *pesad_aggregate_source_check(struct pesad_aggregate_source *source,
						const struct perf_event_attr *attr);
/* After the collector was closed.  NULL is allowed. */
void pesad_aggregate_source_close(struct pesad_aggregate_source *source);

/* What the collector takes.  It refers to `source`, which must not be NULL. */
struct pesad_source pesad_aggregate_source(struct pesad_aggregate_source *source);

#endif
