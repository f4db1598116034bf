// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Accounting: turns the pipeline's reports into cycles, samples and counts.
 *
 * Instructions arrive in program order with the cycle in which they retire, so each cycle is
 * accounted once and in order.  The cycles before an instruction's retirement are accounted when it
 * arrives.  A cycle in which instructions retire is accounted when the first instruction of a later
 * cycle arrives: only then their number is known, and what blocked the next one.
 *
 * The rules are in decoder/core/retirement.h; the record of a sampled cycle and the golden
 * reference come from the same lines.  The cause of an instruction is everything that it met in the
 * pipeline, as hardware knows it once the instruction has retired.
 *
 * Almost half of all instructions are dispatched and retire in the same cycles as the one before,
 * and meet no cause.  Their reports are not examined one by one: sixteen at a time are compared
 * with the ones before them.  Between reports that differ, instructions are only counted, from
 * their indices in the batch.  Examining a report that does not differ is allowed and changes
 * nothing.
 *
 * The members of a retirement group are consecutive steps.  If a group began in an earlier batch,
 * its members are copied in front of the steps.
 */
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "tools/vcore/core/golden.h"
#include "tools/vcore/core/hart.h"
#include "tools/vcore/core/insn.h"
#include "tools/vcore/core/pipeline_trace.h"
#include "tools/vcore/core/retire.h"
#include "tools/vcore/core/step.h"
#include "tools/vcore/core/process.h"

#define UNLIKELY(condition) __builtin_expect((condition) != 0, 0)

/* give_size() always writes GROUP_SIZES bytes. */
_Static_assert(RETIREMENT_GROUP_MAX < GROUP_SIZES, "room for every group");

/* State of a batch while it is accounted. */
struct account {
	struct hart *hart;
	const struct step *first, *last; /* of the batch */
	uint64_t next;			 /* pc executed after the last step */
	const struct step *group;	 /* first step of the open group, or the step that would
					  * be */
	uint64_t instructions;		 /* in closed groups */
	const struct report *noted;	 /* first report that is not in hart->leaving yet */
	const struct step *noted_step;	 /* step of `noted` */
	bool several;			 /* as in struct batch */
	const struct step *batch;	 /* number 0 of the batch, for call chains */
};

/* The pc executed after a step. */
static uint64_t target_of(const struct account *account, const struct step *step)
{
	if (step == account->last)
		return account->next;
	if (step == account->first - 1)
		return account->hart->group.next;
	return step[1].insn->pc;
}

/* Step `step`, of which `insn` is the instruction, is about to be sampled. */
static void follow_calls(const struct account *account, const struct step *step,
			 const struct insn *insn)
{
	struct hart *hart = account->hart;
	ptrdiff_t number = step - account->batch;

	if (hart->calls)
		call_chain_advance(hart->calls, number);
	if (hart->registers)
		hart->sampled = register_log_find(hart->registers, number, insn->pc);
}

/* ---- Cycles in which nothing retires ------------------------------------------------------- */

static const enum vcore_event state_events[] = {
	[PESA_STATE_RETIRING] = VCORE_EVENT_STATE_RETIRING,
	[PESA_STATE_STALLED] = VCORE_EVENT_STATE_STALLED,
	[PESA_STATE_FLUSHED] = VCORE_EVENT_STATE_FLUSHED,
	[PESA_STATE_DRAINED] = VCORE_EVENT_STATE_DRAINED,
};

/* Account cycles that have the same state, before `step` retires. */
static __attribute__((noinline)) void account_idle(const struct account *account,
						   const struct step *step,
						   const struct retirement_span *span)
{
	struct hart *hart = account->hart;
	struct retire *retire = &hart->retire;
	const struct insn *insn = span->insn;
	const uint64_t start = span->start, end = span->end;
	const unsigned int state = span->state;
	const uint16_t cause = span->cause;

	golden_bucket(hart, insn, state, 1, cause, end - start);
	hart->counters.now.event[state_events[state]] += end - start;
	counters_idle(&hart->counters, state, cause, end - start);
	if (state == PESA_STATE_STALLED &&
	    (cause & (PESA_CAUSE_DCACHE_MISS | PESA_CAUSE_DTLB_MISS)))
		counters_miss_wait(&hart->counters, start, end);
	while (retire->next_sample < end) {
		struct pesa_record record = {0};

		follow_calls(account, step - (insn != step->insn), insn);
		retirement_record_idle(insn->pc, state, cause, &record);
		retire->stage.accounted = retire->next_sample;
		retire_sample(hart, retire->next_sample, &record, NULL, retire->newest);
	}
	retire->stage.accounted = end;
}

