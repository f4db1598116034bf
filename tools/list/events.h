/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pesa list`: the names that -e takes, and what one means.
 */
#ifndef TOOLS_LIST_EVENTS_H
#define TOOLS_LIST_EVENTS_H

#include "daemon/events/name.h"
#include "tools/ui/json.h"

/*
 * All names, by kind, as text or as elements of the open array of `json`.  Tracepoints and events
 * of libpfm4's processors, which are thousands, only with `all`.
 */
void list_events(const struct pesa_event_source *source, bool all, struct ui_json *json);

/* What the names of a list mean: the members of perf_event_attr. */
struct pesa_error *list_event_meanings(const struct pesa_event_source *source, const char *events,
				       struct ui_json *json);

#endif
