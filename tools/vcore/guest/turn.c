// SPDX-License-Identifier: GPL-2.0-or-later
/* The deterministic thread scheduler.  See turn.h. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "tools/vcore/guest/calls.h"
#include "tools/vcore/guest/host_thread.h"
#include "tools/vcore/guest/turn.h"
#include "tools/vcore/core/hart.h"
#include "tools/vcore/guest/follow.h"
#include "tools/vcore/core/process.h"
#include "tools/vcore/guest/wait.h"

#define TURN_QUANTUM 2000u    /* time slice in cycles */
#define TURN_POLL    1000000u /* ns between two polls of the holder */
#define SETTLE_PAUSE 20000u   /* ns */

/* Consecutive polls that find the holder waiting in a call before another thread takes the turn. */
#define POLLS_TO_TAKE 5u
/* Consecutive polls that find no thread running before a wait is given up. */
#define POLLS_MAX 1000u

/* Futex operations. */
enum {
	FUTEX_WAIT = 0,
	FUTEX_WAKE = 1,
	FUTEX_REQUEUE = 3,
	FUTEX_CMP_REQUEUE = 4,
	FUTEX_WAKE_OP = 5,
	FUTEX_WAIT_BITSET = 9,
	FUTEX_WAKE_BITSET = 10,
	FUTEX_COMMANDS = 0x7f,
};

void turn_create(struct turn *turn)
{
	memset(turn, 0, sizeof(*turn));
	pthread_mutex_init(&turn->lock, NULL);
}

static void pause_for(long nanoseconds)
{
	struct timespec time = {0, nanoseconds};

	nanosleep(&time, NULL);
}

/* ---- Members ------------------------------------------------------------------------------- */

static uint64_t position(const struct hart *hart)
{
	return hart->retire.stage.accounted + hart->turn_offset;
}

/* Advance the hart's time to `time`. */
static void advance_time(struct hart *hart, uint64_t time)
{
	if (position(hart) < time)
		hart->turn_offset += time - position(hart);
}

static uint64_t time_of_turn(const struct turn *turn)
{
	return turn->holder ? position(turn->holder) : turn->latest;
}

/* Equal times: the thread that began first. */
static struct hart *least_waiting(const struct turn *turn)
{
	struct hart *least = NULL;

	for (struct hart *hart = turn->members; hart; hart = hart->turn.next) {
		if (hart->turn.phase != TURN_WAITING)
			continue;
		if (!least || position(hart) < position(least) ||
		    (position(hart) == position(least) && hart->ordinal < least->ordinal))
			least = hart;
	}
	return least;
}

static void yield_turn(struct turn *turn, enum turn_phase phase)
{
	struct hart *next;

	if (turn->holder) {
		turn->latest = position(turn->holder);
		turn->holder->turn.phase = phase;
	}
	next = least_waiting(turn);
	turn->holder = next;
	if (next) {
		next->turn.phase = TURN_RUNNING;
		pthread_cond_signal(&next->turn.granted);
	}
}

void turn_join(struct hart *hart)
{
	struct turn *turn = &hart->process->turn;

	pthread_mutex_lock(&turn->lock);
	pthread_cond_init(&hart->turn.granted, NULL);
	hart->turn.phase = TURN_WAITING;
	hart->turn.joined = true;
	hart->turn.next = turn->members;
	turn->members = hart;
	if (turn->active) {
		advance_time(hart, time_of_turn(turn));
		/* The parent sets the address that the kernel clears when the thread ends. */
		if (turn->holder)
			hart->turn.clear = turn->holder->turn.child;
	}
	if (!turn->holder) {
		hart->turn.phase = TURN_RUNNING;
		turn->holder = hart;
	}
	pthread_mutex_unlock(&turn->lock);
}

void turn_begun(struct hart *hart)
{
	struct turn *turn = &hart->process->turn;

	pthread_mutex_lock(&turn->lock);
	turn->begun++;
	pthread_mutex_unlock(&turn->lock);
}

void turn_remove(struct hart *hart)
{
	struct turn *turn = &hart->process->turn;
	struct hart **place = &turn->members;

	pthread_mutex_lock(&turn->lock);
	while (*place && *place != hart)
		place = &(*place)->turn.next;
	if (*place)
		*place = hart->turn.next;
	hart->turn.joined = false;
	if (turn->holder == hart)
		yield_turn(turn, TURN_ENDING);
	pthread_mutex_unlock(&turn->lock);
}

/* ---- Waiting ------------------------------------------------------------------------------- */

static void count_given_up(struct hart *hart)
{
	atomic_fetch_add(&hart->process->region->forced_turns, 1);
}