/* Account the cycles before `cycle`, in which the step retires. */
static inline void account_idles(const struct account *account, const struct step *step,
				 const struct retirement_passage *way, uint64_t cycle)
{
	struct retirement *stage = &account->hart->retire.stage;
	struct retirement_span span[RETIREMENT_SPANS];

	if (stage->accounted == cycle) {
		stage->flushed_by = NULL;
		return;
	}
	retirement_idle(stage, way, cycle, span);
#pragma GCC unroll 3
	for (unsigned int i = 0; i < RETIREMENT_SPANS; i++)
		if (span[i].start < span[i].end)
			account_idle(account, step, &span[i]);
}

/* ---- Groups -------------------------------------------------------------------------------- */

/* Sample the open group.  `named` is the index of the instruction whose cause is in the record. */
static __attribute__((noinline)) void sample_group(const struct account *account,
						   unsigned int named, uint16_t cause)
{
	struct hart *hart = account->hart;
	struct retirement *stage = &hart->retire.stage;
	const struct insn *oldest = account->group->insn;
	struct pesa_record record = {0};

	follow_calls(account, account->group, oldest);
	for (unsigned int i = 0; i < stage->count; i++)
		stage->group[i] = (struct retired){
			.insn = account->group[i].insn,
			.target = target_of(account, &account->group[i]),
			.taken = account->group[i].taken,
		};
	retirement_record_group(stage, oldest->pc, named, cause, hart->process->core->ct_targets,
				&record);
	retire_sample(hart, stage->cycle, &record, oldest, stage->group[stage->count - 1].insn);
}

/*
 * Set the group size of the members of a closing group for the golden reference.  GROUP_SIZES bytes
 * are written; the excess belongs to groups that close later and is overwritten then.
 */
static inline uint8_t *give_size(const struct account *account, unsigned int size)
{
	struct hart *hart = account->hart;
	uint8_t *place = hart->sizes + GROUP_SIZES + (account->group - account->first);

	memset(place, (int)size, GROUP_SIZES);
	return place;
}

/* Account the cycle of the open group, which is not empty. */
static inline void close_group(struct account *account, struct retirement_block block)
{
	struct hart *hart = account->hart;
	struct retire *retire = &hart->retire;
	struct retirement *stage = &retire->stage;
	struct group *group = &hart->group;
	const struct step *step = account->group;
	unsigned int count = stage->count, first = 0, named;
	uint8_t *sizes = give_size(account, count);
	uint16_t first_cause = 0, cause;

	if (group->caused) {
		first = (unsigned int)__builtin_ctz(group->caused) + 1;
		first_cause = group->cause[first - 1];
	}
	named = retirement_name_of(stage, block, first, first_cause, &cause);
	if (cause && named <= count) {
		sizes[named - 1] = 0;
		golden_bucket(hart, step[named - 1].insn, PESA_STATE_RETIRING, count, cause, 1);
	}
	for (uint32_t taken = group->taken; taken; taken &= taken - 1) {
		const struct step *by = &step[__builtin_ctz(taken)];

		golden_transfer(hart, by->insn, target_of(account, by));
	}
	if (UNLIKELY(retire->next_sample == stage->cycle))
		sample_group(account, named, cause);
	retire->newest = step[count - 1].insn;
	hart->counters.now.event[VCORE_EVENT_STATE_RETIRING]++;
	counters_retired(&hart->counters, count, named, cause);
	account->instructions += count;
	retirement_close(stage);
}

