// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/pesad/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/base/clock.h"
#include "daemon/pesad/choice.h"
#include "daemon/record/cgroups.h"
#include "daemon/record/session.h"
#include "daemon/record/sideband.h"
#include "decoder/base/read_file.h"

#define SECOND	     UINT64_C(1000000000)
#define NOWHERE	     "/dev/null"    /* for samples that no file can take */
#define RETRY	     (5 * SECOND)   /* until the next attempt after a file failed */
#define PORTION	     (SECOND / 200) /* time for reading /proc between two reads of the rings */
#define APART	     SECOND	    /* between flushes, and between changes of the period */
#define STEP	     (2 * (int64_t)SECOND) /* larger differences mean that the clock was set */
#define LONGEST_WAIT 1000		   /* ms */

/* A file that is being written. */
struct file {
	const char *path;	  /* path in the store; NULL: NOWHERE */
	uint64_t wall, monotonic; /* ns, start of its interval */
	uint64_t samples;
};

/* The parts of the summary that are already in the metrics. */
struct counted {
	uint64_t samples, lost, discarded, unwanted, throttled, damaged, followed, late;
};

struct pesad_collector {
	const struct pesad_config *config;
	struct pesad_source source;
	struct pesad_store *store;
	struct pesad_metrics *metrics;
	struct pesad_log *log;
	struct pesa_hardware_options options;
	struct pesa_hardware_summary summary;
	struct hardware hardware;
	const struct pesa_kernel_maps *kernel;
	struct pesad_choice choice;
	char *command[2];
	struct file now, next;
	pid_t *processes; /* processes whose side band the next file still needs */
	size_t process_count, process_at;
	bool preparing; /* the next file is being prepared; or the first one, which is `now` */
	bool first;
	bool flush;			     /* a worker requested a flush */
	uint64_t due, flush_due, jitter_due; /* ns monotonic */
	uint64_t flushed;		     /* time of the last flush, ns monotonic */
	uint32_t serial, interval;
	struct counted counted;
	int64_t clock_offset; /* wall clock minus monotonic clock */
	uint64_t random;
	struct pollfd *polled;
	size_t polled_count;
};

struct pesad_sink {
	struct pesad_collector *collector;
};

/* ---- Counting ------------------------------------------------------------------------------ */

static uint64_t damaged(const struct hardware *hardware)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < hardware->ring_count; i++)
		sum += hardware->rings[i].ring.damaged + hardware->rings[i].autorun.damaged;
	return sum;
}

static uint64_t newer(uint64_t *counted, uint64_t now)
{
	uint64_t more = now > *counted ? now - *counted : 0;

	*counted = now;
	return more;
}

/* Add the changes since the last call to the metrics. */
static void count(struct pesad_collector *collector)
{
	const struct pesa_hardware_summary *summary = &collector->summary;
	struct pesad_metrics *metrics = collector->metrics;
	struct counted *counted = &collector->counted;
	uint64_t samples = newer(&counted->samples, summary->samples);
	uint64_t discarded = newer(&counted->discarded, summary->discarded);
	uint64_t lost = newer(&counted->lost, summary->lost);
	uint64_t unwanted = newer(&counted->unwanted, collector->hardware.unwanted);
	uint64_t late =
		newer(&counted->late, pesa_build_id_reader_late(collector->hardware.reader));

	pesad_count(&metrics->throttled, newer(&counted->throttled, summary->throttled));
	pesad_count(&metrics->damaged_bytes,
		    newer(&counted->damaged, damaged(&collector->hardware)));
	pesad_count(&metrics->build_ids_late, late);
	pesad_count(&metrics->cpus_followed, newer(&counted->followed, summary->followed));
	pesad_count(&metrics->taken, samples + discarded + lost + unwanted);
	pesad_count(&metrics->filtered, unwanted);
	pesad_count(&metrics->lost[PESAD_LOST_HARDWARE], discarded);
	pesad_count(&metrics->lost[PESAD_LOST_RING], lost);
	pesad_count(&metrics->pending, samples);
	collector->now.samples += samples;
	if (lost)
		pesad_log_limited(collector->log, PESAD_LOG_LOSS, PESAD_LOG_WARNING,
				  "%llu samples found no room in a ring and were lost: a larger "
				  "ring or fewer samples help",
				  (unsigned long long)lost);
	if (late)
		pesad_log_limited(collector->log, PESAD_LOG_LATE, PESAD_LOG_WARNING,
				  "a mapped file did not answer in time: %llu maps have no build "
				  "id, nor have those of the next seconds",
				  (unsigned long long)late);
}

