// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/record/source.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "daemon/events/catalogue.h"
#include "daemon/events/event.h"
#include "daemon/record/ring.h"

#define TRIAL_PERIOD 100000u  /* cycles: a tenth of a millisecond at 1 GHz */
#define TRIAL_NS     30000000 /* CPU time in which a sample must arrive */

static const struct {
	const char *name, *meaning;
} levels[PESA_SOURCE_LEVELS] = {
	[PESA_SOURCE_DETAILS] = {"details", "cycle stacks of every instruction, exact PCs"},
	[PESA_SOURCE_PC] = {"pc", "cycles at exact PCs, no cycle stacks"},
	[PESA_SOURCE_CYCLES] = {"cycles", "cycles by function and line; PCs skid some instructions "
					  "behind the one that waited, no cycle stacks"},
	[PESA_SOURCE_LEADER] = {"leader", "cycles by function and line, through the processor's "
					  "own events; PCs skid some instructions behind the one "
					  "that waited, no cycle stacks"},
	[PESA_SOURCE_CLOCK] = {"clock", "time and not cycles, by function and line; PCs are where "
					"a timer's interrupt came through, no cycle stacks"},
};

const char *pesa_source_level_name(enum pesa_source_level level)
{
	return levels[level].name;
}

bool pesa_source_level_parse(const char *text, enum pesa_source_level *level)
{
	for (unsigned int i = 0; i < PESA_SOURCE_LEVELS; i++) {
		if (strcmp(levels[i].name, text))
			continue;
		*level = (enum pesa_source_level)i;
		return true;
	}
	return false;
}

const char *pesa_source_level_meaning(enum pesa_source_level level)
{
	return levels[level].meaning;
}

/* ---- Trying on this machine ---------------------------------------------------------------- */

static int64_t own_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Compute until the ring has a record, or the time is up. */
static void spin(const struct pesa_ring *ring)
{
	int64_t until = own_time() + TRIAL_NS;

	do {
		for (volatile unsigned int i = 0; i < 20000; i++)
			;
	} while (!__atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE) && own_time() < until);
}

static void read_samples(struct pesa_ring *ring, struct pesa_source_answer *answer)
{
	struct perf_event_header header;
	const uint8_t *record;
	size_t size;

	pesa_ring_begin(ring);
	while (!answer->sampled && (record = pesa_ring_next(ring, &size))) {
		memcpy(&header, record, sizeof(header));
		answer->sampled = header.type == PERF_RECORD_SAMPLE;
		answer->exact = answer->sampled && header.misc & PERF_RECORD_MISC_EXACT_IP;
	}
	pesa_ring_end(ring);
}

/* Whether the event had a counter at any time; others can keep all of them busy. */
static bool had_counter(int descriptor)
{
	uint64_t values[3]; /* count, time enabled, time running */

	return read(descriptor, values, sizeof(values)) != sizeof(values) || values[2];
}

static void try_ring(int descriptor, struct pesa_source_answer *answer)
{
	struct pesa_ring ring;
	struct pesa_error *error = pesa_ring_map(descriptor, 1, false, &ring);

	if (error) {
		/* No memory may be locked: the recording will say so. */
		pesa_error_free(error);
		answer->sampled = true;
		return;
	}
	ioctl(descriptor, PERF_EVENT_IOC_ENABLE, 0);
	spin(&ring);
	ioctl(descriptor, PERF_EVENT_IOC_DISABLE, 0);
	read_samples(&ring, answer);
	/* Without a counter nothing was tried: the recording takes turns with the others. */
	answer->sampled |= !had_counter(descriptor);
	pesa_ring_unmap(&ring);
}

/* Open the event for the calling thread; what the kernel does not let its caller have is left out.
 * -1: *refusal is why not; otherwise it is 0. */
static int open_here(struct pesa_event_name *event, int *refusal)
{
	int descriptor;

	while ((descriptor = pesa_event_open(&event->attr, 0, -1)) < 0) {
		*refusal = errno;
		if (!pesa_event_relax(event, 0, *refusal))
			return -1;
	}
	*refusal = 0;
	return descriptor;
}

static struct pesa_source_answer try_once(struct pesa_event_name *event)
{
	struct pesa_source_answer answer = {0};
	int descriptor;

	event->attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	descriptor = open_here(event, &answer.refusal);
	if (descriptor < 0)
		return answer;
	try_ring(descriptor, &answer);
	close(descriptor);
	return answer;
}

/* One sample proves that there are some; that there are none is believed the second time. */
static struct pesa_source_answer try_here(void *context, struct pesa_event_name *event)
{
	struct pesa_source_answer answer = try_once(event);

	(void)context;
	return answer.refusal || answer.sampled ? answer : try_once(event);
}

static struct pesa_source_answer try_counting(void *context, struct pesa_event_name *event)
{
	struct pesa_source_answer answer = {.refusal = 0};
	int descriptor;

	(void)context;
	event->attr.freq = 0;
	event->attr.sample_period = 0;
	event->attr.sample_type = 0;
	descriptor = open_here(event, &answer.refusal);
	if (descriptor >= 0)
		close(descriptor);
	return answer;
}

const struct pesa_source_trial PESA_SOURCE_COUNTER = {.attempt = try_counting};
const struct pesa_source_trial PESA_SOURCE_KERNEL = {.attempt = try_here};

/* ---- Choosing ------------------------------------------------------------------------------ */

struct choice {
	const struct pesa_event_source *names;
	const struct pesa_source_trial *trial;
	struct pesa_sampling_source *source;
};