/* A thread in pthread_join() sleeps on the address that the kernel clears when `ending` ends. */
static bool has_joiner(const struct turn *turn, const struct hart *ending)
{
	for (const struct hart *hart = turn->members; hart; hart = hart->turn.next)
		if (hart->turn.phase == TURN_BLOCKED && ending->turn.clear &&
		    hart->turn.futex == ending->turn.clear)
			return true;
	return false;
}

/* A host thread does not depend on another one: it is running, runnable, or sleeps for a time. */
static bool can_go_on(const struct turn *turn, uint32_t tid)
{
	struct host_call call = host_call_of(tid);

	for (const struct hart *hart = turn->members; hart; hart = hart->turn.next) {
		if (hart->tid != tid)
			continue;
		if (hart->turn.phase == TURN_WAITING && !hart->turn.leaving)
			return false;
		if (hart->turn.phase == TURN_AWAY)
			return call.number == HOST_CALL_NONE;
	}
	return call.number == HOST_CALL_NONE || host_call_pauses(&call);
}

/* No thread runs that could cause what `hart` waits for. */
static bool none_runs(const struct hart *hart)
{
	struct host_threads threads;
	bool runs = false;
	uint32_t tid;

	if (!host_threads_open(&threads))
		return false;
	while (!runs && host_threads_next(&threads, &tid))
		runs = tid != hart->tid && can_go_on(&hart->process->turn, tid);
	host_threads_close(&threads);
	return !runs;
}

/*
 * Poll again for something that has not happened.  Returns false if the wait is given up, which is
 * counted.  The lock is held, but released during the pause.
 */
static bool poll_again(struct hart *hart, unsigned int *idle)
{
	struct turn *turn = &hart->process->turn;

	*idle = none_runs(hart) ? *idle + 1 : 0;
	if (*idle > POLLS_MAX) {
		count_given_up(hart);
		return false;
	}
	pthread_mutex_unlock(&turn->lock);
	pause_for(SETTLE_PAUSE);
	pthread_mutex_lock(&turn->lock);
	return true;
}

static bool sleeps_on(const struct hart *hart, uint64_t futex)
{
	struct host_call call = host_call_of(hart->tid);

	return call.number == SYS_futex && call.argument == futex + hart->process->guest_base;
}

static bool has_settled(struct turn *turn, struct hart *hart)
{
	if (hart->turn.phase == TURN_BLOCKED)
		hart->turn.settled = sleeps_on(hart, hart->turn.futex);
	else
		hart->turn.settled =
			host_call_of(hart->tid).number == HOST_CALL_GONE && !has_joiner(turn, hart);
	return hart->turn.settled;
}

/* Wait until the threads that yielded are asleep or gone.  The lock is held. */
static void settle(struct hart *hart)
{
	struct turn *turn = &hart->process->turn;
	unsigned int idle = 0;

	for (struct hart *other = turn->members; other;) {
		enum turn_phase phase = other->turn.phase;

		if ((phase != TURN_BLOCKED && phase != TURN_ENDING) || other->turn.settled ||
		    has_settled(turn, other)) {
			other = other->turn.next;
			continue;
		}
		if (!poll_again(hart, &idle)) {
			other->turn.settled = true;
			idle = 0;
		}
		other = turn->members;
	}
}

enum sight {
	SIGHT_AWAKE,
	SIGHT_ASLEEP,	   /* in a call that another thread has to end */
	SIGHT_IN_EMULATOR, /* waits in the emulator for the other threads to leave translated
			    * code */
	SIGHT_STUCK,	   /* asleep for another reason */
};

static bool lies_in(uint64_t address, const void *object, size_t size)
{
	return address - (uint64_t)(uintptr_t)object < size;
}

/*
 * Return what the holder does.  If it sleeps while another thread is running or runnable, that
 * thread may hold the lock that it needs: the holder counts as awake.
 */
static enum sight check_holder(struct hart *hart)
{
	struct turn *turn = &hart->process->turn;
	struct hart *holder = turn->holder;
	struct host_call call;

