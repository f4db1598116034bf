// SPDX-License-Identifier: GPL-2.0-or-later
/* All paths through the text that fit a retiring cycle: see walk_paths.h. */
#include "decoder/profile/walk_paths.h"

#define RETIRED_MAX PESA_DETAILS_INSTRET_MASK
#define PLACES	    (RETIRED_MAX + 1) /* one after the last instruction included */
#define STATES_MAX  32		      /* distinct states kept at one place */
#define MOVES_MAX   (2 * STATES_MAX)

/* Program counter after a number of retired instructions, on one of the paths. */
struct state {
	uint64_t address; /* valid if known */
	bool known;
	bool derived;	  /* from the text, not from the record */
	bool open;	  /* `taken` is the minimum number of transfers */
	bool behind_trap; /* the instruction before it raises an exception, as ecall does */
	/* A trap behind the last instruction, for which nothing speaks; where a target was removed from the
	 * record, because it is an address of the kernel, that does. */
	bool trapped;
	uint8_t taken;
	uint8_t reason; /* enum pesa_unattributed; valid if the address is not known */
	bool alive;	/* a path through it fits the whole record */
};

/* How one instruction led from a state at its place to a state at the next place. */
struct move {
	uint8_t from, to;
	uint8_t own;	      /* enum pesa_step_transfer */
	uint8_t flow, length; /* of an instruction that transferred control; as in pesa_step */
	uint8_t targets;
	uint64_t target[2];
};

/* The instruction at one place, and the moves from it. */
struct place {
	struct state state[STATES_MAX];
	struct move move[MOVES_MAX];
	unsigned int states, moves;
};

struct walker {
	const struct pesa_walk_paths *paths;
	unsigned int retired; /* instructions retired, including the one being expanded */
	struct place *place, *next;
	uint8_t from; /* the state being expanded */
	struct place places[PLACES];
};

static bool same_state(const struct state *a, const struct state *b)
{
	return a->known == b->known && a->taken == b->taken && a->open == b->open &&
	       a->behind_trap == b->behind_trap && a->trapped == b->trapped &&
	       (a->known ? a->address == b->address : a->reason == b->reason);
}

/* Add a path that continues in `state`.  Beyond STATES_MAX they merge into one unknown state. */
static void move_to(struct walker *walker, struct state state, const struct move *how)
{
	struct place *place = walker->place, *next = walker->next;
	unsigned int to;

	if (next->states >= STATES_MAX - 1 || place->moves >= MOVES_MAX - 2)
		state = (struct state){.open = true, .reason = PESA_UNATTRIBUTED_TRANSFERS};
	for (to = 0; to < next->states; to++)
		if (same_state(&next->state[to], &state))
			break;
	if (to == next->states)
		next->state[next->states++] = state;
	else
		next->state[to].derived &= state.derived;
	if (place->moves < MOVES_MAX) {
		struct move *move = &place->move[place->moves++];

		*move = *how;
		move->from = walker->from;
		move->to = (uint8_t)to;
	}
}

static struct state lost(const struct state *state, enum pesa_unattributed reason)
{
	return (struct state){
		.taken = state->taken, .open = state->open, .reason = (uint8_t)reason};
}

/* Whether the place of the next transfer is unknown; later transfers wait for this one. */
static bool offset_is_open(const struct walker *walker, unsigned int taken)
{
	const struct pesa_walk_paths *paths = walker->paths;

	return taken < paths->details.transfers && !paths->transfer[taken].offset;
}

/* The next transfer, if the record places it after this instruction; NULL: it does not. */
static const struct pesa_known_transfer *transfer_here(const struct walker *walker,
						       const struct state *state)
{
	const struct pesa_walk_paths *paths = walker->paths;
	const struct pesa_known_transfer *transfer = &paths->transfer[state->taken];

	if (state->taken >= paths->details.transfers || transfer->offset != walker->retired)
		return NULL;
	return transfer;
}

static enum pesa_unattributed missing_target(const struct pesa_known_transfer *transfer)
{
	return transfer->hidden ? PESA_UNATTRIBUTED_SCRUBBED : PESA_UNATTRIBUTED_TRANSFERS;
}

/* Take a transfer from `state` to a known or an unknown address. */
static void take(struct state *state, struct move *move, bool known, uint64_t target,
		 const struct pesa_known_transfer *transfer)
{
	if (known && move->targets < 2)
		move->target[move->targets++] = target;
	state->taken++;
	state->known = known;
	state->address = target;
	state->derived = known && !transfer->has_to;
	if (!known)
		state->reason = (uint8_t)missing_target(transfer);
}

