/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples all CPUs while a program runs, counting in the kernel or reading rings, and says what
 * became of the samples.
 *
 *   aggregate [OPTION...] OUTPUT PROGRAM [ARGUMENT...]
 *
 *   -r        read rings, do not count
 *   -n PAIRS  that a CPU can count between drains
 *   -d MS     drain so often (0: at the end)
 *   -c N      period in cycles
 *   -m BYTES  of a ring
 *   -t        tell threads apart
 *   -P -U -N -G VALUE  count only this process ("child": the program's), user, name, control group
 *   -x        leave the kernel out
 *   -q        write no file: take what was counted and forget it
 *   -b        meanwhile write to a map of BPF all the time, during which the kernel drops samples
 *
 * The program runs on as long as it likes; what it prints comes first.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/events/event.h"
#include "daemon/pesad/aggregate.h"
#include "daemon/record/ring.h"
#include "daemon/record/sideband.h"
#include "daemon/record/workload.h"
#include "decoder/base/read_file.h"
#include "pesa/perfdata.h"

#define VALUES 32

struct cpu {
	unsigned int number;
	int event;
	struct pesa_ring ring;
};

struct run {
	struct pesa_event_name event;
	struct cpu *cpus;
	size_t count;
	uint64_t *ids;
	struct pesa_aggregate *aggregate; /* NULL: rings */
	struct pesa_perfdata_writer *writer;
	bool quiet;
	int disturbing; /* a map that is written to all the time, or -1 */
	uint64_t read, lost, pairs, written, used;
};

static void stop(struct pesa_error *error)
{
	if (!error)
		return;
	fprintf(stderr, "aggregate: %s\n", error->message);
	exit(1);
}

/* Processor time of this process, us. */
static uint64_t used_us(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- Events -------------------------------------------------------------------------------- */

static void open_cpu(struct run *run, unsigned int number, size_t bytes)
{
	struct cpu *cpu;
	uint64_t id;

	run->cpus = reallocarray(run->cpus, run->count + 1, sizeof(*run->cpus));
	run->ids = reallocarray(run->ids, run->count + 1, sizeof(*run->ids));
	if (!run->cpus || !run->ids)
		stop(pesa_error_no_memory());
	cpu = &run->cpus[run->count];
	cpu->number = number;
	cpu->event = pesa_event_open(&run->event.attr, -1, (int)number);
	if (cpu->event < 0)
		stop(pesa_event_refusal(&run->event, -1, (int)number, errno));
	stop(pesa_ring_map(cpu->event, bytes / (size_t)sysconf(_SC_PAGESIZE), false, &cpu->ring));
	if (run->aggregate)
		stop(pesa_aggregate_attach(run->aggregate, cpu->event, number, &run->event.attr));
	ioctl(cpu->event, PERF_EVENT_IOC_ID, &id);
	run->ids[run->count++] = id;
}

static void open_cpus(struct run *run, size_t bytes)
{
	struct pesa_cpu_set online;
	size_t size;
	char *text;

	stop(pesa_read_file("/sys/devices/system/cpu/online", &text, &size));
	text[strcspn(text, "\n")] = '\0';
	if (!pesa_cpu_set_parse(text, &online))
		stop(pesa_error_create(PESA_ERROR_FORMAT, "no list of CPUs"));
	free(text);
	for (unsigned int cpu = 0; cpu < PESA_CPU_MAX; cpu++)
		if (pesa_cpu_in(&online, cpu))
			open_cpu(run, cpu, bytes);
}

static void all_events(const struct run *run, unsigned long what)
{
	for (size_t i = 0; i < run->count; i++)
		ioctl(run->cpus[i].event, what, 0);
}

/* ---- Files --------------------------------------------------------------------------------- */

static void open_output(struct run *run, const char *path, char **command)
{
	const struct pesa_perfdata_writer_attribute attribute = {
		.attr = run->event.attr,
		.name = run->event.name,
		.ids = run->ids,
		.id_count = (uint32_t)run->count,
	};
	const struct pesa_perfdata_writer_options options = {
		.attributes = &attribute,
		.attribute_count = 1,
		.compression = PESA_PERFDATA_COMPRESSION,
		.arch = "riscv64",
		.command = command,
		.capabilities = &run->event.pmu.capabilities,
		.cpus = (unsigned int)run->count,
	};
	struct pesa_build_id_reader *reader = pesa_build_id_reader_create(0, 0);
	bool hidden;

	stop(reader ? NULL : pesa_error_no_memory());
	stop(pesa_perfdata_writer_create(path, &options, &run->writer));
	stop(pesa_sideband_kernel("", run->writer, &hidden));
	stop(pesa_sideband_all("", false, reader, run->writer));
	pesa_build_id_reader_free(reader);
}

static void read_rings(struct run *run)
{
	for (size_t i = 0; i < run->count; i++) {
		struct pesa_ring *ring = &run->cpus[i].ring;
		const uint8_t *record;
		size_t size;

		pesa_ring_begin(ring);
		while ((record = pesa_ring_next(ring, &size))) {
			struct perf_event_header header;

			memcpy(&header, record, sizeof(header));
			run->read += header.type == PERF_RECORD_SAMPLE;
			if (!run->quiet)
				stop(pesa_perfdata_write_raw(run->writer, record, size));
		}
		pesa_ring_end(ring);
	}
}

/* What found no room, as the kernel counts it for every event, and the file tells at its end. */
static void tell_lost(struct run *run)
{
	struct {
		uint64_t count, id, lost; /* PERF_FORMAT_ID, PERF_FORMAT_LOST */
	} values;

	for (size_t i = 0; i < run->count; i++)
		if (read(run->cpus[i].event, &values, sizeof(values)) == sizeof(values))
			run->lost += values.lost;
	if (run->lost)
		stop(pesa_perfdata_write_lost(run->writer, 0, run->lost, 0));
}

static struct pesa_error *take(void *context, const struct pesa_aggregated *pair)
{
	struct run *run = context;

	run->pairs++;
	run->written += pair->samples;
	return run->quiet ? NULL : pesa_aggregated_write(pair, run->writer);
}

static void drain(struct run *run)
{
	if (run->aggregate)
		stop(pesa_aggregate_drain(run->aggregate, take, run));
	read_rings(run);
	stop(pesa_perfdata_write_round(run->writer));
}

static void disturb(int map)
{
	for (uint32_t i = 0; i < 2000; i++)
		if (bpf_map_update_elem(map, &(uint32_t){i % 64}, &i, BPF_ANY))
			stop(pesa_error_system(errno, "cannot write to a map"));
}

static void follow(struct run *run, pid_t process, uint64_t interval)
{
	uint64_t drained = now_ms();

	while (!waitpid(process, NULL, WNOHANG)) {
		if (run->disturbing >= 0)
			disturb(run->disturbing);
		else
			poll(NULL, 0, 10);
		read_rings(run);
		if (!interval || now_ms() - drained < interval)
			continue;
		drain(run);
		drained = now_ms();
	}
}

/* ---- The result ---------------------------------------------------------------------------- */

static void print_result(const struct run *run)
{
	struct pesa_aggregate_counts counts = {0};

	if (run->aggregate)
		pesa_aggregate_counts(run->aggregate, &counts);
	printf("mode %s\ncounted %" PRIu64 "\nfiltered %" PRIu64 "\noverflowed %" PRIu64
	       "\npassed %" PRIu64 "\nmissed %" PRIu64 "\nfiltered_lost %" PRIu64
	       "\ndropped %" PRIu64 "\npairs %" PRIu64 "\nroom %" PRIu64,
	       run->aggregate ? "kernel" : "rings", counts.counted, counts.filtered,
	       counts.overflowed, counts.passed, counts.missed, counts.lost, counts.dropped,
	       counts.pairs, counts.room);
	printf("\nread %" PRIu64 "\nring_lost %" PRIu64 "\ntaken_pairs %" PRIu64
	       "\nwritten %" PRIu64 "\ncpu_us %" PRIu64 "\n",
	       run->read, run->lost, run->pairs, run->written, run->used);
}

int main(int argc, char **argv)
{
	struct pesa_sampling sampling = {.period = 100000, .tracking = true, .system_wide = true};
	struct pesa_aggregate_options options = {0};
	struct pesa_workload workload = {0};
	uint32_t pids[VALUES], uids[VALUES];
	char *comms[VALUES], *cgroups[VALUES];
	bool rings = false, modes = true, child = false;
	struct run run = {.disturbing = -1};
	uint64_t interval = 0;
	size_t bytes = 512 * 1024;
	sigset_t mask;
	int option;

	while ((option = getopt(argc, argv, "+rn:d:c:m:tP:U:N:G:xqb")) != -1) {
		if ((options.filter.pid_count | options.filter.uid_count |
		     options.filter.comm_count | options.filter.cgroup_count) >= VALUES)
			return 2;
		switch (option) {
		case 'r':
			rings = true;
			break;
		case 'n':
			options.entries = strtoul(optarg, NULL, 0);
			break;
		case 'd':
			interval = strtoul(optarg, NULL, 0);
			break;
		case 'c':
			sampling.period = strtoul(optarg, NULL, 0);
			break;
		case 'm':
			bytes = strtoul(optarg, NULL, 0);
			break;
		case 't':
			options.threads = true;
			break;
		case 'P':
			child |= !strcmp(optarg, "child");
			pids[options.filter.pid_count++] = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'U':
			uids[options.filter.uid_count++] = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'N':
			comms[options.filter.comm_count++] = optarg;
			break;
		case 'G':
			cgroups[options.filter.cgroup_count++] = optarg;
			break;
		case 'x':
			modes = false;
			break;
		case 'b':
			run.disturbing =
				bpf_map_create(BPF_MAP_TYPE_HASH, "disturbing", 4, 4, 64, NULL);
			break;
		case 'q':
			run.quiet = true;
			break;
		default:
			return 2;
		}
	}
	if (argc - optind < 2)
		return 2;
	sigemptyset(&mask);
	stop(pesa_workload_start(argv + optind + 1, &mask, false, &workload));
	if (child)
		pids[0] = (uint32_t)workload.process;
	options.filter.pids = pids;
	options.filter.uids = uids;
	options.filter.comms = comms;
	options.filter.cgroups = cgroups;
	if (!rings) {
		struct pesa_error *error = pesa_aggregate_open(&options, &run.aggregate);

		if (error)
			printf("reason %s\n", error->message);
		pesa_error_free(error);
	}
	stop(pesa_event_parse(PESA_PMU_DIRECTORY, modes ? "pesa/cycles/" : "pesa/cycles/u",
			      &run.event));
	stop(pesa_event_attribute(&run.event, &sampling));
	open_cpus(&run, bytes);
	open_output(&run, argv[optind], argv);
	run.used = used_us();
	all_events(&run, PERF_EVENT_IOC_ENABLE);
	stop(pesa_workload_go(argv + optind + 1, &workload));
	follow(&run, workload.process, interval);
	all_events(&run, PERF_EVENT_IOC_DISABLE);
	drain(&run);
	run.used = used_us() - run.used;
	tell_lost(&run);
	stop(pesa_perfdata_writer_finish(run.writer));
	print_result(&run);
	return 0;
}
