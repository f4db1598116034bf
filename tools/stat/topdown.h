/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pesa stat --topdown: the processor's metrics of the first top-down level, as its event files have
 * them (group TopdownL1), or, where they have none, the generic events of stalled cycles.
 *
 * The events of the metrics are the first rows of the table.
 */
#ifndef TOOLS_STAT_TOPDOWN_H
#define TOOLS_STAT_TOPDOWN_H

#include <json-c/json.h>

#include "daemon/events/metric.h"
#include "daemon/events/name.h"
#include "tools/stat/table.h"

#define STAT_METRICS_MAX 16u

struct stat_metric {
	const char *name, *expression, *description; /* description NULL: none */
	struct pesa_metric *metric;
	size_t rows[PESA_METRIC_EVENTS_MAX]; /* of its events, in the table */
};

struct stat_topdown {
	struct stat_metric metrics[STAT_METRICS_MAX];
	size_t count;
	bool generic; /* the event files have none */
	char *events; /* all of them, with commas between */
};

struct pesa_error *stat_topdown_open(const struct pesa_event_source *source,
				     struct stat_topdown *topdown);
void stat_topdown_free(struct stat_topdown *topdown);
void stat_topdown_print(FILE *out, const struct stat_topdown *topdown,
			const struct stat_table *table);
json_object *stat_topdown_json(const struct stat_topdown *topdown, const struct stat_table *table);

#endif