static bool always_transfers(enum pesa_flow flow)
{
	return flow != PESA_FLOW_NEXT && flow != PESA_FLOW_BRANCH && flow != PESA_FLOW_TRAP;
}

static bool may_transfer(enum pesa_flow flow)
{
	return flow != PESA_FLOW_NEXT && flow != PESA_FLOW_TRAP;
}

/* The instruction of a move transfers control. */
static void transfers(struct move *move, const struct pesa_text_insn *insn)
{
	move->own = PESA_STEP_TRANSFER_TAKEN;
	move->flow = insn->flow;
	move->length = insn->length;
}

/* Follow the second and later transfers after the same instruction: traps. */
static void take_traps(struct walker *walker, struct state *state, struct move *move)
{
	const struct pesa_known_transfer *transfer;

	while ((transfer = transfer_here(walker, state)))
		take(state, move, transfer->has_to, transfer->to, transfer);
}

/*
 * Whether a transfer that left from `address`, with nothing retired at it before, was a trap.  It
 * was not if the instruction there is a transfer to that target.
 */
static bool is_trap_at(const struct pesa_walk_paths *paths, uint64_t address,
		       const struct pesa_known_transfer *transfer)
{
	struct pesa_text_insn insn;

	if (paths->text->instruction(paths->text->context, address, &insn) != PESA_TEXT_OK)
		return true;
	return !may_transfer(insn.flow) ||
	       (insn.has_target && transfer->has_to && (insn.target & paths->mask) != transfer->to);
}

/* The record places a transfer after this instruction, which is `insn` (NULL: no text). */
static void expand_transfer(struct walker *walker, const struct state *from,
			    const struct pesa_known_transfer *transfer,
			    const struct pesa_text_insn *insn)
{
	bool last = walker->retired == walker->paths->details.instret;
	uint64_t mask = walker->paths->mask;
	struct state state = *from;
	struct move move = {0};

	if (insn && transfer->has_from && transfer->from != from->address &&
	    transfer->from != ((from->address + insn->length) & mask))
		return; /* the branch stack is from other instructions */
	if (!insn) {
		move.own = PESA_STEP_TRANSFER_UNKNOWN;
		take(&state, &move, transfer->has_to, transfer->to, transfer);
	} else if (transfer->has_to) {
		bool fits = !insn->has_target || insn->target == transfer->to;

		if (always_transfers(insn->flow) && !fits)
			return; /* the text is not the one that ran */
		if (may_transfer(insn->flow) && fits)
			transfers(&move, insn);
		else
			move.own = PESA_STEP_TRANSFER_NONE;
		take(&state, &move, true, transfer->to, transfer);
	} else if (may_transfer(insn->flow)) {
		transfers(&move, insn);
		take(&state, &move, insn->has_target, insn->target, transfer);
		if (last && !always_transfers(insn->flow)) {
			/* The other possibility: not taken, followed by a trap, which ends the
			 * cycle. */
			struct state trapped = *from;
			struct move trap = {.own = PESA_STEP_TRANSFER_NONE};

			trapped.trapped = !transfer->hidden;
			take(&trapped, &trap, false, 0, transfer);
			take_traps(walker, &trapped, &trap);
			move_to(walker, trapped, &trap);
		}
	} else {
		move.own = PESA_STEP_TRANSFER_NONE;
		take(&state, &move, false, 0, transfer);
	}
	take_traps(walker, &state, &move);
	move_to(walker, state, &move);
}

/* The next transfer may have happened after this instruction: the record does not place it. */
static void expand_open(struct walker *walker, const struct state *from,
			const struct pesa_text_insn *insn)
{
	const struct pesa_walk_paths *paths = walker->paths;
	const struct pesa_known_transfer *transfer = &paths->transfer[from->taken];
	uint64_t behind = (from->address + insn->length) & paths->mask;
	struct state state = *from;
	struct move move = {0};

	if (may_transfer(insn->flow) && (!transfer->has_from || transfer->from == from->address) &&
	    (!transfer->has_to || !insn->has_target || transfer->to == insn->target)) {
		transfers(&move, insn);
		take(&state, &move, transfer->has_to || insn->has_target,
		     transfer->has_to ? transfer->to : insn->target, transfer);
		take_traps(walker, &state, &move);
		move_to(walker, state, &move);
	}
	if (!always_transfers(insn->flow) && transfer->has_from && transfer->has_to &&
	    transfer->from == behind && is_trap_at(paths, behind, transfer)) {
		state = *from;
		move = (struct move){.own = PESA_STEP_TRANSFER_NONE};
		take(&state, &move, true, transfer->to, transfer);
		take_traps(walker, &state, &move);
		move_to(walker, state, &move);
	}
}

