/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Aggregation in the kernel as a source of the collector: connects aggregate.h to the daemon's
 * configuration, metrics and log.
 *
 * What the options `bpf` and `filter` request is opened once, before the collector.  If that fails
 * and there is no filter, the collector reads rings and the reason is logged.  A filter is never
 * ignored: rings are not filtered, so then the daemon does not start.
 */
#ifndef DAEMON_PESAD_AGGREGATE_SOURCE_H
#define DAEMON_PESAD_AGGREGATE_SOURCE_H

#include "daemon/pesad/collect.h"

struct pesad_aggregate_source;

/*
 * Open counting.  *source is NULL if rings have to be read, which is logged; an error is in the
 * configuration.
 */
struct pesa_error *pesad_aggregate_source_open(const struct pesad_config *config,
					       struct pesad_metrics *metrics, struct pesad_log *log,
					       struct pesad_aggregate_source **source);
/*
 * Before the collector starts: check that samples of its event can be counted.  If not, the source
 * is disabled and the reason logged; with a filter it is an error.
 */
struct pesa_error *pesad_aggregate_source_check(struct pesad_aggregate_source *source,
						const struct perf_event_attr *attr);
/* After the collector was closed.  NULL is allowed. */
void pesad_aggregate_source_close(struct pesad_aggregate_source *source);

/* The interface for the collector.  It refers to `source`, which must not be NULL. */
struct pesad_source pesad_aggregate_source(struct pesad_aggregate_source *source);

#endif
