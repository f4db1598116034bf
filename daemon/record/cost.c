// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recording through the kernel: what taking samples costs on this machine.  See session.h.
 *
 * The driver counts the interrupts that came sooner after the one before than that one had taken
 * (`crowded` of its statistics).  Where most of them do, the program hardly runs in between, and
 * the samples are of their own handling.  Then a hart takes the next sample as soon as it has dealt
 * with one: the cycles of all overflows, by the samples that were taken of them, are what a sample
 * costs.
 */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "daemon/record/session.h"

#define FEW   32u /* samples, that tell nothing yet */
#define TIMES 3u  /* what a sample costs: a period of so much leaves the program two thirds */

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

/* An event whose period is known and whose samples come by interrupts of the driver's. */
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
		.crowded = read_statistic(pmu, "crowded"),
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

/* Two digits say it. */
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
	uint64_t taken, crowded, discarded;

	if (!event)
		return 0;
	look(hardware, &event->name.pmu, &now);
	hardware->cost = now;
	taken = now.taken - before.taken;
	crowded = now.crowded - before.crowded;
	discarded = now.discarded - before.discarded;
	/* The statistics are those of the machine: of somebody else's samples they say nothing here. */
	if (taken < FEW || now.ours - before.ours < taken / 2)
		return 0;
	/* Those of samples that the event excludes are short: there the overflows say it. */
	if (crowded < taken / 2 && discarded < taken / 2)
		return 0;
	return round_up((double)TIMES * (double)event->name.attr.sample_period *
			(double)(taken + discarded) / (double)taken);
}
