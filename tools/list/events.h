/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pesa list`: the names that -e accepts, and their meaning. */
#ifndef TOOLS_LIST_EVENTS_H
#define TOOLS_LIST_EVENTS_H

#include "daemon/events/name.h"
#include "tools/ui/json.h"

/*
 * List all names by kind, as text or as elements of the open array of `json`.  Tracepoints and
 * libpfm4's processor events, which are thousands, only with `all`.
 */
void list_events(const struct pesa_event_source *source, bool all, struct ui_json *json);

/* Print the perf_event_attr members for the names in a list. */
struct pesa_error *list_event_meanings(const struct pesa_event_source *source, const char *events,
				       struct ui_json *json);

#endif