/* No transfer after this instruction. */
static void expand_next(struct walker *walker, const struct state *from,
			const struct pesa_text_insn *insn)
{
	const struct pesa_walk_paths *paths = walker->paths;
	struct move move = {.own = PESA_STEP_TRANSFER_NONE};
	struct state state = *from;

	if (!always_transfers(insn->flow)) {
		state.address = (from->address + insn->length) & paths->mask;
		state.derived = true;
		state.behind_trap = insn->flow == PESA_FLOW_TRAP;
		move_to(walker, state, &move);
	} else if (walker->retired == paths->details.instret &&
		   from->taken == paths->details.transfers) {
		/* No later instruction exists to attribute it to; cores may count its transfer
		 * later. */
		move.own = PESA_STEP_TRANSFER_UNKNOWN;
		move_to(walker, lost(from, PESA_UNATTRIBUTED_IMPOSSIBLE), &move);
	}
}

/* The program counter is unknown until a transfer goes to a known target. */
static void expand_unknown(struct walker *walker, const struct state *from)
{
	struct state state = *from;
	struct move move = {.own = PESA_STEP_TRANSFER_UNKNOWN};

	if (transfer_here(walker, &state))
		take_traps(walker, &state, &move);
	else if (offset_is_open(walker, state.taken))
		state.open = true;
	if (!state.known)
		state.reason = from->reason;
	move_to(walker, state, &move);
}

static void expand(struct walker *walker, struct state *from)
{
	static const enum pesa_unattributed reasons[] = {
		[PESA_TEXT_UNMAPPED] = PESA_UNATTRIBUTED_UNMAPPED,
		[PESA_TEXT_MISSING] = PESA_UNATTRIBUTED_NO_TEXT,
		[PESA_TEXT_UNDECODABLE] = PESA_UNATTRIBUTED_UNDECODABLE,
	};
	const struct pesa_walk_paths *paths = walker->paths;
	const struct pesa_known_transfer *transfer;
	struct pesa_text_insn insn;
	enum pesa_text_status status = PESA_TEXT_OK;

	from->behind_trap = false;
	if (from->known) {
		status = paths->text->instruction(paths->text->context, from->address, &insn);
		if (status == PESA_TEXT_OK)
			insn.target &= paths->mask;
		/* No instruction retires at an address without text, unless the record itself has
		 * that address. */
		if (from->derived && status != PESA_TEXT_OK && status != PESA_TEXT_MISSING)
			*from = lost(from, reasons[status]);
	}
	if (!from->known) {
		expand_unknown(walker, from);
		return;
	}
	transfer = transfer_here(walker, from);
	if (transfer) {
		expand_transfer(walker, from, transfer, status == PESA_TEXT_OK ? &insn : NULL);
	} else if (status != PESA_TEXT_OK) {
		struct state state = lost(from, reasons[status]);
		struct move move = {.own = PESA_STEP_TRANSFER_NONE};

		if (offset_is_open(walker, from->taken)) {
			state.open = true;
			move.own = PESA_STEP_TRANSFER_UNKNOWN;
		}
		move_to(walker, state, &move);
	} else {
		if (offset_is_open(walker, from->taken))
			expand_open(walker, from, &insn);
		expand_next(walker, from, &insn);
	}
}

/* ---- The common part of all paths that fit --------------------------------------------------- */

/* Whether a path that ends in `state` has as many transfers as the record. */
static bool accept(const struct pesa_walk_paths *paths, struct state *state)
{
	const struct pesa_known_transfer *transfer = &paths->transfer[state->taken];
	unsigned int left = paths->details.transfers - state->taken;

	if (!left || (state->open && !state->known))
		return true;
	/* One may be missing: a trap after the last instruction. */
	if (left > 1 || transfer->offset)
		return false;
	if (transfer->has_from && state->known &&
	    (transfer->from != state->address || !is_trap_at(paths, state->address, transfer)))
		return false;
	state->trapped = !state->behind_trap && !transfer->has_from && !transfer->hidden;
	state->known = transfer->has_to;
	state->address = transfer->to;
	state->reason = (uint8_t)missing_target(transfer);
	return true;
}

/*
 * Traps are rare, and branches that are taken are not: where the record leaves both open, the branch
 * was.  If neither were said, the direction of a branch would be unknown wherever it was taken, and it
 * would seem never to be.
 */
static void prefer_branches_to_traps(struct place *last)
{
	bool any = false;

	for (unsigned int i = 0; i < last->states; i++)
		any |= last->state[i].alive && !last->state[i].trapped;
	for (unsigned int i = 0; any && i < last->states; i++)
		last->state[i].alive &= !last->state[i].trapped;
}