/* A file is finished: move its samples from `pending` to a final count. */
static void settle(struct pesad_collector *collector, struct file *file, pesad_metric *metric)
{
	pesad_count(metric, file->samples);
	pesad_set(&collector->metrics->pending,
		  pesad_value(&collector->metrics->pending) - file->samples);
	file->samples = 0;
}

struct pesa_error *pesad_sink_sample(struct pesad_sink *sink, const struct pesa_sample *sample,
				     uint64_t times)
{
	struct pesad_collector *collector = sink->collector;
	struct pesa_error *error = NULL;
	struct pesa_sample copy = *sample;
	struct pesa_record record;
	uint16_t misc = sample->exact_ip ? PERF_RECORD_MISC_EXACT_IP : 0;

	copy.attribute = 0;
	misc |= sample->ip >> 63 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
	if (copy.raw && copy.raw_size >= sizeof(record)) {
		memcpy(&record, copy.raw, sizeof(record));
		collector->summary.discarded +=
			times * (record.flags >> PESA_RECORD_LOST_SHIFT & PESA_RECORD_LOST_MASK);
	}
	collector->summary.samples += times;
	for (uint64_t i = 0; i < times && !error; i++)
		error = pesa_perfdata_write_sample(collector->hardware.writer, &copy, misc);
	return error;
}

/* ---- Files --------------------------------------------------------------------------------- */

static struct pesa_error *create(struct pesad_collector *collector, const char *path,
				 struct pesa_perfdata_writer **writer)
{
	return hardware_writer_create(&collector->hardware, path ? path : NOWHERE, false, writer);
}

/* The current file failed: its samples are lost, and those until the next file begins. */
static void give_up_file(struct pesad_collector *collector, struct pesa_error *error)
{
	struct hardware *hardware = &collector->hardware;

	pesad_log_error(collector->log, PESAD_LOG_WRITE, PESAD_LOG_ERROR, error);
	pesa_perfdata_writer_abandon(hardware->writer);
	hardware->writer = NULL;
	count(collector);
	if (collector->now.path) {
		pesad_store_drop(collector->store, collector->now.path);
		pesad_count(&collector->metrics->files_failed, 1);
	}
	collector->now.path = NULL;
	settle(collector, &collector->now, &collector->metrics->lost[PESAD_LOST_WRITE]);
	if (collector->due > pesa_monotonic() + RETRY)
		collector->due = pesa_monotonic() + RETRY;
}

/* Return whether there is a writer, if only to NOWHERE. */
static bool has_writer(struct pesad_collector *collector)
{
	struct pesa_error *error;

	if (collector->hardware.writer)
		return true;
	error = create(collector, NULL, &collector->hardware.writer);
	pesad_log_error(collector->log, PESAD_LOG_WRITE, PESAD_LOG_ERROR, error);
	return !error;
}

static struct pesa_error *drain(struct pesad_collector *collector)
{
	struct hardware *hardware = &collector->hardware;
	struct pesa_error *error = NULL;
	bool any = false;

	for (size_t i = 0; i < hardware->ring_count && !error; i++)
		error = hardware_take(hardware, &hardware->rings[i], &any);
	/*
	 * Counted samples can be as old as the last call of the source, AutoRun samples arbitrarily
	 * old.
	 */
	if (!error && any && !collector->first && !collector->source.take && !hardware->autorun)
		error = pesa_perfdata_write_round(hardware->writer);
	count(collector);
	return error;
}

static struct pesa_error *take_counted(struct pesad_collector *collector)
{
	struct pesad_sink sink = {.collector = collector};
	struct pesa_error *error;

