// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kanata logs, version 0004: tab-separated lines in order of time.
 *
 * 	Kanata	0004			the first line
 * 	C=	CYCLE			the present cycle
 * 	C	CYCLES			advance by a number of cycles
 * 	I	ID SIM_ID THREAD	start of an instruction: it is fetched
 * 	L	ID TYPE TEXT		text about it
 * 	S	ID LANE STAGE		it enters a stage
 * 	E	ID LANE STAGE		it leaves the stage; optional
 * 	R	ID RETIRE_ID TYPE	end: retired (0) or squashed (1)
 * 	W	ID PRODUCER TYPE	a dependency, ignored here
 *
 * The order of I lines is the order of fetch.  Instructions wait in this order until the oldest one
 * has ended.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/trace/trace.h"

/* An in-flight instruction, by its number in the log. */
struct flight {
	uint64_t number;
	uint64_t place;		    /* index in the ring of its hart */
	struct pipeline_hart *hart; /* NULL: free */
};

#define FIRST_FLIGHTS 1024u /* a power of two */
#define FIRST_ROOM    256u

/* ---- Numbers to instructions ----------------------------------------------------------------- */

static size_t home(const struct pesa_pipeline *pipeline, uint64_t number)
{
	/* The hash of a number is its low bits: consecutive numbers are in adjacent slots. */
	return number & (pipeline->flight_room - 1);
}

static struct pipeline_insn *at(struct pipeline_hart *hart, uint64_t place)
{
	return &hart->ring[place & (hart->room - 1)];
}

static struct flight *look_up(struct pesa_pipeline *pipeline, uint64_t number)
{
	size_t i;

	if (!pipeline->flight_room)
		return NULL;
	for (i = home(pipeline, number); pipeline->flight[i].hart;
	     i = (i + 1) & (pipeline->flight_room - 1))
		if (pipeline->flight[i].number == number)
			return &pipeline->flight[i];
	return NULL;
}

static struct pipeline_insn *find(struct pesa_pipeline *pipeline, uint64_t number)
{
	struct flight *flight;

	if (pipeline->found && pipeline->found_number == number)
		return pipeline->found;
	flight = look_up(pipeline, number);
	if (!flight)
		return NULL;
	pipeline->found_number = number;
	pipeline->found = at(flight->hart, flight->place);
	return pipeline->found;
}

static void put(struct pesa_pipeline *pipeline, const struct flight *flight)
{
	size_t i = home(pipeline, flight->number);

	while (pipeline->flight[i].hart)
		i = (i + 1) & (pipeline->flight_room - 1);
	pipeline->flight[i] = *flight;
}

static bool grow_flights(struct pesa_pipeline *pipeline)
{
	struct flight *old = pipeline->flight;
	size_t room = pipeline->flight_room;

	pipeline->flight = calloc(room ? 2 * room : FIRST_FLIGHTS, sizeof(*old));
	if (!pipeline->flight) {
		pipeline->flight = old;
		return false;
	}
	pipeline->flight_room = room ? 2 * room : FIRST_FLIGHTS;
	for (size_t i = 0; i < room; i++)
		if (old[i].hart)
			put(pipeline, &old[i]);
	free(old);
	return true;
}

/* Deletion with linear probing: later entries that may be in the hole are moved there. */
static void remove_flight(struct pesa_pipeline *pipeline, uint64_t number)
{
	struct flight *flight = look_up(pipeline, number);
	size_t mask = pipeline->flight_room - 1, hole, i;

	if (!flight)
		return;
	hole = (size_t)(flight - pipeline->flight);
	for (i = (hole + 1) & mask; pipeline->flight[i].hart; i = (i + 1) & mask) {
		size_t wanted = home(pipeline, pipeline->flight[i].number);

		if (((i - wanted) & mask) < ((i - hole) & mask))
			continue;
		pipeline->flight[hole] = pipeline->flight[i];
		hole = i;
	}
	pipeline->flight[hole].hart = NULL;
	pipeline->flights--;
}

/* ---- The order of fetch ---------------------------------------------------------------------- */

static bool grow_ring(struct pipeline_hart *hart)
{
	uint64_t room = hart->room ? 2 * hart->room : FIRST_ROOM;
	struct pipeline_insn *ring = calloc(room, sizeof(*ring));

	if (!ring)
		return false;
	for (uint64_t i = hart->head; i < hart->tail; i++)
		ring[i & (room - 1)] = hart->ring[i & (hart->room - 1)];
	free(hart->ring);
	hart->ring = ring;
	hart->room = room;
	return true;
}