static inline void open_group(struct account *account, const struct step *step, uint64_t cycle)
{
	struct hart *hart = account->hart;

	retirement_open(&hart->retire.stage, cycle);
	account->group = step;
	hart->group.caused = 0;
	hart->group.taken = 0;
	hart->counters.topdown.occupied = cycle + 1;
}

/* ---- Counts -------------------------------------------------------------------------------- */

static void count_mispredict(uint64_t *event, const struct insn *insn)
{
	event[VCORE_EVENT_MISPRED]++;
	switch (insn->flow) {
	case PESA_FLOW_BRANCH:
		event[VCORE_EVENT_MISPRED_BRANCH]++;
		break;
	case PESA_FLOW_RETURN:
		event[VCORE_EVENT_MISPRED_RETURN]++;
		break;
	case PESA_FLOW_COROUTINE:
		event[VCORE_EVENT_MISPRED_CORSWAP]++;
		break;
	default:
		event[VCORE_EVENT_MISPRED_INDIRECT]++;
	}
}

static void count_met(uint64_t *event, const struct insn *insn, uint16_t cause)
{
	event[VCORE_EVENT_MISSED_L1I] += (cause & PESA_CAUSE_ICACHE_MISS) != 0;
	event[VCORE_EVENT_MISSED_ITLB] += (cause & PESA_CAUSE_ITLB_MISS) != 0;
	event[VCORE_EVENT_MISSED_L1D] += (cause & PESA_CAUSE_DCACHE_MISS) != 0;
	event[VCORE_EVENT_MISSED_DTLB] += (cause & PESA_CAUSE_DTLB_MISS) != 0;
	if (cause & PESA_CAUSE_BRANCH_MISPREDICT)
		count_mispredict(event, insn);
}

/* Enter the reports before `until`, which are all of steps, into hart->leaving. */
static void note_places(struct account *account, const struct report *until)
{
	struct leaving *leaving = &account->hart->leaving;
	const struct report *report = account->noted;
	const struct step *step = account->noted_step;
	uint32_t mask = leaving->mask, next = leaving->next;
	uint32_t *cycle = leaving->cycle;

	account->noted = until;
	account->noted_step = step + (until - report);
	if (!account->several) {
		if (until - report > leaving->entries)
			report = until - leaving->entries;
		while (report < until)
			cycle[next++ & mask] = report++->retired;
	}
	for (; report < until; report++, step++) {
		uint32_t places = step_cost(step)->micro_ops;

		if (places > leaving->entries)
			places = leaving->entries;
		for (uint32_t i = 1; i < places; i++)
			cycle[next++ & mask] = report->retired;
		cycle[next++ & mask] = report->retired;
	}
	leaving->next = next;
}

/* ---- Reports ------------------------------------------------------------------------------- */

/* `step`: the one after the flush. */
static __attribute__((noinline)) void
account_flush(struct account *account, const struct step *step, const struct report *report)
{
	struct hart *hart = account->hart;
	uint64_t near = hart->retire.stage.accounted, until;
	enum flush_kind kind = (enum flush_kind)(report->kind - REPORT_FLUSH);
	const struct insn *by;

	note_places(account, report);
	account->noted++;
	if (report->kind == REPORT_SQUASHED) {
		counters_dispatch_squashed(&hart->counters, FLUSH_ORDERING, NULL,
					   report_cycle(near, report->supplied),
					   report_cycle(near, report->dispatched));
		return;
	}
	by = step[kind == FLUSH_ORDERING ? 0 : -1].insn;
	until = report_cycle(near, report->retired);
	if (UNLIKELY(hart->log))
		pipeline_trace_flush(hart->log, by, report->cause, until);
	retirement_flush(&hart->retire.stage, by, report->cause, until);
	counters_flush(&hart->counters, kind, report_cycle(near, report->complete), until,
		       report_cycle(near, report->supplied), near, &hart->leaving);
}

