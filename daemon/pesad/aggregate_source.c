// SPDX-License-Identifier: GPL-2.0-or-later
/* Aggregation in the kernel as a source of the collector.  See aggregate_source.h. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/pesad/aggregate.h"
#include "daemon/pesad/aggregate_source.h"

#define CGROUPS "/sys/fs/cgroup"

struct pesad_aggregate_source {
	struct pesa_aggregate *aggregate;
	struct pesad_metrics *metrics;
	struct pesad_log *log;
	struct pesa_aggregate_counts reported; /* counts already added to the metrics */
	bool filters;
	bool idle; /* the event cannot be counted */
};

/* ---- Opening ------------------------------------------------------------------------------- */

/* The filter's lists, made from the configuration. */
struct lists {
	uint32_t *pids, *uids;
	char **cgroups;
	size_t cgroup_count;
};

static bool numbers_of(const struct pesad_list *list, uint32_t **numbers)
{
	*numbers = calloc(list->count + 1, sizeof(**numbers));
	for (size_t i = 0; *numbers && i < list->count; i++)
		(*numbers)[i] = (uint32_t)strtoul(list->words[i], NULL, 10);
	return *numbers;
}

static bool make_lists(const struct pesad_config *config, struct lists *lists)
{
	const struct pesad_list *cgroup = &config->filter.cgroup;

	lists->cgroups = calloc(cgroup->count + 1, sizeof(*lists->cgroups));
	if (!lists->cgroups || !numbers_of(&config->filter.pid, &lists->pids) ||
	    !numbers_of(&config->filter.uid, &lists->uids))
		return false;
	for (; lists->cgroup_count < cgroup->count; lists->cgroup_count++)
		if (asprintf(&lists->cgroups[lists->cgroup_count], "%s/%s", CGROUPS,
			     cgroup->words[lists->cgroup_count]) < 0)
			return false;
	return true;
}

static void free_lists(struct lists *lists)
{
	for (size_t i = 0; i < lists->cgroup_count; i++)
		free(lists->cgroups[i]);
	free(lists->cgroups);
	free(lists->pids);
	free(lists->uids);
}

static struct pesa_error *open_aggregate(const struct pesad_config *config,
					 struct pesa_aggregate **aggregate)
{
	struct pesa_aggregate_options options = {.entries = config->bpf.entries};
	struct lists lists = {0};
	struct pesa_error *error;

	if (make_lists(config, &lists)) {
		options.filter = (struct pesa_aggregate_filter){
			.pids = lists.pids,
			.pid_count = config->filter.pid.count,
			.uids = lists.uids,
			.uid_count = config->filter.uid.count,
			.comms = config->filter.comm.words,
			.comm_count = config->filter.comm.count,
			.cgroups = lists.cgroups,
			.cgroup_count = lists.cgroup_count,
		};
		error = pesa_aggregate_open(&options, aggregate);
	} else {
		error = pesa_error_no_memory();
	}
	free_lists(&lists);
	return error;
}

static bool is_filtered(const struct pesad_config *config)
{
	return config->filter.cgroup.count || config->filter.uid.count ||
	       config->filter.pid.count || config->filter.comm.count;
}

struct pesa_error *pesad_aggregate_source_open(const struct pesad_config *config,
					       struct pesad_metrics *metrics, struct pesad_log *log,
					       struct pesad_aggregate_source **source)
{
	struct pesad_aggregate_source *opened;
	struct pesa_aggregate *aggregate;
	struct pesa_error *error;

	pesad_set(&metrics->aggregating, 0);
	if (!config->bpf.enable && is_filtered(config))
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "the filter of the configuration needs counting in the "
					 "kernel: 'enable = yes' in section [bpf]");
	*source = NULL;
	if (!config->bpf.enable) {
		pesad_log(log, PESAD_LOG_INFO, "reading rings, as configured");
		return NULL;
	}
	error = open_aggregate(config, &aggregate);
	if (error && is_filtered(config))
		return pesa_error_prefix(error,
					 "the filter of the configuration is not possible: ");
	if (error) {
		pesad_log(log, PESAD_LOG_WARNING, "reading rings: %s", error->message);
		pesa_error_free(error);
		return NULL;
	}
	opened = calloc(1, sizeof(*opened));
	if (!opened) {
		pesa_aggregate_close(aggregate);
		return pesa_error_no_memory();
	}
	opened->aggregate = aggregate;
	opened->metrics = metrics;
	opened->log = log;
	opened->filters = is_filtered(config);
	*source = opened;
	return NULL;
}