/* Mark the states on paths that fit, from the last place backwards.  False: no path fits. */
static bool mark_alive(struct walker *walker)
{
	unsigned int instret = walker->paths->details.instret;
	struct place *last = &walker->places[instret];
	bool any = false;

	for (unsigned int i = 0; i < last->states; i++) {
		last->state[i].alive = accept(walker->paths, &last->state[i]);
		any |= last->state[i].alive;
	}
	prefer_branches_to_traps(last);
	for (unsigned int i = instret; i-- > 0;) {
		struct place *place = &walker->places[i];

		for (unsigned int j = 0; j < place->moves; j++)
			if (place[1].state[place->move[j].to].alive)
				place->state[place->move[j].from].alive = true;
	}
	return any;
}

/* Whether all paths have the same address here; otherwise *reason is why it is not known. */
static bool agreed(const struct place *place, uint64_t *address, enum pesa_unattributed *reason)
{
	const struct state *first = NULL;

	for (unsigned int i = 0; i < place->states; i++) {
		const struct state *state = &place->state[i];

		if (!state->alive)
			continue;
		if (!first) {
			first = state;
			*reason = (enum pesa_unattributed)state->reason;
		} else if (state->known != first->known ||
			   (state->known && state->address != first->address) ||
			   (!state->known && state->reason != first->reason)) {
			*reason = PESA_UNATTRIBUTED_TRANSFERS;
			return false;
		}
	}
	*address = first->address;
	return first->known;
}

/* The transfers after the instruction at a place, as far as all paths agree. */
static void add_transfers(const struct place *place, struct pesa_step *step,
			  struct pesa_walk_result *result)
{
	const struct move *only = NULL;
	unsigned int moves = 0;

	for (unsigned int i = 0; i < place->moves; i++) {
		const struct move *move = &place->move[i];

		if (!place->state[move->from].alive || !place[1].state[move->to].alive)
			continue;
		if (!moves++)
			step->transfer = move->own;
		else if (step->transfer != move->own)
			step->transfer = PESA_STEP_TRANSFER_UNKNOWN;
		only = move;
	}
	if (step->transfer == PESA_STEP_TRANSFER_TAKEN) {
		step->flow = only->flow;
		step->length = only->length;
	}
	for (unsigned int i = 0; moves == 1 && i < only->targets; i++)
		if (result->transfer_count < sizeof(result->transfer) / sizeof(*result->transfer))
			result->transfer[result->transfer_count++] = (struct pesa_transfer){
				.from = i ? only->target[i - 1] : step->address,
				.to = only->target[i],
			};
}

static void collect(const struct walker *walker, struct pesa_walk_result *result)
{
	const struct pesa_details *details = &walker->paths->details;
	uint32_t share = PESA_CYCLE / details->instret;

	for (unsigned int i = 0; i <= details->instret; i++) {
		struct pesa_step *step = &result->step[result->step_count];
		enum pesa_unattributed reason = PESA_UNATTRIBUTED_IMPOSSIBLE;
		uint64_t address = 0;
		bool blamed = i == details->instret;

		if (blamed && details->cause_offset != details->instret + 1)
			return;
		if (!agreed(&walker->places[i], &address, &reason)) {
			if (!blamed)
				result->unattributed[reason] += share;
			continue;
		}
		*step = (struct pesa_step){
			.address = address,
			.weight = blamed ? 0 : share,
			.role = blamed ? PESA_ROLE_BLAMED : PESA_ROLE_RETIRED,
			.state = PESA_STATE_RETIRING,
			.cause = details->cause_offset == i + 1 ? details->cause : 0,
		};
		result->step_count++;
		if (!blamed)
			add_transfers(&walker->places[i], step, result);
	}
}

bool pesa_walk_paths(const struct pesa_walk_paths *paths, struct pesa_walk_result *result)
{
	struct walker walker;

	walker.paths = paths;
	walker.places[0].states = 1;
	walker.places[0].state[0] = (struct state){.address = paths->pc, .known = true};
	for (unsigned int i = 0; i < paths->details.instret; i++) {
		walker.retired = i + 1;
		walker.place = &walker.places[i];
		walker.next = &walker.places[i + 1];
		walker.place->moves = 0;
		walker.next->states = 0;
		for (unsigned int j = 0; j < walker.place->states; j++) {
			walker.from = (uint8_t)j;
			expand(&walker, &walker.place->state[j]);
		}
		if (!walker.next->states)
			return false;
	}
	if (!mark_alive(&walker))
		return false;
	collect(&walker, result);
	return true;
}