	if (!holder) {
		yield_turn(turn, TURN_AWAY);
		return SIGHT_AWAKE;
	}
	call = host_call_of(holder->tid);
	if (call.number == HOST_CALL_GONE) {
		yield_turn(turn, TURN_ENDING);
		count_given_up(hart);
		return SIGHT_AWAKE;
	}
	/* It runs, pauses, waits for turn->lock, or waits for the signal that it has the turn. */
	if (call.number == HOST_CALL_NONE || host_call_pauses(&call) ||
	    lies_in(call.argument, turn, sizeof(*turn)) ||
	    lies_in(call.argument, holder, sizeof(*holder)))
		return SIGHT_AWAKE;
	if (holder->turn.phase == TURN_CALLING) {
		/* A thread in clone() sleeps only until the new thread exists. */
		if (holder->turn.starts)
			return SIGHT_AWAKE;
		if (guest_wait_lasts(&holder->turn.wait))
			return SIGHT_ASLEEP;
	}
	if (!none_runs(hart) || !host_call_lasts(holder->tid, &call))
		return SIGHT_AWAKE;
	return holder->turn.phase != TURN_CALLING && call.number == SYS_futex ? SIGHT_IN_EMULATOR
									      : SIGHT_STUCK;
}

/* The thread was asked to leave translated code, and the holder still waits for that. */
static bool still_leaving(struct hart *hart)
{
	struct turn *turn = &hart->process->turn;

	return turn->holder && turn->holder != hart && check_holder(hart) == SIGHT_IN_EMULATOR;
}

/*
 * Wait until `hart` has the turn.  `outside` of translated code there is nothing to leave.  The
 * lock is held.
 */
static enum turn_result wait_turn(struct hart *hart, bool outside)
{
	struct turn *turn = &hart->process->turn;
	struct hart *seen = NULL;
	unsigned int looks = 0;

	if (!outside && hart->turn.leaving && turn->holder != hart && still_leaving(hart))
		return TURN_LEAVE;
	while (turn->holder != hart) {
		struct timespec until;
		enum sight sight;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += TURN_POLL;
		if (until.tv_nsec >= 1000000000) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000;
		}
		if (pthread_cond_timedwait(&hart->turn.granted, &turn->lock, &until) != ETIMEDOUT)
			continue;
		sight = check_holder(hart);
		looks = sight != SIGHT_AWAKE && turn->holder == seen ? looks + 1 : 0;
		seen = turn->holder;
		if (!outside && sight == SIGHT_IN_EMULATOR) {
			hart->turn.leaving = true;
			return TURN_LEAVE;
		}
		if (sight == SIGHT_ASLEEP && looks >= POLLS_TO_TAKE)
			yield_turn(turn, TURN_AWAY);
		if (looks >= POLLS_MAX) {
			yield_turn(turn, TURN_AWAY);
			count_given_up(hart);
		}
	}
	hart->turn.phase = TURN_RUNNING;
	hart->turn.leaving = false;
	settle(hart);
	return TURN_MINE;
}

static enum turn_result take(struct hart *hart, bool outside)
{
	struct turn *turn = &hart->process->turn;
	enum turn_result result;

	if (!turn->active || turn->over || !hart->turn.joined || hart->turn.phase == TURN_ENDING ||
	    (turn->holder == hart && !hart->turn.leaving))
		return TURN_MINE;
	pthread_mutex_lock(&turn->lock);
	hart->turn.phase = TURN_WAITING;
	result = wait_turn(hart, outside);
	pthread_mutex_unlock(&turn->lock);
	return result;
}

enum turn_result turn_take(struct hart *hart)
{
	return take(hart, false);
}

void turn_acquire(struct hart *hart)
{
	take(hart, true);
}

enum turn_result turn_point(struct hart *hart)
{
	struct turn *turn = &hart->process->turn;
	struct hart *least;
	enum turn_result result = TURN_MINE;

	if (!turn->active || turn->over || !hart->turn.joined)
		return TURN_MINE;
	pthread_mutex_lock(&turn->lock);
	least = least_waiting(turn);
	if (turn->holder == hart && least && position(least) + TURN_QUANTUM < position(hart)) {
		yield_turn(turn, TURN_WAITING);
		result = wait_turn(hart, false);
	}
	pthread_mutex_unlock(&turn->lock);
	return result;
}

void turn_follow(struct hart *hart)
{
	struct turn *turn = &hart->process->turn;

	if (turn->holder == hart)
		return;
	if (turn->holder)
		advance_time(hart, position(turn->holder));
	turn->holder = hart;
}

/* ---- System calls -------------------------------------------------------------------------- */

/* The futex has the expected value, so the call will sleep. */
static bool will_sleep(const struct hart *hart, const uint64_t *argument)
{
	uint32_t value;

	if (argument[0] & 3 || !follow_read(hart->process, argument[0], &value, sizeof(value)))
		return false;
	return value == (uint32_t)argument[2];
}