struct pesa_error *pesad_aggregate_source_check(struct pesad_aggregate_source *source,
						const struct perf_event_attr *attr)
{
	const char *obstacle = pesa_aggregate_obstacle(attr);

	source->idle = obstacle;
	pesad_set(&source->metrics->aggregating, !obstacle);
	if (!obstacle)
		pesad_log(source->log, PESAD_LOG_INFO, "counting samples in the kernel");
	else if (!source->filters)
		pesad_log(source->log, PESAD_LOG_WARNING, "reading rings: %s", obstacle);
	else
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "the filter of the configuration is not possible: %s",
					 obstacle);
	return NULL;
}

void pesad_aggregate_source_close(struct pesad_aggregate_source *source)
{
	if (!source)
		return;
	pesad_set(&source->metrics->aggregating, 0);
	pesa_aggregate_close(source->aggregate);
	free(source);
}

/* ---- Taking -------------------------------------------------------------------------------- */

static struct pesa_error *attach(void *context, int descriptor, unsigned int cpu,
				 const struct perf_event_attr *attr)
{
	const struct pesad_aggregate_source *source = context;

	return source->idle ? NULL
			    : pesa_aggregate_attach(source->aggregate, descriptor, cpu, attr);
}

static struct pesa_error *take_run(void *context, const struct pesa_sample *sample, uint16_t misc,
				   uint64_t count)
{
	(void)misc;
	return pesad_sink_sample(context, sample, count);
}

static struct pesa_error *take_pair(void *context, const struct pesa_aggregated *pair)
{
	return pesa_aggregated_runs(pair, take_run, context);
}

/* Add samples that reach no file to the metrics. */
static void update_metrics(struct pesad_aggregate_source *source)
{
	struct pesad_metrics *metrics = source->metrics;
	const struct pesa_aggregate_counts *reported = &source->reported;
	struct pesa_aggregate_counts counts;
	uint64_t filtered, missed, lost, dropped;

	pesa_aggregate_counts(source->aggregate, &counts);
	filtered = counts.filtered - reported->filtered;
	missed = counts.missed - reported->missed;
	lost = counts.lost - reported->lost;
	dropped = counts.dropped - reported->dropped;
	pesad_count(&metrics->taken, filtered + missed + lost + dropped);
	pesad_count(&metrics->filtered, filtered);
	pesad_count(&metrics->lost[PESAD_LOST_KERNEL], missed);
	pesad_count(&metrics->lost[PESAD_LOST_HARDWARE], lost);
	pesad_count(&metrics->lost[PESAD_LOST_WRITE], dropped);
	pesad_count(&metrics->map_overflows, counts.overflowed - reported->overflowed);
	pesad_count(&metrics->map_flushes, 1);
	pesad_set(&metrics->map_entries, counts.pairs);
	pesad_set(&metrics->map_room, counts.room);
	if (missed)
		pesad_log_limited(source->log, PESAD_LOG_BPF, PESAD_LOG_WARNING,
				  "the kernel dropped %llu samples while another BPF program ran",
				  (unsigned long long)missed);
	if (counts.overflowed != reported->overflowed)
		pesad_log_limited(source->log, PESAD_LOG_BPF, PESAD_LOG_WARNING,
				  "%llu samples found no room in the kernel's table and went "
				  "through the ring: raise 'entries' in section [bpf]",
				  (unsigned long long)(counts.overflowed - reported->overflowed));
	source->reported = counts;
}

static struct pesa_error *take(void *context, struct pesad_sink *sink)
{
	struct pesad_aggregate_source *source = context;
	struct pesa_error *error;

	if (source->idle)
		return NULL;
	error = pesa_aggregate_drain(source->aggregate, take_pair, sink);
	update_metrics(source);
	return error;
}

struct pesad_source pesad_aggregate_source(struct pesad_aggregate_source *source)
{
	return (struct pesad_source){.context = source, .attach = attach, .take = take};
}