	if (!collector->source.take)
		return NULL;
	error = collector->source.take(collector->source.context, &sink);
	/* The rings were emptied before: no older record can come any more. */
	if (!error && !collector->first && !collector->hardware.autorun)
		error = pesa_perfdata_write_round(collector->hardware.writer);
	count(collector);
	collector->flush_due = pesa_monotonic() + collector->config->bpf.flush;
	return error;
}

/* The file in preparation failed. */
static void give_up_prepared(struct pesad_collector *collector, struct pesa_error *error)
{
	struct hardware *hardware = &collector->hardware;

	if (collector->first) {
		give_up_file(collector, error);
		return;
	}
	pesa_perfdata_writer_abandon(hardware->next);
	hardware->next = NULL;
	hardware->next_error = error;
}

static struct pesa_perfdata_writer *prepared(const struct pesad_collector *collector)
{
	return collector->first ? collector->hardware.writer : collector->hardware.next;
}

/*
 * Begin to prepare a file.  Samples are already written to the first one meanwhile; its side band
 * from /proc has time 0, which sorts it to the front of the first round.
 */
static void prepare(struct pesad_collector *collector, struct file *file)
{
	struct hardware *hardware = &collector->hardware;
	struct pesa_error *error;

	file->path = pesad_store_next(collector->store);
	collector->preparing = true;
	free(collector->processes);
	collector->process_at = 0;
	collector->process_count = pesa_processes("", &collector->processes);
	error = create(collector, file->path,
		       collector->first ? &hardware->writer : &hardware->next);
	if (!error)
		error = pesa_kernel_maps_write(collector->kernel, prepared(collector));
	if (!error && collector->config->collect.cgroups)
		error = pesa_sideband_cgroups("", prepared(collector));
	if (error)
		give_up_prepared(collector, error);
}

/* Write the side band of some more processes.  Returns true when done, or if the file failed. */
static bool prepare_more(struct pesad_collector *collector)
{
	uint64_t until = pesa_monotonic() + PORTION;

	while (prepared(collector) && collector->process_at < collector->process_count) {
		struct pesa_error *error = pesa_sideband_process(
			"", collector->processes[collector->process_at++], false,
			collector->hardware.reader, prepared(collector));

		if (error)
			give_up_prepared(collector, error);
		else if (pesa_monotonic() >= until)
			break;
	}
	return !prepared(collector) || collector->process_at == collector->process_count;
}

/* The next file failed while it was prepared. */
static void give_up_next(struct pesad_collector *collector)
{
	pesad_log_error(collector->log, PESAD_LOG_WRITE, PESAD_LOG_ERROR,
			collector->hardware.next_error);
	collector->hardware.next_error = NULL;
	pesad_store_drop(collector->store, collector->next.path);
	pesad_count(&collector->metrics->files_failed, 1);
	collector->next.path = NULL;
}

static void watch_cost(struct pesad_collector *collector)
{
	uint64_t shortest = hardware_cost_shortest(&collector->hardware);

	if (shortest)
		pesad_log_limited(collector->log, PESAD_LOG_COST, PESAD_LOG_WARNING,
				  "most of the time went into taking the samples: %llu is the "
				  "shortest period that measures what runs here",
				  (unsigned long long)shortest);
}

static struct pesa_error *finish(struct pesad_collector *collector)
{
	struct hardware *hardware = &collector->hardware;
	struct pesa_error *error = drain(collector);
	uint64_t lost = 0;

	if (!error)
		error = take_counted(collector);
	if (!error)
		error = hardware_write_lost(hardware, &lost);
	if (!error)
		watch_cost(collector);
	if (lost > collector->summary.lost)
		collector->summary.lost = lost;
	count(collector);
	if (error || !collector->now.path)
		return error;
	error = pesa_perfdata_writer_finish(hardware->writer);
	hardware->writer = NULL;
	return error;
}

