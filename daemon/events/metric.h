/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics: formulas over the counts of events, as event files have them (MetricExpr).
 *
 *   sum     = product { ("+" | "-") product }
 *   product = factor { ("*" | "/") factor }
 *   factor  = NUMBER | EVENT | "(" sum ")" | "-" factor | ("min" | "max" | "d_ratio") "(" sum "," sum ")"
 *
 * An event is a name of letters, digits, '_', '.', ':' and, with a backslash in front, '-', as in the
 * kernel's files.  d_ratio(a, b) is a / b.  What is divided by 0 is 0 for d_ratio, as in perf, and
 * else no number.
 */
#ifndef DAEMON_EVENTS_METRIC_H
#define DAEMON_EVENTS_METRIC_H

#include <stddef.h>

#include "pesa/error.h"

#define PESA_METRIC_EVENTS_MAX 24u

struct pesa_metric;

/* PESA_ERROR_FORMAT: what is wrong, and where in the text. */
struct pesa_error *pesa_metric_parse(const char *text, struct pesa_metric **metric);
void pesa_metric_free(struct pesa_metric *metric);

/* The events of the formula, each once, in the order of their first mention. */
size_t pesa_metric_event_count(const struct pesa_metric *metric);
const char *pesa_metric_event(const struct pesa_metric *metric, size_t index);

/* The value for counts of these events; a count that is not known is NAN, and so is the value then. */
double pesa_metric_value(const struct pesa_metric *metric, const double *counts);

#endif