/* Pass on the oldest instruction. */
static void pop(struct pesa_pipeline *pipeline, struct pipeline_hart *hart)
{
	struct pipeline_insn *insn = at(hart, hart->head);

	remove_flight(pipeline, insn->number);
	pipeline->found = NULL;
	hart->head++;
	pipeline_take(pipeline, hart, insn);
}

static void drain(struct pesa_pipeline *pipeline, struct pipeline_hart *hart)
{
	while (hart->head < hart->tail && at(hart, hart->head)->fate != FATE_IN_FLIGHT &&
	       !pipeline->error)
		pop(pipeline, hart);
}

static void drain_all(struct pesa_pipeline *pipeline)
{
	for (unsigned int i = 0; i < pipeline->summary.harts; i++)
		drain(pipeline, pipeline->hart[i]);
}

/* The end of the oldest instruction was lost: tens of thousands of younger ones have followed. */
static void give_up(struct pesa_pipeline *pipeline, struct pipeline_hart *hart)
{
	struct pipeline_insn *insn = at(hart, hart->head);

	pipeline_problem(pipeline, PESA_PIPELINE_LOST, "instruction %" PRIu64 " has no end",
			 insn->number);
	remove_flight(pipeline, insn->number);
	pipeline->found = NULL;
	hart->head++;
	drain(pipeline, hart);
}

static void begin(struct pesa_pipeline *pipeline, uint64_t number, uint64_t simulator,
		  uint64_t thread)
{
	struct pipeline_hart *hart;
	struct pipeline_insn *insn, *before;

	if (find(pipeline, number)) {
		pipeline_problem(pipeline, PESA_PIPELINE_DUPLICATE_ID,
				 "instruction %" PRIu64 " begins a second time", number);
		return;
	}
	hart = pipeline_hart(pipeline, thread);
	if (!hart) {
		pipeline_problem(pipeline, PESA_PIPELINE_DAMAGED,
				 "thread %" PRIu64 ": more than %u threads", thread, HARTS_MAX);
		return;
	}
	if (hart->tail - hart->head >= FLIGHT_MAX)
		give_up(pipeline, hart);
	/* One entry stays free: the instruction before the oldest remains readable. */
	if ((hart->tail - hart->head + 1 >= hart->room && !grow_ring(hart)) ||
	    (2 * pipeline->flights >= pipeline->flight_room && !grow_flights(pipeline))) {
		pipeline_fail(pipeline, pesa_error_no_memory());
		return;
	}
	pipeline->found = NULL;
	before = hart->tail > hart->head ? at(hart, hart->tail - 1) : NULL;
	put(pipeline, &(struct flight){number, hart->tail, hart});
	pipeline->flights++;
	insn = at(hart, hart->tail++);
	pipeline_insn_begin(insn);
	insn->number = number;
	insn->sequence = simulator;
	insn->fetch = pipeline->now;
	if (pipeline->map->micro_ops > 1 && before)
		insn->joins = before->sequence / pipeline->map->micro_ops ==
			      simulator / pipeline->map->micro_ops;
	if (hart->tail - hart->head > pipeline->summary.most_in_flight)
		pipeline->summary.most_in_flight = hart->tail - hart->head;
}

/* ---- Ends ------------------------------------------------------------------------------------ */

static void note_rollback(struct pipeline_hart *hart, const struct pipeline_insn *insn,
			  uint64_t place)
{
	struct rollback *newest = &hart->rollback[(hart->rollbacks - 1) % ROLLBACKS];

	/* The same roll-back: it squashes instructions one by one. */
	if (hart->rollbacks && insn->rollback <= newest->end) {
		if (insn->ended > newest->end)
			newest->end = insn->ended;
		if (insn->rollback < newest->start)
			newest->start = insn->rollback;
		if (place < newest->first)
			newest->first = place;
		return;
	}
	hart->rollback[hart->rollbacks++ % ROLLBACKS] =
		(struct rollback){insn->rollback, insn->ended, place};
}