static struct passage passage_of(const struct account *account, const struct step *step,
				 const struct report *report)
{
	uint64_t near = account->hart->retire.stage.accounted;

	return (struct passage){
		.insn = step->insn,
		.target = target_of(account, step),
		.supplied = report_cycle(near, report->supplied),
		.dispatched = report_cycle(near, report->dispatched),
		.complete = report_cycle(near, report->complete),
		.retired = report_cycle(near, report->retired),
		.front_cause = report->front_cause,
		.cause = report->cause,
		.taken = step->taken,
		.faulted = step->faulted,
	};
}

static __attribute__((noinline)) void log_step(const struct account *account,
					       const struct step *step, const struct report *report)
{
	struct passage passage = passage_of(account, step, report);

	pipeline_trace_step(account->hart->log, &passage);
}

static __attribute__((noinline)) void
notify_samplers(const struct account *account, const struct step *step, const struct report *report)
{
	struct passage passage = passage_of(account, step, report);

	if (passage.dispatched >= account->hart->retire.samplers.dispatch_due)
		samplers_dispatch(account->hart, &passage);
}

static __attribute__((noinline)) void
count_event(const struct account *account, const struct step *step, const struct report *report)
{
	struct passage passage = passage_of(account, step, report);

	account->hart->process->sink->count(account->hart, &passage);
}

/* The step enters the reorder buffer and does not retire. */
static __attribute__((noinline)) void dispatch_squashed(struct hart *hart, const struct step *step,
							const struct report *report,
							uint64_t dispatched)
{
	counters_uncount_insn(&hart->counters, step->insn->counts);
	counters_dispatch_squashed(&hart->counters, FLUSH_EXCEPTION, step->insn,
				   report_cycle(dispatched, report->supplied), dispatched);
}

/* Account a member of the open group that was taken, has a cause, or is counted as an event. */
static void account_special(struct account *account, const struct step *step,
			    const struct report *report)
{
	struct hart *hart = account->hart;
	struct group *group = &hart->group;
	uint64_t *event = hart->counters.now.event;
	const struct insn *insn = step->insn;
	unsigned int place = (unsigned int)(step - account->group);
	uint16_t cause = report->cause;

	if (step->taken) {
		group->taken |= 1u << place;
		event[VCORE_EVENT_TAKEN] +=
			insn->flow != PESA_FLOW_NEXT && insn->flow != PESA_FLOW_TRAP;
		if (hart->retire.ctr_depth)
			retire_transfer(hart, insn, target_of(account, step), cause);
	}
	if (cause) {
		group->caused |= 1u << place;
		group->cause[place] = cause;
		count_met(event, insn, cause);
	}
	if (UNLIKELY(hart->retire.events_left != 0))
		count_event(account, step, report);
}

/*
 * The step retires with the open group, or closes it.  Returns false if the step is not a member of
 * the group that is open then.
 */
static inline bool account_retired(struct account *account, const struct step *step,
				   const struct report *report, uint64_t dispatched, bool faulted)
{
	struct hart *hart = account->hart;
	struct retire *retire = &hart->retire;
	struct retirement *stage = &retire->stage;
	const struct retirement_passage way = {
		.insn = step->insn,
		.dispatched = dispatched,
		.complete = report_cycle(dispatched, report->complete),
		.retired = report_cycle(dispatched, report->retired),
		.front_cause = report->front_cause,
		.cause = report->cause,
		.faulted = faulted,
	};
	uint64_t cycle;

	stage->count = (unsigned int)(step - account->group);
	if (!retirement_leaves_group(stage, &way, &cycle)) {
		if (UNLIKELY(dispatched >= retire->samplers.dispatch_due))
			notify_samplers(account, step, report);
		return true;
	}
	if (stage->count)
		close_group(account, retirement_blocks(stage, &way));
	account_idles(account, step, &way, cycle);
	/* Retirement follows dispatch, so this tests both due cycles. */
	if (UNLIKELY(cycle >= retire->samplers.due)) {
		notify_samplers(account, step, report);
		if (!faulted && cycle >= retire->samplers.retire_due)
			samplers_retire(hart, step->insn, cycle);
	}
	if (UNLIKELY(faulted)) {
		account->group = step + 1;
		hart->sizes[GROUP_SIZES + (step - account->first)] = 0;
		return false;
	}
	open_group(account, step, cycle);
	hart->group.behind = cycle != way.retired;
	return true;
}