static void begin_futex(struct hart *hart, const uint64_t *argument)
{
	struct turn_member *member = &hart->turn;

	switch (argument[1] & FUTEX_COMMANDS) {
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
	case FUTEX_WAKE_OP:
	case FUTEX_REQUEUE:
		member->wakes = true;
		member->limit = UINT64_MAX;
		break;
	case FUTEX_CMP_REQUEUE:
		/* The result includes requeued threads. */
		member->wakes = true;
		member->limit = argument[2];
		break;
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		if (!will_sleep(hart, argument))
			break;
		member->futex = argument[0];
		member->settled = false;
		yield_turn(&hart->process->turn, TURN_BLOCKED);
		break;
	default:
		return;
	}
	/* However long it takes, the call returns, or the thread has yielded. */
	member->wait.kind = GUEST_WAIT_NONE;
}

void turn_call(struct hart *hart, int64_t number, const uint64_t *argument)
{
	struct turn *turn = &hart->process->turn;
	struct turn_member *member = &hart->turn;
	bool thread = number == CALL_CLONE && (argument[0] & GUEST_CLONE_VM) &&
		      !(argument[0] & GUEST_CLONE_VFORK);

	if (number == CALL_SET_TID_ADDRESS)
		member->clear = argument[0];
	if (thread)
		turn->active = true;
	if (!turn->active || turn->over || !member->joined)
		return;
	turn_acquire(hart);
	pthread_mutex_lock(&turn->lock);
	if (turn->holder == hart) {
		member->phase = TURN_CALLING;
		member->came_back = turn->came_back;
		member->begun = turn->begun;
		member->wakes = false;
		member->starts = thread;
		member->wait = guest_wait_of(hart->process, number, argument);
		if (number == CALL_FUTEX) {
			begin_futex(hart, argument);
		} else if (number == CALL_CLONE) {
			member->child = argument[0] & GUEST_CLONE_CHILD_CLEAR ? argument[4] : 0;
			if (!thread)
				member->phase = TURN_EXCLUSIVE;
		} else if (number == CALL_EXIT) {
			member->settled = false;
			yield_turn(turn, TURN_ENDING);
		} else if (number == CALL_EXIT_GROUP || number == CALL_EXECVE) {
			member->phase = TURN_EXCLUSIVE;
		} else if (member->wait.kind == GUEST_WAIT_CLOCK) {
			yield_turn(turn, TURN_AWAY);
		}
	}
	pthread_mutex_unlock(&turn->lock);
}

static bool has_blocked(const struct turn *turn)
{
	for (const struct hart *hart = turn->members; hart; hart = hart->turn.next)
		if (hart->turn.phase == TURN_BLOCKED)
			return true;
	return false;
}

/* Wait until the count has reached `target`, or no thread is left that could increase it. */
static void await_count(struct hart *hart, const uint64_t *count, uint64_t target, bool wakes)
{
	struct turn *turn = &hart->process->turn;
	unsigned int idle = 0;

	while (*count < target && (!wakes || has_blocked(turn)))
		if (!poll_again(hart, &idle))
			return;
}

void turn_return(struct hart *hart, int64_t number, int64_t result)
{
	struct turn *turn = &hart->process->turn;
	struct turn_member *member = &hart->turn;

	if (!turn->active || turn->over || !member->joined)
		return;
	pthread_mutex_lock(&turn->lock);
	if (turn->holder == hart) {
		member->phase = TURN_RUNNING;
		if (member->wakes && result > 0) {
			uint64_t woken = (uint64_t)result;

			await_count(hart, &turn->came_back,
				    member->came_back +
					    (woken < member->limit ? woken : member->limit),
				    true);
		}
		if (member->starts && result > 0)
			await_count(hart, &turn->begun, member->begun + 1, false);
		member->wakes = member->starts = false;
	} else {
		if (member->phase == TURN_BLOCKED && number == CALL_FUTEX && !result)
			turn->came_back++;
		member->phase = TURN_WAITING;
		advance_time(hart, time_of_turn(turn));
		if (!turn->holder)
			yield_turn(turn, TURN_AWAY);
		wait_turn(hart, true);
	}
	pthread_mutex_unlock(&turn->lock);
}

/* ---- The process --------------------------------------------------------------------------- */

void turn_end(struct process *process)
{
	pthread_mutex_lock(&process->turn.lock);
	process->turn.over = true;
	pthread_mutex_unlock(&process->turn.lock);
}

void turn_stop(struct process *process)
{
	pthread_mutex_lock(&process->turn.lock);
}

void turn_refork(struct process *process, struct hart *hart)
{
	turn_create(&process->turn);
	if (!hart)
		return;
	memset(&hart->turn, 0, sizeof(hart->turn));
	turn_join(hart);
}