static void add_reason(struct choice *choice, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_reason(struct choice *choice, const char *format, ...)
{
	char *why = choice->source->why;
	size_t room = sizeof(choice->source->why), used = strlen(why);
	va_list values;

	if (used)
		used += (size_t)snprintf(why + used, room - used, "; ");
	if (used >= room)
		return;
	va_start(values, format);
	vsnprintf(why + used, room - used, format, values);
	va_end(values);
}

static void take(struct choice *choice, enum pesa_source_level level, const char *event)
{
	choice->source->level = level;
	choice->source->events[choice->source->event_count++] = event;
}

/* Why the hardware does not give samples of an event; NULL: the refusal has another reason. */
static const char *lack(const struct pesa_source_answer *answer)
{
	switch (answer->refusal) {
	case 0:
		return answer->sampled ? NULL : "is counted, but raises no interrupt";
	case EOPNOTSUPP:
		return "is counted at best: its counter raises no interrupt (no Sscofpmf)";
	case EINVAL:
		return answer->user_only || answer->has_modes
			       ? "cannot leave the kernel out (no mode filter), which users without "
				 "CAP_PERFMON must"
			       : "is refused by the kernel's driver";
	case ENOENT:
	case ENXIO:
	case ENODEV:
		return "is counted by nothing here";
	default:
		return NULL;
	}
}

struct pesa_error *pesa_source_try(const struct pesa_event_source *names, const char *text,
				   const struct pesa_source_trial *trial,
				   struct pesa_source_answer *answer)
{
	const struct pesa_sampling sampling = {.period = TRIAL_PERIOD};
	struct pesa_event_name event;
	struct pesa_error *error = pesa_event_resolve(names, text, &event);

	*answer = (struct pesa_source_answer){0};
	if (!error)
		error = pesa_event_attribute(&event, &sampling);
	if (error)
		return error;
	*answer = trial->attempt(trial->context, &event);
	answer->user_only = event.user_only;
	answer->has_modes = event.has_modes;
	return NULL;
}

/*
 * Try an event.  Returns whether it is to be taken.  `idle`: the calling thread may not cause the
 * event, so that it is enough that it opens.
 */
static bool attempt(struct choice *choice, const char *text, bool idle,
		    struct pesa_source_answer *answer)
{
	struct pesa_error *error = pesa_source_try(choice->names, text, choice->trial, answer);
	const char *lacks;

	if (error) {
		add_reason(choice, "%s: %s", text, error->message);
		pesa_error_free(error);
		return false;
	}
	answer->sampled |= idle && !answer->refusal;
	lacks = lack(answer);
	if (lacks)
		add_reason(choice, "%s %s", text, lacks);
	return !lacks;
}

static bool choose_pesa(struct choice *choice)
{
	struct pesa_pmu pmu;
	struct pesa_error *error = pesa_pmu_open(choice->names->devices, PESA_PMU_NAME, &pmu);

	if (!error || error->code != PESA_ERROR_NOT_FOUND) {
		/* What is wrong with a description that is there the recording says. */
		pesa_error_free(error);
		take(choice, PESA_SOURCE_DETAILS, "pesa/cycles/");
		return true;
	}
	pesa_error_free(error);
	add_reason(choice, "no PMU 'pesa'");
	return false;
}

static bool choose_cycles(struct choice *choice)
{
	struct pesa_source_answer answer;

	if (!attempt(choice, "cycles", false, &answer))
		return false;
	if (!answer.exact)
		add_reason(choice, "the kernel marks no PC as exact");
	take(choice, answer.exact ? PESA_SOURCE_PC : PESA_SOURCE_CYCLES, "cycles");
	return true;
}

/* The events of the processor that stand for cycles; those of the kernel may be forbidden. */
static bool choose_leaders(struct choice *choice)
{
	const struct pesa_event_catalogue *catalogue = choice->names->catalogue;
	const struct pesa_event_definition *user, *supervisor;
	struct pesa_source_answer answer;

	if (!catalogue)
		return false;
	/* Without the cycles of programs those of the kernel would mislead. */
	user = pesa_event_catalogue_leader(catalogue, PESA_EVENT_CYCLES_USER);
	if (!user || !attempt(choice, user->name, false, &answer))
		return false;
	take(choice, PESA_SOURCE_LEADER, user->name);
	supervisor = pesa_event_catalogue_leader(catalogue, PESA_EVENT_CYCLES_SUPERVISOR);
	if (supervisor && attempt(choice, supervisor->name, true, &answer) && !answer.user_only)
		take(choice, PESA_SOURCE_LEADER, supervisor->name);
	return true;
}

void pesa_source_choose(const struct pesa_event_source *names, bool system_wide,
			const struct pesa_source_trial *trial, struct pesa_sampling_source *source)
{
	struct choice choice = {.names = names, .trial = trial, .source = source};

	*source = (struct pesa_sampling_source){.why = ""};
	if (choose_pesa(&choice) || choose_cycles(&choice) || choose_leaders(&choice))
		return;
	take(&choice, PESA_SOURCE_CLOCK, system_wide ? "cpu-clock" : "task-clock");
}

void pesa_source_joined_name(const struct pesa_sampling_source *source, char *name, size_t room)
{
	bool two = source->event_count > 1;

	if (source->level != PESA_SOURCE_LEADER)
		snprintf(name, room, "%s", source->events[0]);
	else
		snprintf(name, room, "cycles(%s%s%s)", source->events[0], two ? "+" : "",
			 two ? source->events[1] : "");
}

struct pesa_error *pesa_source_require(const struct pesa_sampling_source *source,
				       enum pesa_source_level least)
{
	if (source->level <= least)
		return NULL;
	return pesa_error_create(
		PESA_ERROR_UNSUPPORTED,
		"--require %s: the best source of samples here is %s (%s): %s; 'pesa doctor' says "
		"what mends it",
		pesa_source_level_name(least), source->events[0],
		pesa_source_level_name(source->level), source->why);
}