/* ---- Which reports are looked at ----------------------------------------------------------- */

#define UNLIKE_BITS	  4u	    /* bits per report: */
#define UNLIKE_DISPATCHED (1u << 0) /* dispatched in another cycle than the one before */
#define UNLIKE_RETIRED	  (1u << 1)
#define UNLIKE_CAUSE	  (1u << 2) /* has a cause */
#define UNLIKE_KIND	  (1u << 3) /* was taken, faulted, or is not of a step */
#define UNLIKE_ALL	  15u

#define WORD_REPORTS (64u / UNLIKE_BITS)
_Static_assert(WORD_REPORTS == REPORTS_AHEAD, "reports are looked at so many at a time");

/* Compare REPORTS_AHEAD reports, each with the one before it; report[-1] is readable. */
static inline uint64_t unlike(const struct report *report)
{
	uint64_t word = 0;

#ifdef __SSE2__
	for (unsigned int i = 0; i < WORD_REPORTS; i += 4) {
		__m128i like[4], pair[2];

		for (unsigned int j = 0; j < 4; j++) {
			const struct report *of = &report[i + j];

			like[j] = _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)of),
						  _mm_loadl_epi64((const __m128i *)(of - 1)));
		}
		pair[0] = _mm_packs_epi32(like[0], like[1]);
		pair[1] = _mm_packs_epi32(like[2], like[3]);
		word |= (uint64_t)(uint16_t)_mm_movemask_epi8(_mm_packs_epi16(pair[0], pair[1]))
			<< i * UNLIKE_BITS;
	}
	return ~word;
#else
	for (unsigned int i = 0; i < WORD_REPORTS; i++) {
		const struct report *of = &report[i], *before = of - 1;
		uint64_t bits = of->dispatched != before->dispatched ? UNLIKE_DISPATCHED : 0;

		bits |= of->retired != before->retired ? UNLIKE_RETIRED : 0;
		bits |= of->front_cause | of->cause ? UNLIKE_CAUSE : 0;
		bits |= of->kind | of->turning | of->unused ? UNLIKE_KIND : 0;
		word |= bits << i * UNLIKE_BITS;
	}
	return word;
#endif
}

/*
 * Every report must be examined: for a log, a sampler or an event, or because groups retire later
 * than their reports say after one was closed early.
 */
static bool examines_all(const struct hart *hart)
{
	return hart->log || hart->retire.events_left || hart->group.behind ||
	       hart->retire.samplers.skids;
}

/* The bits of the reports before number `count`. */
static inline uint64_t bits_before(size_t count)
{
	return count < WORD_REPORTS ? ~(UINT64_MAX << count * UNLIKE_BITS) : UINT64_MAX;
}

