// SPDX-License-Identifier: GPL-2.0-or-later
/* Counters of a hart: dispatch slots, kinds of instructions, publication.  See counters.h. */
#include <stdlib.h>
#include <string.h>

#include "tools/vcore/core/hart.h"
#include "tools/vcore/core/insn.h"
#include "tools/vcore/core/retire.h"
#include "tools/vcore/core/step.h"

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

struct pesa_error *leaving_create(struct leaving *leaving, uint32_t entries)
{
	uint32_t size = 1;

	while (size < entries)
		size *= 2;
	leaving->entries = entries;
	leaving->mask = size - 1;
	leaving->cycle = calloc(size, sizeof(*leaving->cycle));
	return leaving->cycle ? NULL : pesa_error_no_memory();
}

void leaving_free(struct leaving *leaving)
{
	free(leaving->cycle);
}

struct pesa_error *counters_create(struct counters *counters, const struct pesa_core *core)
{
	struct pesa_capabilities capabilities;
	uint32_t size = 4;

	/* At most one wait per instruction in flight, and the one being added. */
	while (size < core->rob_entries + 2)
		size *= 2;
	pesa_core_capabilities(core, &capabilities);
	counters->bits = pesa_topdown_bits(&capabilities);
	counters->retire_width = core->retire_width;
	counters->topdown.width = core->dispatch_width;
	counters->topdown.wait_mask = size - 1;
	counters->topdown.wait = calloc(size, sizeof(*counters->topdown.wait));
	return counters->topdown.wait ? NULL : pesa_error_no_memory();
}

void counters_free(struct counters *counters)
{
	free(counters->topdown.wait);
}

void counters_begin(struct counters *counters, uint64_t start)
{
	struct topdown *topdown = &counters->topdown;

	memset(&counters->now, 0, sizeof(counters->now));
	topdown->cycle = start;
	topdown->count = 0;
	topdown->occupied = start;
	topdown->flush.pending = false;
	topdown->wait_first = 0;
	topdown->wait_next = 0;
}

/* ---- Kinds of instructions ----------------------------------------------------------------- */

/* In the order of the packed fields. */
static const enum vcore_event kinds[] = {
	VCORE_EVENT_BRJMP,   VCORE_EVENT_LOADS,	     VCORE_EVENT_STORES,
	VCORE_EVENT_VECTORS, VCORE_EVENT_COMPRESSED,
};

uint64_t counters_of_insn(const struct insn *insn)
{
	const bool is[] = {
		insn->flow != PESA_FLOW_NEXT && insn->flow != PESA_FLOW_TRAP,
		insn->flags & INSN_LOAD,
		insn->flags & INSN_STORE,
		insn->flags & INSN_VECTOR,
		insn->length == 2,
	};
	uint64_t packed = 0;

	_Static_assert(sizeof(is) / sizeof(is[0]) == COUNTERS_KINDS, "a field for each kind");
	for (unsigned int i = 0; i < COUNTERS_KINDS; i++)
		packed |= (uint64_t)is[i] << (i * COUNTERS_FIELD_BITS);
	return packed;
}

_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == COUNTERS_KINDS, "a count for each kind");

void counters_count_insns(struct counters *counters, const struct counters_kinds *counted)
{
	for (unsigned int i = 0; i < COUNTERS_KINDS; i++)
		counters->now.event[kinds[i]] += counted->count[i];
}

void counters_uncount_insn(struct counters *counters, uint64_t counts)
{
	struct counters_kinds counted = {0};

	counters_unpack(&counted, counts);
	for (unsigned int i = 0; i < COUNTERS_KINDS; i++)
		counters->now.event[kinds[i]] -= counted.count[i];
}

/* ---- Slots of dispatch --------------------------------------------------------------------- */

struct lost {
	uint64_t from;	  /* cycle */
	uint64_t partial; /* slots left in cycle `from`, if some are used */
	uint64_t *event;
};

/*
 * Take the slots up to cycle `end`: `*partial` slots of a cycle that is partly used, and `*whole`
 * cycles.
 */
static void lose(struct lost *lost, uint64_t end, uint64_t *partial, uint64_t *whole)
{
	*partial = 0;
	*whole = 0;
	if (end <= lost->from)
		return;
	if (lost->partial) {
		*partial = lost->partial;
		lost->partial = 0;
		lost->from++;
	}
	*whole = end - lost->from;
	lost->from = end;
}

static void count_bad(uint64_t *event, enum flush_kind kind, uint64_t slots)
{
	static const enum vcore_event parents[] = {
		[FLUSH_MISPREDICT] = VCORE_EVENT_BAD_MISPREDICT,
		[FLUSH_ORDERING] = VCORE_EVENT_BAD_ORDERING,
		[FLUSH_SERIALISE] = VCORE_EVENT_BAD_OTHER,
		[FLUSH_EXCEPTION] = VCORE_EVENT_BAD_OTHER,
		[FLUSH_INTERRUPT] = VCORE_EVENT_BAD_OTHER,
	};

	event[VCORE_EVENT_BAD_SPECULATION] += slots;
	event[parents[kind]] += slots;
}