static void finish(struct pesa_pipeline *pipeline, uint64_t number, uint64_t type)
{
	struct flight *flight = look_up(pipeline, number);
	struct pipeline_insn *insn;

	if (!flight) {
		pipeline_problem(pipeline, PESA_PIPELINE_UNKNOWN_ID,
				 "instruction %" PRIu64 " ends and is not in flight", number);
		return;
	}
	insn = at(flight->hart, flight->place);
	if (insn->fate != FATE_IN_FLIGHT) {
		pipeline_problem(pipeline, PESA_PIPELINE_DAMAGED,
				 "instruction %" PRIu64 " ends a second time", number);
		return;
	}
	if (type > 1) {
		pipeline_problem(pipeline, PESA_PIPELINE_DAMAGED,
				 "%" PRIu64 " is no way for an instruction to end (0, 1)", type);
		return;
	}
	insn->fate = type ? FATE_FLUSHED : FATE_RETIRED;
	if (type)
		insn->ended = pipeline->now;
	else if (!insn->has_retire)
		insn->ended = pipeline_moved(pipeline->now, pipeline->map->retire_offset);
	if (type && insn->rollback != CYCLE_UNKNOWN)
		note_rollback(flight->hart, insn, flight->place);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* Parse the next number and the tab or end of line after it; false: there is none. */
static bool number_field(const char **field, uint64_t *number)
{
	const char *c = *field;
	uint64_t value = 0;

	while (*c == ' ')
		c++;
	if (*c < '0' || *c > '9')
		return false;
	for (; *c >= '0' && *c <= '9'; c++) {
		if (value > (UINT64_MAX - 9) / 10)
			return false;
		value = value * 10 + (uint64_t)(*c - '0');
	}
	while (*c == ' ')
		c++;
	if (*c && *c != '\t')
		return false;
	*field = *c ? c + 1 : c;
	*number = value;
	return true;
}

#define CYCLE_LIMIT (INT64_C(1) << 60)

static bool set_cycle(struct pesa_pipeline *pipeline, const char *field)
{
	bool negative = *field == '-';
	int64_t cycle;
	uint64_t value;

	field += negative;
	if (!number_field(&field, &value) || value > CYCLE_LIMIT)
		return false;
	cycle = negative ? -(int64_t)value : (int64_t)value;
	if (!pipeline->timed) {
		pipeline->base = cycle;
		pipeline->timed = true;
		return true;
	}
	if (cycle < pipeline->base || (uint64_t)(cycle - pipeline->base) < pipeline->now) {
		pipeline_problem(pipeline, PESA_PIPELINE_BACKWARDS, "cycle %" PRId64 " is over",
				 cycle);
		return true;
	}
	if ((uint64_t)(cycle - pipeline->base) - pipeline->now > CYCLES_AT_ONCE)
		return false;
	drain_all(pipeline);
	pipeline->now = (uint64_t)(cycle - pipeline->base);
	return true;
}

static bool pass_cycles(struct pesa_pipeline *pipeline, const char *field)
{
	uint64_t cycles;

	if (*field == '-') {
		pipeline_problem(pipeline, PESA_PIPELINE_BACKWARDS, "%s cycles pass", field);
		return true;
	}
	if (!number_field(&field, &cycles) || cycles > CYCLES_AT_ONCE ||
	    pipeline->now > CYCLE_LIMIT)
		return false;
	drain_all(pipeline);
	pipeline->timed = true;
	pipeline->now += cycles;
	return true;
}

static struct pipeline_insn *find_or_tell(struct pesa_pipeline *pipeline, uint64_t number)
{
	struct pipeline_insn *insn = find(pipeline, number);

	if (!insn)
		pipeline_problem(pipeline, PESA_PIPELINE_UNKNOWN_ID,
				 "instruction %" PRIu64 " is not in flight", number);
	return insn;
}

static bool stage_line(struct pesa_pipeline *pipeline, const char *field)
{
	uint64_t number, lane;
	struct pipeline_insn *insn;
	unsigned int stage;
	size_t size;

	if (!number_field(&field, &number) || !number_field(&field, &lane))
		return false;
	size = strcspn(field, "\t");
	while (size && field[size - 1] == ' ')
		size--;
	if (!size)
		return false;
	insn = find_or_tell(pipeline, number);
	if (!insn)
		return true;
	stage = pipeline_stage(pipeline, field, size);
	if (lane == pipeline->map->lane)
		pipeline_enter(pipeline, insn, stage, pipeline->now);
	else
		pipeline_note(pipeline, insn, stage, lane == pipeline->map->stall_lane);
	return true;
}

static bool label_line(struct pesa_pipeline *pipeline, const char *field)
{
	uint64_t number, type;
	struct pipeline_insn *insn;

	if (!number_field(&field, &number) || !number_field(&field, &type))
		return false;
	insn = find_or_tell(pipeline, number);
	if (insn)
		pipeline_label(pipeline, insn, type, field);
	return true;
}

static bool other_line(struct pesa_pipeline *pipeline, char command, const char *field)
{
	uint64_t first, second, third;

	switch (command) {
	case 'I':
		if (!number_field(&field, &first) || !number_field(&field, &second))
			return false;
		if (!number_field(&field, &third))
			third = 0;
		begin(pipeline, first, second, third);
		return true;
	case 'R':
		if (!number_field(&field, &first) || !number_field(&field, &second) ||
		    !number_field(&field, &third))
			return false;
		finish(pipeline, first, third);
		return true;
	case 'E':
	case 'W':
		/* The start of a stage ends the previous one; dependencies are not used. */
		return number_field(&field, &first) && number_field(&field, &second);
	default:
		return false;
	}
}

static void read_header(struct pesa_pipeline *pipeline, const char *line)
{
	pipeline->begun = true;
	if (strncmp(line, "Kanata\t", 7))
		pipeline_fail(pipeline,
			      pesa_error_create(PESA_ERROR_FORMAT,
						"the first line is not 'Kanata', tab, '0004': this "
						"is no Kanata log"));
	else if (strtoul(line + 7, NULL, 10) != 4)
		pipeline_fail(
			pipeline,
			pesa_error_create(PESA_ERROR_UNSUPPORTED,
					  "a Kanata log of version '%.8s'; version 0004 is read",
					  line + 7));
}

void kanata_line(struct pesa_pipeline *pipeline, char *line, size_t size)
{
	bool sound;

	if (!pipeline->begun) {
		read_header(pipeline, line);
		return;
	}
	if (!size || line[0] == '#' || (line[0] == '/' && line[1] == '/'))
		return;
	if (size < 2 || memchr(line, 0, size))
		sound = false;
	else if (line[0] == 'C' && line[1] == '=' && line[2] == '\t')
		sound = set_cycle(pipeline, line + 3);
	else if (line[1] != '\t')
		sound = false;
	else if (line[0] == 'C')
		sound = pass_cycles(pipeline, line + 2);
	else if (line[0] == 'S')
		sound = stage_line(pipeline, line + 2);
	else if (line[0] == 'L')
		sound = label_line(pipeline, line + 2);
	else
		sound = other_line(pipeline, line[0], line + 2);
	if (!sound)
		pipeline_problem(pipeline, PESA_PIPELINE_DAMAGED, "'%.60s'", line);
}

/* The oldest in-flight instruction that was not squashed; ended ones before it are passed on. */
static const struct pipeline_insn *open_of(struct pesa_pipeline *pipeline,
					   struct pipeline_hart *hart)
{
	drain(pipeline, hart);
	return hart->head < hart->tail ? at(hart, hart->head) : NULL;
}

void kanata_end(struct pesa_pipeline *pipeline)
{
	uint64_t end = 0;
	bool open = false;

	if (!pipeline->begun) {
		pipeline_fail(pipeline, pesa_error_create(PESA_ERROR_FORMAT, "the trace is empty"));
		return;
	}
	for (unsigned int i = 0; i < pipeline->summary.harts && !pipeline->error; i++) {
		struct pipeline_hart *hart = pipeline->hart[i];

		open |= open_of(pipeline, hart) != NULL;
		pipeline->summary.in_flight += hart->tail - hart->head;
	}
	/* An instruction that has ended is counted with its successor: count the waiting ones,
	 * too. */
	for (unsigned int i = 0; i < pipeline->summary.harts; i++)
		if (pipeline->hart[i]->alive > end)
			end = pipeline->hart[i]->alive;
	if (open && pipeline->now + 1 > end)
		end = pipeline->now + 1;
	for (unsigned int i = 0; i < pipeline->summary.harts && !pipeline->error; i++)
		pipeline_hart_end(pipeline, pipeline->hart[i], open_of(pipeline, pipeline->hart[i]),
				  end);
	pipeline->summary.cycles = end;
}
