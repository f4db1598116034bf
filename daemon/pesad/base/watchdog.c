// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/pesad/base/watchdog.h"

#define SECOND	   UINT64_C(1000000000)
#define ASK_WITHIN 4 /* of the limit */

/* ---- In a worker --------------------------------------------------------------------------- */

static struct pesad_metrics *own_metrics;
static enum pesad_worker_kind own_kind;

void pesad_watch_own(struct pesad_metrics *metrics, enum pesad_worker_kind kind)
{
	own_metrics = metrics;
	own_kind = kind;
}

static void note(pesad_metric *since)
{
	pesad_set(since, pesad_value(&own_metrics->watch_clock));
}

void pesad_watch_channel_read(void)
{
	if (own_metrics)
		note(&own_metrics->watch[own_kind].channel_read);
}

void pesad_watch_begin(void)
{
	if (own_metrics)
		note(&own_metrics->watch[own_kind].busy);
}

void pesad_watch_end(void)
{
	if (own_metrics)
		pesad_set(&own_metrics->watch[own_kind].busy, 0);
}

/* ---- In the collector ---------------------------------------------------------------------- */

void pesad_watch_tick(struct pesad_metrics *metrics, uint64_t now)
{
	uint64_t last = pesad_value(&metrics->watch_last), passed = last ? now - last : SECOND;

	pesad_set(&metrics->watch_last, now);
	pesad_count(&metrics->watch_clock, passed < SECOND ? passed : SECOND);
}

void pesad_watch_reset(struct pesad_metrics *metrics, enum pesad_worker_kind kind,
		       struct pesad_watched *watched)
{
	pesad_set(&metrics->watch[kind].channel_read, pesad_value(&metrics->watch_clock));
	pesad_set(&metrics->watch[kind].busy, 0);
	*watched = (struct pesad_watched){0};
}

bool pesad_watch_stuck(struct pesad_metrics *metrics, enum pesad_worker_kind kind,
		       struct pesad_watched *watched, uint64_t limit, bool *ask)
{
	const struct pesad_watch *watch = &metrics->watch[kind];
	uint64_t now = pesad_value(&metrics->watch_clock), busy = pesad_value(&watch->busy);

	if (watched->asked && pesad_value(&watch->channel_read) >= watched->asked)
		watched->asked = 0;
	*ask = !watched->asked && now >= watched->again;
	if (*ask) {
		watched->asked = now;
		watched->again = now + limit / ASK_WITHIN;
	}
	return (busy && now - busy > limit) || (watched->asked && now - watched->asked > limit);
}