/* Count slots used by squashed instructions. */
static void count_squashed(uint64_t *event, enum flush_kind kind, uint64_t slots)
{
	event[kind == FLUSH_MISPREDICT ? VCORE_EVENT_MISPREDICT_UNRESOLVED
				       : VCORE_EVENT_CLEAR_UNRESOLVED] += slots;
	count_bad(event, kind, slots);
}

/* Count the slots up to cycle `end` as recovery from a flush. */
static void lose_to_recovery(struct lost *lost, const struct topdown *topdown, uint64_t end)
{
	enum flush_kind kind = topdown->flush.kind;
	uint64_t *event = lost->event, partial, whole, recovery;

	lose(lost, end, &partial, &whole);
	recovery = partial + whole * topdown->width;
	event[VCORE_EVENT_FLUSH_CYCLES] += whole;
	event[VCORE_EVENT_CYCLES_MISPREDICT + kind] += whole;
	event[kind == FLUSH_MISPREDICT ? VCORE_EVENT_MISPREDICT_RECOVERY
				       : VCORE_EVENT_CLEAR_RECOVERY] += recovery;
	count_bad(event, kind, recovery);
}

static void lose_to_front_end(struct lost *lost, uint32_t width, uint64_t end)
{
	uint64_t partial, whole;

	lose(lost, end, &partial, &whole);
	lost->event[VCORE_EVENT_FRONTEND_BANDWIDTH] += partial;
	lost->event[VCORE_EVENT_FRONTEND_LATENCY] += whole * width;
	lost->event[VCORE_EVENT_FRONTEND] += partial + whole * width;
}

/*
 * Return whether the back end waits for memory in cycle `at`; `*until`: the result holds before
 * this cycle.
 */
static bool waits_for_memory(struct topdown *topdown, uint64_t at, uint64_t *until)
{
	const struct miss_wait *wait;

	while (topdown->wait_first != topdown->wait_next) {
		wait = &topdown->wait[topdown->wait_first & topdown->wait_mask];
		if (wait->end > at) {
			*until = wait->start > at ? wait->start : wait->end;
			/* If the reorder buffer is empty, dispatch waits for the store queue. */
			return wait->start <= at || at >= topdown->occupied;
		}
		topdown->wait_first++;
	}
	*until = at < topdown->occupied ? topdown->occupied : UINT64_MAX;
	return at >= topdown->occupied;
}

static void lose_to_back_end(struct lost *lost, struct topdown *topdown, uint64_t end,
			     bool serialising)
{
	uint64_t *event = lost->event, partial, whole, until;

	while (lost->from < end) {
		bool memory = waits_for_memory(topdown, lost->from, &until) && !serialising;
		uint64_t slots;

		lose(lost, least(until, end), &partial, &whole);
		slots = partial + whole * topdown->width;
		event[VCORE_EVENT_BACKEND] += slots;
		event[memory ? VCORE_EVENT_BACKEND_MEMORY : VCORE_EVENT_BACKEND_CORE] += slots;
		event[VCORE_EVENT_BACKEND_SERIALISING] += serialising ? slots : 0;
	}
}

/* The slots after the newest dispatch. */
static struct lost slots_behind(const struct topdown *topdown, uint64_t *event)
{
	struct lost lost = {
		.from = topdown->cycle,
		.partial = topdown->count ? topdown->width - topdown->count : 0,
		.event = event,
	};

	/* A full cycle has no slots left. */
	if (topdown->count == topdown->width)
		lost.from++;
	return lost;
}

/* Count the slots from the newest dispatch up to cycle `end`. */
static void lose_until(struct topdown *topdown, uint64_t *event, uint64_t supplied, uint64_t end,
		       bool serialising)
{
	struct lost lost = slots_behind(topdown, event);

	if (topdown->flush.pending)
		lose_to_recovery(&lost, topdown, least(topdown->flush.until, end));
	lose_to_front_end(&lost, topdown->width, least(supplied, end));
	lose_to_back_end(&lost, topdown, end, serialising);
}

void counters_dispatch(struct counters *counters, const struct insn *insn, uint64_t supplied,
		       uint64_t dispatched)
{
	struct topdown *topdown = &counters->topdown;

	/* In the cycle of the one before: no slot is lost. */
	if (dispatched == topdown->cycle) {
		topdown->count++;
		return;
	}
	/* Between full cycles no slot is lost. */
	if (dispatched > topdown->cycle + 1 || topdown->count != topdown->width)
		lose_until(topdown, counters->now.event, supplied, dispatched,
			   insn && insn->flags & INSN_SERIALISE_BEFORE);
	topdown->flush.pending = false;
	topdown->cycle = dispatched;
	topdown->count = 1;
}

void counters_dispatch_squashed(struct counters *counters, enum flush_kind kind,
				const struct insn *insn, uint64_t supplied, uint64_t dispatched)
{
	counters_dispatch(counters, insn, supplied, dispatched);
	count_squashed(counters->now.event, kind, 1);
}