static inline void walk(struct account *account, const struct report *reports, size_t count)
{
	struct hart *hart = account->hart;
	struct counters *counters = &hart->counters;
	size_t counted = 0; /* the dispatch of reports before this one is counted */
	/* steps[i] is the step of report i; adjusted for each report that is not of a step. */
	const struct step *steps = account->first;
	/* The report before the first one is of another batch. */
	uint64_t examine = UNLIKE_DISPATCHED | UNLIKE_RETIRED;

	for (size_t base = 0; base < count; base += WORD_REPORTS) {
		uint64_t valid = bits_before(count - base);
		uint64_t word = unlike(reports + base) | examine;

		examine = 0;
		if (UNLIKELY(examines_all(hart)))
			word = UINT64_MAX;
		word &= valid;
		while (word) {
			unsigned int bit = (unsigned int)__builtin_ctzll(word) & ~(UNLIKE_BITS - 1);
			unsigned int bits = word >> bit & UNLIKE_ALL;
			size_t at = base + bit / UNLIKE_BITS;
			const struct report *report = reports + at;
			const struct step *step = steps + at;
			uint64_t near = hart->retire.stage.accounted, dispatched;
			bool special = bits & (UNLIKE_CAUSE | UNLIKE_KIND), faulted = false;

			word &= ~((uint64_t)UNLIKE_ALL << bit);
			dispatched = report_cycle(near, report->dispatched);
			if (special) {
				if (UNLIKELY(report->kind != REPORT_STEP)) {
					counters->topdown.count += (uint32_t)(at - counted);
					counted = at + 1;
					account_flush(account, step, report);
					steps--;
					/* The next report cannot be compared with this one. */
					examine = UNLIKE_DISPATCHED | UNLIKE_RETIRED;
					if (bit + UNLIKE_BITS < 64) {
						word |= examine << (bit + UNLIKE_BITS) & valid;
						examine = 0;
					}
					continue;
				}
				if (UNLIKELY(hart->log))
					log_step(account, step, report);
				faulted = step->faulted;
			}
			if (bits & UNLIKE_DISPATCHED || UNLIKELY(faulted)) {
				counters->topdown.count += (uint32_t)(at - counted);
				counted = at + 1;
				if (UNLIKELY(faulted))
					dispatch_squashed(hart, step, report, dispatched);
				else
					counters_dispatch(counters, step->insn,
							  report_cycle(near, report->supplied),
							  dispatched);
				if (bits == UNLIKE_DISPATCHED) {
					if (UNLIKELY(dispatched >=
						     hart->retire.samplers.dispatch_due))
						notify_samplers(account, step, report);
					continue;
				}
			}
			if (account_retired(account, step, report, dispatched, faulted) && special)
				account_special(account, step, report);
			if (UNLIKELY(hart->group.behind))
				word = UINT64_MAX << bit << UNLIKE_BITS & valid;
		}
	}
	counters->topdown.count += (uint32_t)(count - counted);
	note_places(account, reports + count);
}

/* ---- Batches ------------------------------------------------------------------------------- */

/* Pass on what is known of the closed groups. */
static void settle(struct account *account, const struct step *from)
{
	struct hart *hart = account->hart;

	golden_groups(hart, from, hart->sizes + GROUP_SIZES + (from - account->first),
		      (size_t)(account->group - from));
	hart->slot->totals.instructions += account->instructions;
	if (!hart->windows.on)
		hart->slot->totals.cycles = hart->retire.stage.accounted - hart->retire.start;
}

void batch_account(struct hart *hart, const struct batch *batch)
{
	struct retire *retire = &hart->retire;
	struct retirement *stage = &retire->stage;
	struct account account = {
		.hart = hart,
		.first = batch->step,
		.last = batch->step + batch->steps - 1,
		.next = batch->next,
		.group = batch->step - stage->count,
		.noted = batch->report,
		.noted_step = batch->step,
		.several = batch->several,
		.batch = batch->step,
	};
	const struct step *from = account.group;

	if (batch->contents)
		return;
	hart->met = batch->met;
	if (!batch->steps)
		return;
	memcpy(batch->step - stage->count, hart->group.step, stage->count * sizeof(*batch->step));
	counters_count_insns(&hart->counters, &batch->kinds);
	if (hart->calls)
		call_chain_begin(hart->calls, batch);
	if (hart->registers)
		register_log_begin(hart->registers, batch->steps, hart->waits);
	walk(&account, batch->report, batch->reports);
	if (hart->calls)
		call_chain_end(hart->calls);
	if (hart->registers)
		register_log_end(hart->registers);
	settle(&account, from);
	stage->count = (unsigned int)(account.last + 1 - account.group);
	memcpy(hart->group.step, account.group, stage->count * sizeof(*account.group));
	hart->group.next = batch->next;
}

void account_close(struct hart *hart)
{
	struct retire *retire = &hart->retire;
	const struct step *step = hart->group.step;
	struct account account = {
		.hart = hart,
		.first = step,
		.last = step + retire->stage.count - 1,
		.next = hart->group.next,
		.group = step,
		.batch = step + retire->stage.count,
	};

	if (!retire->stage.count)
		return;
	close_group(&account, (struct retirement_block){0});
	account.group = account.last + 1;
	settle(&account, step);
}