/* End the current interval, and fill in its message. */
static bool end(struct pesad_collector *collector, struct pesad_message *message)
{
	const struct file *now = &collector->now;
	struct pesa_error *error = NULL;
	const char *path = NULL;

	if (has_writer(collector))
		error = finish(collector);
	*message = (struct pesad_message){
		.kind = PESAD_MESSAGE_INTERVAL,
		.serial = ++collector->serial,
		.interval = collector->interval++,
		.bytes = UINT64_MAX,
		.from = now->wall,
		.monotonic_from = now->monotonic,
		.monotonic_until = pesa_monotonic(),
		.samples = now->samples,
	};
	message->until = message->from + message->monotonic_until - message->monotonic_from;
	pesad_count(&collector->metrics->intervals, 1);
	if (!error && now->path)
		error = pesad_store_keep(collector->store, now->path, now->wall, &path);
	if (error) {
		give_up_file(collector, error);
	} else if (path) {
		snprintf(message->path, sizeof(message->path), "%s", path);
		pesad_count(&collector->metrics->files_written, 1);
		settle(collector, &collector->now, &collector->metrics->written);
	} else {
		settle(collector, &collector->now, &collector->metrics->lost[PESAD_LOST_WRITE]);
	}
	if (!*message->path)
		message->samples = 0;
	pesad_store_rotate(collector->store);
	return true;
}

/* Switch to the next file: samples are written to it from now on. */
static void change(struct pesad_collector *collector)
{
	struct hardware *hardware = &collector->hardware;
	uint64_t now = pesa_monotonic(), interval = collector->config->store.interval;

	if (!hardware->next)
		give_up_next(collector);
	pesa_perfdata_writer_abandon(hardware->writer);
	hardware->writer = hardware->next;
	hardware->next = NULL;
	collector->now = collector->next;
	collector->now.wall = pesa_wall_clock();
	collector->now.monotonic = now;
	/* Keep a fixed rate unless the switch is late. */
	collector->due += interval;
	if (collector->due < now + interval / 2 || collector->due > now + interval)
		collector->due = now + interval;
	if (!collector->now.path && collector->due > now + RETRY)
		collector->due = now + RETRY;
}

/* Flush: all samples up to now are in the file when this returns; the file continues. */
static bool write_out(struct pesad_collector *collector, struct pesad_message *message)
{
	const struct file *now = &collector->now;
	struct pesa_error *error = drain(collector);
	struct stat status = {0};

	collector->flush = false;
	collector->flushed = pesa_monotonic();
	if (!error)
		error = take_counted(collector);
	if (!error)
		error = pesa_perfdata_writer_flush(collector->hardware.writer);
	if (!error && now->path && stat(now->path, &status))
		error = pesa_error_system(errno, "%s: cannot be seen", now->path);
	if (error)
		give_up_file(collector, error);
	*message = (struct pesad_message){
		.kind = PESAD_MESSAGE_FLUSHED,
		.serial = ++collector->serial,
		.interval = collector->interval,
		.bytes = (uint64_t)status.st_size,
		.from = now->wall,
		.monotonic_from = now->monotonic,
		.monotonic_until = collector->flushed,
		.samples = now->path ? now->samples : 0,
	};
	message->until = message->from + message->monotonic_until - message->monotonic_from;
	if (now->path)
		snprintf(message->path, sizeof(message->path), "%s", now->path);
	return true;
}

/* The wall clock was set: file names follow it, intervals do not. */
static void check_clock(struct pesad_collector *collector)
{
	int64_t offset = (int64_t)(pesa_wall_clock() - pesa_monotonic());
	int64_t step = offset - collector->clock_offset;

	if (step > STEP || step < -STEP)
		pesad_log_limited(collector->log, PESAD_LOG_CLOCK, PESAD_LOG_WARNING,
				  "the wall clock was set by %+.1f s: names of files follow it, "
				  "intervals and ages do not",
				  (double)step / (double)SECOND);
	collector->clock_offset = offset;
}

/* ---- CPUs ---------------------------------------------------------------------------------- */

static void attach(struct pesad_collector *collector, size_t first)
{
	const struct hardware *hardware = &collector->hardware;

	for (size_t i = first; i < hardware->descriptor_count && collector->source.attach; i++)
		if (!hardware->descriptors[i].event)
			pesad_log_error(
				collector->log, PESAD_LOG_BPF, PESAD_LOG_WARNING,
				collector->source.attach(collector->source.context,
							 hardware->descriptors[i].descriptor,
							 hardware->descriptors[i].cpu,
							 pesad_collector_attribute(collector)));
}

