// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/pesad/base/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decoder/base/clock.h"

enum unit { PLAIN, NANOSECONDS }; /* what a member is in; Prometheus wants seconds */

struct description {
	const char *name;  /* the same for members that differ by their label */
	const char *label; /* "cause=\"ring\""; NULL: none */
	size_t offset;
	bool gauge;
	enum unit unit;
	const char *help;
};

#define COUNTER(name, member, help)                                                    \
	{                                                                              \
		name, NULL, offsetof(struct pesad_metrics, member), false, PLAIN, help \
	}
#define GAUGE(name, member, help)                                                     \
	{                                                                             \
		name, NULL, offsetof(struct pesad_metrics, member), true, PLAIN, help \
	}
#define LABELLED(name, label, member, gauge, unit, help)                               \
	{                                                                              \
		name, label, offsetof(struct pesad_metrics, member), gauge, unit, help \
	}
#define LOST	       "pesad_samples_lost_total"
#define LOST_HELP      "Samples that were taken and lost, by cause."
#define PUSH_LOST      "pesad_push_lost_total"
#define PUSH_LOST_HELP "Profiles that will never be sent, by cause."
#define REFUSED	       "pesad_maps_refused_total"
#define REFUSED_HELP   "Maps of code made at run time that were not read, for whose or what they are."
#define CPU	       "pesad_cpu_seconds_total"
#define CPU_HELP       "Processor time of the daemon, by process."
#define MEMORY	       "pesad_resident_bytes"
#define MEMORY_HELP    "Resident memory of the daemon, by process."
#define RESTARTS       "pesad_worker_restarts_total"
#define RESTARTS_HELP  "Times that a worker ended and was started again."
#define STUCK	       "pesad_workers_stuck_total"
#define STUCK_HELP     "Times that a worker made no progress and was ended by the watchdog."
#define DROPPED	       "pesad_messages_dropped_total"
#define DROPPED_HELP   "Finished intervals that a worker was too slow to hear of."