/*
 * Count the slots taken up to cycle `end` by instructions that are squashed then.  They take slots
 * in order, as older instructions release entries of the reorder buffer, from cycle `first` on.
 * The remaining slots are lost to the back end.  Returns the number of slots taken.
 */
static uint64_t take_squashed(struct lost *lost, struct topdown *topdown, uint64_t first,
			      uint64_t end, uint64_t near, const struct leaving *leaving)
{
	uint32_t oldest = leaving->next - leaving->entries;
	uint64_t taken = 0;

	for (uint32_t i = 0; i < leaving->entries; i++) {
		uint32_t leaves = leaving->cycle[(oldest + i) & leaving->mask];
		uint64_t cycle = most(most(first, report_cycle(near, leaves) + 1), lost->from);

		if (cycle >= end)
			break;
		if (cycle > lost->from)
			lose_to_back_end(lost, topdown, cycle, false);
		if (!lost->partial)
			lost->partial = topdown->width;
		if (!--lost->partial)
			lost->from++;
		taken++;
	}
	lose_to_back_end(lost, topdown, end, false);
	return taken;
}

void counters_flush(struct counters *counters, enum flush_kind kind, uint64_t resolved,
		    uint64_t until, uint64_t first, uint64_t near, const struct leaving *leaving)
{
	struct topdown *topdown = &counters->topdown;
	uint64_t *event = counters->now.event;
	struct lost lost = slots_behind(topdown, event);

	/* The remaining slots of the dispatch cycle are not lost to the flush. */
	resolved = most(resolved, topdown->cycle + 1);
	count_squashed(event, kind, take_squashed(&lost, topdown, first, resolved, near, leaving));
	topdown->cycle = resolved;
	topdown->count = 0;
	event[VCORE_EVENT_FLUSHES]++;
	event[VCORE_EVENT_FLUSHES_MISPREDICT + kind]++;
	topdown->flush.pending = true;
	topdown->flush.kind = kind;
	topdown->flush.until = until;
}

void counters_miss_wait(struct counters *counters, uint64_t start, uint64_t end)
{
	struct topdown *topdown = &counters->topdown;
	struct miss_wait *last = &topdown->wait[(topdown->wait_next - 1) & topdown->wait_mask];

	if (topdown->wait_next != topdown->wait_first && last->end == start) {
		last->end = end;
		return;
	}
	/* Drop waits that dispatch has passed. */
	while (topdown->wait_first != topdown->wait_next &&
	       topdown->wait[topdown->wait_first & topdown->wait_mask].end <= topdown->cycle)
		topdown->wait_first++;
	if (topdown->wait_next - topdown->wait_first > topdown->wait_mask)
		topdown->wait_first++;
	topdown->wait[topdown->wait_next++ & topdown->wait_mask] = (struct miss_wait){start, end};
}

/* ---- Publication --------------------------------------------------------------------------- */

void counters_publish(struct hart *hart)
{
	if (!hart->windows.on)
		counters_read(hart, &hart->slot->counters);
}

void counters_read(struct hart *hart, struct vcore_counters *counts)
{
	struct counters *counters = &hart->counters;
	struct retire *retire = &hart->retire;
	/* The cycle of the open group is not accounted yet. */
	uint64_t end = retire->stage.count ? retire->stage.cycle + 1 : retire->stage.accounted;
	uint64_t *event;

	_Static_assert(VCORE_EVENT_RETIRE_CORE_EXECUTION ==
			       VCORE_EVENT_OF_NODE(PESA_TOPDOWN_CORE_EXECUTION),
		       "an event for each node");
	*counts = counters->now;
	event = counts->event;
	for (unsigned int i = 0; i < VCORE_EVENT_COUNT; i++)
		event[i] += hart->met.event[i];
	event[VCORE_EVENT_CYCLES] = end - retire->start;
	event[VCORE_EVENT_INSTRUCTIONS] = hart->slot->totals.instructions + retire->stage.count;
	event[VCORE_EVENT_RETIRING] = event[VCORE_EVENT_INSTRUCTIONS];
	event[VCORE_EVENT_STATE_RETIRING] += retire->stage.count != 0;
	/* It is not known yet what blocks the open group. */
	if (retire->stage.count)
		event[VCORE_EVENT_RETIRE_BANDWIDTH] += counters->retire_width - retire->stage.count;
	event[VCORE_EVENT_RETIRE_RETIRING] = event[VCORE_EVENT_INSTRUCTIONS];
	for (unsigned int node = PESA_TOPDOWN_NODES_COUNT - 1; node > PESA_TOPDOWN_SLOTS; node--)
		event[VCORE_EVENT_OF_NODE(pesa_topdown_nodes[node].parent)] +=
			event[VCORE_EVENT_OF_NODE(node)];
	/* No instruction has been supplied since the newest dispatch. */
	lose_until(&counters->topdown, event, UINT64_MAX, end, false);
	event[VCORE_EVENT_SLOTS] = event[VCORE_EVENT_CYCLES] * counters->topdown.width;
}