static size_t count_cpus(const struct hardware *hardware)
{
	size_t count = 0;

	for (size_t i = 0; i < hardware->descriptor_count; i++)
		count += !hardware->descriptors[i].event && !hardware->descriptors[i].offline;
	return count;
}

static void follow_cpus(struct pesad_collector *collector)
{
	struct hardware *hardware = &collector->hardware;
	size_t before = pesad_value(&collector->metrics->cpus), now, known;

	/* Their rings have been emptied since the CPUs went offline. */
	hardware_close_gone(hardware);
	known = hardware->descriptor_count;
	hardware_hotplug_follow(hardware);
	attach(collector, known);
	now = count_cpus(hardware);
	pesad_set(&collector->metrics->cpus, now);
	if (before && before != now)
		pesad_log_limited(collector->log, PESAD_LOG_EVENTS, PESAD_LOG_INFO,
				  "CPUs came or went: %zu are sampled, there were %zu", now,
				  before);
	if (!*collector->summary.unfollowed)
		return;
	pesad_count(&collector->metrics->cpus_refused, 1);
	pesad_log_limited(collector->log, PESAD_LOG_EVENTS, PESAD_LOG_ERROR,
			  "a CPU that came is not sampled: %s", collector->summary.unfollowed);
	*collector->summary.unfollowed = '\0';
}

/* ---- Periods ------------------------------------------------------------------------------- */

static uint64_t draw(struct pesad_collector *collector)
{
	uint64_t x = collector->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return collector->random = x;
}

/*
 * A timer that is in step with the code always samples the same part of it.  The PMU pesa varies
 * each interval itself; other events get a new period every second, within an eighth.
 */
static void vary_period(struct pesad_collector *collector)
{
	const struct hardware *hardware = &collector->hardware;
	const struct perf_event_attr *attr = &hardware->events[0].name.attr;
	uint64_t middle = attr->freq ? attr->sample_freq : attr->sample_period;

	if (!collector->config->collect.jitter || hardware->events[0].name.pmu.has_capabilities)
		return;
	/* The kernel's software timers convert a frequency to ns only when opened. */
	if (attr->freq && attr->type == PERF_TYPE_SOFTWARE &&
	    (attr->config == PERF_COUNT_SW_CPU_CLOCK || attr->config == PERF_COUNT_SW_TASK_CLOCK))
		middle = SECOND / middle;
	for (size_t i = 0; i < hardware->descriptor_count; i++) {
		uint64_t period = middle - middle / 8;

		period += draw(collector) % (middle / 4 + 1);
		if (period && !hardware->descriptors[i].offline &&
		    hardware->descriptors[i].event < collector->choice.event_count)
			ioctl(hardware->descriptors[i].descriptor, PERF_EVENT_IOC_PERIOD, &period);
	}
}

/* ---- The loop ------------------------------------------------------------------------------ */

static struct pesa_error *poll_rings(struct pesad_collector *collector)
{
	struct hardware *hardware = &collector->hardware;
	size_t count = 1 + hardware->ring_count;
	struct pollfd *grown = realloc(collector->polled, count * sizeof(*grown));

	if (!grown)
		return pesa_error_no_memory();
	collector->polled = grown;
	collector->polled_count = count;
	grown[0] = (struct pollfd){.fd = hardware->hotplug, .events = POLLIN};
	for (size_t i = 0; i < hardware->ring_count; i++) {
		grown[1 + i] = (struct pollfd){.fd = -1, .events = POLLIN};
		for (size_t j = 0; j < hardware->descriptor_count; j++)
			if (hardware->descriptors[j].cpu == hardware->rings[i].cpu &&
			    !hardware->descriptors[j].offline)
				grown[1 + i].fd = hardware->descriptors[j].descriptor;
	}
	return NULL;
}

const struct pollfd *pesad_collector_polled(const struct pesad_collector *collector, size_t *count)
{
	*count = collector->polled_count;
	return collector->polled;
}

static uint64_t earlier(uint64_t left, uint64_t right)
{
	return left < right ? left : right;
}