/* Metrics with the same name are adjacent. */
static const struct description descriptions[] = {
	COUNTER("pesad_samples_taken_total", taken,
		"Samples that the hardware took, as far as anyone can know."),
	COUNTER("pesad_samples_written_total", written, "Samples in files that are finished."),
	COUNTER("pesad_samples_filtered_total", filtered,
		"Samples that the filter of the configuration left out."),
	GAUGE("pesad_samples_pending", pending, "Samples of the interval that is under way."),
	LABELLED(LOST, "cause=\"ring\"", lost[PESAD_LOST_RING], false, PLAIN, LOST_HELP),
	LABELLED(LOST, "cause=\"hardware\"", lost[PESAD_LOST_HARDWARE], false, PLAIN, LOST_HELP),
	LABELLED(LOST, "cause=\"kernel\"", lost[PESAD_LOST_KERNEL], false, PLAIN, LOST_HELP),
	LABELLED(LOST, "cause=\"write\"", lost[PESAD_LOST_WRITE], false, PLAIN, LOST_HELP),
	COUNTER("pesad_throttled_total", throttled,
		"Times that the kernel stopped sampling for its rate."),
	COUNTER("pesad_ring_damaged_bytes_total", damaged_bytes,
		"Bytes of ring buffers that were no records."),
	GAUGE("pesad_cpus", cpus, "CPUs that are sampled."),
	COUNTER("pesad_cpus_followed_total", cpus_followed,
		"CPUs that came online and are sampled since."),
	COUNTER("pesad_cpus_refused_total", cpus_refused,
		"CPUs that came online and could not be sampled."),
	COUNTER("pesad_build_ids_late_total", build_ids_late,
		"Maps without a build id, since a file did not answer in time."),
	GAUGE("pesad_kernel_counting", aggregating,
	      "1: equal samples are counted in the kernel; 0: rings are read."),
	GAUGE("pesad_map_entries", map_entries, "Pairs of process and record in the kernel's map."),
	GAUGE("pesad_map_room", map_room, "Pairs that the kernel's map can hold."),
	COUNTER("pesad_map_flushes_total", map_flushes, "Times that the kernel's map was emptied."),
	COUNTER("pesad_map_overflows_total", map_overflows,
		"Samples that found the kernel's map full and went through the ring."),
	COUNTER("pesad_intervals_total", intervals, "Intervals that have ended."),
	COUNTER("pesad_files_written_total", files_written, "Files that were finished."),
	COUNTER("pesad_files_failed_total", files_failed, "Files that could not be written."),
	COUNTER("pesad_files_removed_total", files_removed,
		"Files that were removed for the limits of size and age."),
	COUNTER("pesad_files_recovered_total", files_recovered,
		"Unfinished files of a daemon that was killed, as found at the start."),
	GAUGE("pesad_store_files", store_files, "Files in the store."),
	GAUGE("pesad_store_bytes", store_bytes, "Bytes of the files in the store."),
	COUNTER("pesad_pushed_total", pushed, "Profiles that a server has taken."),
	COUNTER("pesad_push_failures_total", push_failures, "Attempts to send that failed."),
	LABELLED(PUSH_LOST, "cause=\"spool\"", push_lost[PESAD_PUSH_LOST_SPOOL], false, PLAIN,
		 PUSH_LOST_HELP),
	LABELLED(PUSH_LOST, "cause=\"refused\"", push_lost[PESAD_PUSH_LOST_REFUSED], false, PLAIN,
		 PUSH_LOST_HELP),
	LABELLED(PUSH_LOST, "cause=\"failed\"", push_lost[PESAD_PUSH_LOST_FAILED], false, PLAIN,
		 PUSH_LOST_HELP),
	COUNTER("pesad_push_bytes_total", push_bytes, "Bytes that a server has taken."),
	GAUGE("pesad_spool_files", spool_files, "Profiles that wait to be sent."),
	GAUGE("pesad_spool_bytes", spool_bytes, "Bytes of profiles that wait to be sent."),
	COUNTER("pesad_http_requests_total", requests, "Requests that were answered."),
	COUNTER("pesad_http_requests_refused_total", requests_refused,
		"Requests of those who may not ask, or that made no sense."),
	GAUGE("pesad_http_clients", clients, "Connections that are open."),
	COUNTER("pesad_http_samples_hidden_total", samples_hidden,
		"Samples that were handed out without the kernel's addresses in them."),
	COUNTER("pesad_http_clients_refused_total", clients_refused,
		"Connections that were more than a peer's share."),
	COUNTER("pesad_http_clients_late_total", clients_late,
		"Connections that were ended since no whole request came in time."),
	LABELLED(REFUSED, "process=\"push\"", maps_refused[PESAD_WORKER_PUSH], false, PLAIN,
		 REFUSED_HELP),
	LABELLED(REFUSED, "process=\"http\"", maps_refused[PESAD_WORKER_HTTP], false, PLAIN,
		 REFUSED_HELP),
	LABELLED(CPU, "process=\"collect\"", collector_cpu, false, NANOSECONDS, CPU_HELP),
	LABELLED(CPU, "process=\"push\"", worker_cpu[PESAD_WORKER_PUSH], false, NANOSECONDS,
		 CPU_HELP),
	LABELLED(CPU, "process=\"http\"", worker_cpu[PESAD_WORKER_HTTP], false, NANOSECONDS,
		 CPU_HELP),
	LABELLED(MEMORY, "process=\"collect\"", memory, true, PLAIN, MEMORY_HELP),
	LABELLED(MEMORY, "process=\"push\"", worker_memory[PESAD_WORKER_PUSH], true, PLAIN,
		 MEMORY_HELP),
	LABELLED(MEMORY, "process=\"http\"", worker_memory[PESAD_WORKER_HTTP], true, PLAIN,
		 MEMORY_HELP),
	LABELLED(RESTARTS, "process=\"push\"", worker_restarts[PESAD_WORKER_PUSH], false, PLAIN,
		 RESTARTS_HELP),
	LABELLED(RESTARTS, "process=\"http\"", worker_restarts[PESAD_WORKER_HTTP], false, PLAIN,
		 RESTARTS_HELP),
	LABELLED(STUCK, "process=\"push\"", workers_stuck[PESAD_WORKER_PUSH], false, PLAIN,
		 STUCK_HELP),
	LABELLED(STUCK, "process=\"http\"", workers_stuck[PESAD_WORKER_HTTP], false, PLAIN,
		 STUCK_HELP),
	LABELLED(DROPPED, "process=\"push\"", messages_dropped[PESAD_WORKER_PUSH], false, PLAIN,
		 DROPPED_HELP),
	LABELLED(DROPPED, "process=\"http\"", messages_dropped[PESAD_WORKER_HTTP], false, PLAIN,
		 DROPPED_HELP),
	COUNTER("pesad_reloads_total", reloads, "Configurations that were read again."),
	COUNTER("pesad_reloads_failed_total", reloads_failed,
		"Configurations that were wrong; the one before stayed in force."),
	COUNTER("pesad_log_suppressed_total", log_suppressed,
		"Lines that were not logged for their rate."),
	LABELLED("pesad_start_time_seconds", NULL, started, true, NANOSECONDS,
		 "When the daemon started, since the epoch."),
};

struct pesa_error *pesad_metrics_open(struct pesad_metrics **metrics)
{
	void *memory = mmap(NULL, sizeof(**metrics), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return pesa_error_system(errno, "cannot map memory for metrics");
	*metrics = memory;
	pesad_set(&(*metrics)->started, pesa_wall_clock());
	return NULL;
}

void pesad_metrics_close(struct pesad_metrics *metrics)
{
	if (metrics)
		munmap(metrics, sizeof(*metrics));
}

void pesad_metrics_of_process(pesad_metric *cpu, pesad_metric *memory)
{
	unsigned long pages;
	FILE *stream;

	pesad_set(cpu, pesa_clock(CLOCK_PROCESS_CPUTIME_ID));
	stream = fopen("/proc/self/statm", "re");
	if (!stream)
		return;
	if (fscanf(stream, "%*u %lu", &pages) == 1)
		pesad_set(memory, (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE));
	fclose(stream);
}

void pesad_metrics_print(const struct pesad_metrics *metrics, FILE *stream)
{
	const char *last = "";

	for (size_t i = 0; i < sizeof(descriptions) / sizeof(descriptions[0]); i++) {
		const struct description *metric = &descriptions[i];
		uint64_t value =
			pesad_value((const pesad_metric *)((const char *)metrics + metric->offset));

		if (strcmp(metric->name, last))
			fprintf(stream, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help,
				metric->name, metric->gauge ? "gauge" : "counter");
		last = metric->name;
		fputs(metric->name, stream);
		if (metric->label)
			fprintf(stream, "{%s}", metric->label);
		if (metric->unit == NANOSECONDS)
			fprintf(stream, " %" PRIu64 ".%09" PRIu64 "\n",
				value / UINT64_C(1000000000), value % UINT64_C(1000000000));
		else
			fprintf(stream, " %" PRIu64 "\n", value);
	}
}
