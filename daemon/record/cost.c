// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recording through the kernel: the cost of a sample on this machine.  See session.h.
 *
 * The driver counts interrupts that follow the last one within half their duration (statistic
 * `back_to_back`).  If most do, the recorded program hardly runs, and the samples are of the
 * interrupt handler.  A hart then takes the next sample as soon as it is done with the last one, so
 * the cost of a sample in cycles is: period x overflows / samples taken.
 */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "daemon/record/session.h"

#define FEW 32u /* too few samples for an estimate */
#define TIMES_LEAST \
	3u /* period / cost of a sample, so that the program gets two thirds of the time */

static uint64_t read_statistic(const struct pesa_pmu *pmu, const char *name)
{
	char path[PATH_MAX + 64];
	uint64_t value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/statistics/%s", pmu->directory, name);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%" SCNu64, &value) != 1)
		value = 0;
	fclose(file);
	return value;
}

/*
 * Period / cost of a sample.  perf stops events whose interrupts take more than a share of the time
 * (25 % by default) until the next tick: samples would be those after ticks.
 */
static unsigned int times_cost(void)
{
	long percent = pesa_kernel_setting("perf_cpu_time_max_percent", 0);
	unsigned int times = percent > 0 && percent < 100 ? 100 / (unsigned int)percent + 1 : 0;

	return times > TIMES_LEAST ? times : TIMES_LEAST;
}

/* The event has a known period, and the driver takes its samples by interrupt. */
static bool is_counted(const struct hardware_event *event)
{
	return event->name.pmu.has_capabilities && !event->name.attr.freq &&
	       event->name.attr.sample_period && !pesa_event_is_autorun(&event->name);
}

static void look(const struct hardware *hardware, const struct pesa_pmu *pmu,
		 struct hardware_cost *cost)
{
	*cost = (struct hardware_cost){
		.taken = read_statistic(pmu, "taken"),
		.discarded = read_statistic(pmu, "discarded"),
		.back_to_back = read_statistic(pmu, "back_to_back"),
	};
	for (unsigned int i = 0; i < hardware->event_count; i++) {
		const struct hardware_event *event = &hardware->events[i];

		cost->ours +=
			is_counted(event) ? event->counted / event->name.attr.sample_period : 0;
	}
}

static const struct hardware_event *shortest_event(const struct hardware *hardware)
{
	const struct hardware_event *found = NULL;

	for (unsigned int i = 0; i < hardware->event_count; i++) {
		const struct hardware_event *event = &hardware->events[i];

		if (is_counted(event) &&
		    (!found || event->name.attr.sample_period < found->name.attr.sample_period))
			found = event;
	}
	return found;
}

/* Round up to two significant digits. */
static uint64_t round_up(double value)
{
	double unit = pow(10, floor(log10(value)) - 1);

	return (uint64_t)(ceil(value / unit) * unit);
}

void hardware_cost_begin(struct hardware *hardware)
{
	const struct hardware_event *event = shortest_event(hardware);

	if (event)
		look(hardware, &event->name.pmu, &hardware->cost);
}

uint64_t hardware_cost_shortest(struct hardware *hardware)
{
	const struct hardware_event *event = shortest_event(hardware);
	struct hardware_cost before = hardware->cost, now;
	uint64_t taken, back_to_back, discarded;

	if (!event)
		return 0;
	look(hardware, &event->name.pmu, &now);
	hardware->cost = now;
	taken = now.taken - before.taken;
	back_to_back = now.back_to_back - before.back_to_back;
	discarded = now.discarded - before.discarded;
	/* The statistics are of the whole machine: give up if most samples belong to others. */
	if (taken < FEW || now.ours - before.ours < taken / 2)
		return 0;
	/* Interrupts of excluded samples are short and not back to back: use the overflows
	 * instead. */
	if (back_to_back < taken / 2 && discarded < taken / 2)
		return 0;
	return round_up((double)times_cost() * (double)event->name.attr.sample_period *
			(double)(taken + discarded) / (double)taken);
}