int pesad_collector_timeout(const struct pesad_collector *collector)
{
	uint64_t now = pesa_monotonic(),
		 next = earlier(collector->due, now + LONGEST_WAIT * SECOND / 1000);

	if (collector->preparing)
		return 0;
	if (collector->source.take)
		next = earlier(next, collector->flush_due);
	if (collector->flush)
		next = earlier(next, collector->flushed + APART);
	return next > now ? (int)((next - now + 999999) / 1000000) : 0;
}

bool pesad_collector_poll_once(struct pesad_collector *collector, struct pesad_message *message)
{
	struct pesa_error *error = NULL;
	uint64_t now = pesa_monotonic();
	bool ended;

	if (has_writer(collector)) {
		error = drain(collector);
		if (!error && collector->source.take && now >= collector->flush_due)
			error = take_counted(collector);
		if (error)
			give_up_file(collector, error);
	}
	follow_cpus(collector);
	pesad_log_error(collector->log, PESAD_LOG_EVENTS, PESAD_LOG_ERROR, poll_rings(collector));
	if (now >= collector->jitter_due) {
		vary_period(collector);
		collector->jitter_due = now + APART;
		check_clock(collector);
		pesad_metrics_of_process(&collector->metrics->collector_cpu,
					 &collector->metrics->memory);
	}
	if (collector->flush && !collector->first && now - collector->flushed >= APART &&
	    has_writer(collector))
		return write_out(collector, message);
	if (!collector->preparing && now >= collector->due)
		prepare(collector, &collector->next);
	if (!collector->preparing || !prepare_more(collector))
		return false;
	collector->preparing = false;
	if (collector->first) {
		collector->first = false;
		return false;
	}
	ended = end(collector, message);
	change(collector);
	return ended;
}

void pesad_collector_flush(struct pesad_collector *collector)
{
	collector->flush = true;
}

/* ---- Opening ------------------------------------------------------------------------------- */

static void choose_options(struct pesad_collector *collector)
{
	const struct pesad_config *config = collector->config;

	collector->command[0] = "pesad";
	collector->options = (struct pesa_hardware_options){
		.devices = PESA_PMU_DIRECTORY,
		.sampling = {.period = config->collect.period,
			     .frequency = config->collect.period ? 0 : config->collect.frequency,
			     .callchain =
				     config->collect.call_graph == PESAD_CALL_GRAPH_FRAME_POINTER
					     ? PESA_CALLCHAIN_FRAME_POINTER
					     : PESA_CALLCHAIN_NONE,
			     .cgroups = config->collect.cgroups},
		.system_wide = true,
		.has_cpus = *config->collect.cpus,
		.ring_bytes = config->collect.ring,
		.compression = (int)config->store.compression,
		.command = collector->command,
	};
	if (collector->options.has_cpus)
		pesa_cpu_set_parse(config->collect.cpus, &collector->options.cpus);
	pesad_choice_make(&collector->choice, config, collector->log, &collector->options);
}

/*
 * With a fixed period all samples have the same weight, and equal ones can be counted: if the PMU's
 * clock frequency is known, convert the frequency to the nearest period.
 */
static struct pesa_error *choose_period(struct pesad_collector *collector)
{
	struct pesa_sampling *sampling = &collector->options.sampling;
	const struct pesa_event_source names = {.devices = collector->options.devices,
						.catalogue = collector->options.catalogue};
	struct pesa_event_name event;
	struct pesa_error *error = pesa_event_resolve(&names, collector->choice.events[0], &event);
	uint64_t least, most;

	if (error || !sampling->frequency || !event.pmu.has_capabilities ||
	    !event.pmu.capabilities.frequency)
		return error;
	pesa_event_periods(&event, &least, &most);
	sampling->period = event.pmu.capabilities.frequency / sampling->frequency;
	if (sampling->period < least)
		sampling->period = least;
	if (sampling->period > most)
		sampling->period = most;
	sampling->frequency = 0;
	pesad_log(collector->log, PESAD_LOG_INFO,
		  "%s: one sample in %llu cycles, %.1f a second and CPU", event.name,
		  (unsigned long long)sampling->period,
		  (double)event.pmu.capabilities.frequency / (double)sampling->period);
	return NULL;
}

static struct pesa_error *open_events(struct pesad_collector *collector)
{
	struct hardware *hardware = &collector->hardware;
	struct pesa_error *error = choose_period(collector);

	if (!error)
		error = hardware_open(hardware);
	if (!error)
		hardware_cost_begin(hardware);
	if (!error && hardware->autorun && hardware->wants)
		error = pesa_error_create(PESA_ERROR_ARGUMENT,
					  "event %s: AutoRun cannot have a filter: leave one out",
					  pesad_choice_name(&collector->choice));
	if (!error)
		error = poll_rings(collector);
	return error;
}

struct pesa_error *pesad_collector_open(const struct pesad_config *config,
					const struct pesad_source *source,
					const struct pesa_kernel_maps *kernel,
					struct pesad_store *store, struct pesad_metrics *metrics,
					struct pesad_log *log, struct pesad_collector **collector)
{
	struct pesad_collector *opened = calloc(1, sizeof(*opened));
	struct pesa_error *error;

	if (!opened)
		return pesa_error_no_memory();
	opened->config = config;
	opened->store = store;
	opened->metrics = metrics;
	opened->log = log;
	opened->kernel = kernel;
	if (source)
		opened->source = *source;
	choose_options(opened);
	opened->hardware = (struct hardware){
		.options = &opened->options,
		.summary = &opened->summary,
		.hotplug = -1,
		.workload = {.go = -1, .failure = -1},
		.wants = opened->source.wants,
		.wants_context = opened->source.context,
		.record = malloc(PESA_RECORD_BYTES_MAX),
	};
	if (getrandom(&opened->random, sizeof(opened->random), 0) < 0 || !opened->random)
		opened->random = pesa_wall_clock() | 1;
	error = opened->hardware.record ? open_events(opened) : pesa_error_no_memory();
	if (error)
		pesad_collector_close(opened);
	else
		*collector = opened;
	return error;
}

const char *pesad_collector_event(const struct pesad_collector *collector)
{
	return pesad_choice_name(&collector->choice);
}

const struct perf_event_attr *pesad_collector_attribute(const struct pesad_collector *collector)
{
	return &collector->hardware.events[0].name.attr;
}

static void for_all(const struct hardware *hardware, unsigned long request)
{
	for (size_t i = 0; i < hardware->descriptor_count; i++)
		ioctl(hardware->descriptors[i].descriptor, request, 0);
}

void pesad_collector_start(struct pesad_collector *collector)
{
	attach(collector, 0);
	pesad_set(&collector->metrics->cpus, count_cpus(&collector->hardware));
	for_all(&collector->hardware, PERF_EVENT_IOC_ENABLE);
	collector->now = (struct file){.wall = pesa_wall_clock(), .monotonic = pesa_monotonic()};
	collector->clock_offset = (int64_t)(collector->now.wall - collector->now.monotonic);
	collector->due = collector->now.monotonic + collector->config->store.interval;
	collector->flush_due = collector->now.monotonic + collector->config->bpf.flush;
	collector->first = true;
	collector->interval = 1;
	prepare(collector, &collector->now);
}

bool pesad_collector_stop(struct pesad_collector *collector, struct pesad_message *message)
{
	struct hardware *hardware = &collector->hardware;

	for_all(hardware, PERF_EVENT_IOC_DISABLE);
	if (collector->preparing && !collector->first) {
		pesa_perfdata_writer_abandon(hardware->next);
		hardware->next = NULL;
		pesad_store_drop(collector->store, collector->next.path);
	}
	collector->preparing = false;
	collector->first = false;
	return end(collector, message);
}

void pesad_collector_close(struct pesad_collector *collector)
{
	struct hardware *hardware;

	if (!collector)
		return;
	hardware = &collector->hardware;
	pesa_perfdata_writer_abandon(hardware->writer);
	pesa_perfdata_writer_abandon(hardware->next);
	pesa_error_free(hardware->next_error);
	hardware_close(hardware);
	pesad_choice_free(&collector->choice);
	free(hardware->record);
	free(collector->processes);
	free(collector->polled);
	free(collector);
}
