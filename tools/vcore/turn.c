// SPDX-License-Identifier: GPL-2.0-or-later
/* Who of the threads runs.  See turn.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tools/vcore/guest_calls.h"
#include "tools/vcore/turn.h"
#include "tools/vcore/vcore.h"

#define TURN_QUANTUM  2000u	  /* cycles */
#define TURN_LOOK     1000000u	  /* ns between two looks at the holder */
#define TURN_PATIENCE 1000000000u /* ns */
#define SETTLE_PAUSE  20000u	  /* ns */

/* Looks at a sleeping holder after which the others leave their code, or take the turn. */
#define LOOKS_TO_LEAVE 2u
#define LOOKS_TO_TAKE  5u

/* Operations of the futex call. */
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

/* ---- What a thread of the host does -------------------------------------------------------- */

#define CALL_NONE -1 /* it runs */
#define CALL_GONE -2 /* there is no such thread */

/* The system call that a thread sleeps in, and its first argument. */
static long sleeps_in(uint32_t tid, uint64_t *argument)
{
	char path[64], text[256];
	ssize_t size;
	int file;
	long call = CALL_NONE;

	*argument = 0;
	snprintf(path, sizeof(path), "/proc/self/task/%u/syscall", tid);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return errno == ENOENT ? CALL_GONE : CALL_NONE;
	size = read(file, text, sizeof(text) - 1);
	if (size < 0 && errno == ESRCH)
		call = CALL_GONE;
	close(file);
	if (size <= 0)
		return call;
	text[size] = '\0';
	if (text[0] < '0' || text[0] > '9')
		return CALL_NONE;
	call = strtol(text, NULL, 10);
	if (strchr(text, ' '))
		*argument = strtoull(strchr(text, ' '), NULL, 16);
	return call;
}

static void pause_for(long nanoseconds)
{
	struct timespec time = {0, nanoseconds};

	nanosleep(&time, NULL);
}

static uint64_t clock_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* ---- Members ------------------------------------------------------------------------------- */

static uint64_t position(const struct hart *hart)
{
	return hart->retire.stage.accounted + hart->turn_offset;
}

/* Its time is not before `time`. */
static void catch_up(struct hart *hart, uint64_t time)
{
	if (position(hart) < time)
		hart->turn_offset += time - position(hart);
}

static uint64_t time_of_turn(const struct turn *turn)
{
	return turn->holder ? position(turn->holder) : turn->latest;
}

/* Equal times: who began first. */
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

static void give_up(struct turn *turn, enum turn_phase phase)
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
		catch_up(hart, time_of_turn(turn));
		turn->begun++;
		/* Who started it tells what is cleared when it ends. */
		if (turn->holder)
			hart->turn.clear = turn->holder->turn.child;
	}
	if (!turn->holder) {
		hart->turn.phase = TURN_RUNNING;
		turn->holder = hart;
	}
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
		give_up(turn, TURN_ENDING);
	pthread_mutex_unlock(&turn->lock);
}

/* ---- Waiting ------------------------------------------------------------------------------- */

static void count_vain(struct hart *hart)
{
	atomic_fetch_add(&hart->process->region->forced_turns, 1);
}

/* A joiner sleeps on the address that the end of `ending` clears. */
static bool has_joiner(const struct turn *turn, const struct hart *ending)
{
	for (const struct hart *hart = turn->members; hart; hart = hart->turn.next)
		if (hart->turn.phase == TURN_BLOCKED && ending->turn.clear &&
		    hart->turn.futex == ending->turn.clear)
			return true;
	return false;
}

static bool has_settled(struct turn *turn, struct hart *hart)
{
	uint64_t argument;
	long call = sleeps_in(hart->tid, &argument);

	if (hart->turn.phase == TURN_BLOCKED)
		hart->turn.settled = call == SYS_futex &&
				     argument == hart->turn.futex + hart->process->guest_base;
	else
		hart->turn.settled = call == CALL_GONE && !has_joiner(turn, hart);
	return hart->turn.settled;
}

/* Those who gave the turn up are asleep or gone.  The lock is held; whoever comes back meanwhile
 * gets it in the pauses. */
static void settle(struct hart *hart)
{
	struct turn *turn = &hart->process->turn;
	uint64_t start = 0;

	for (struct hart *other = turn->members; other;) {
		enum turn_phase phase = other->turn.phase;

		if ((phase != TURN_BLOCKED && phase != TURN_ENDING) || other->turn.settled ||
		    has_settled(turn, other)) {
			other = other->turn.next;
			continue;
		}
		if (!start)
			start = clock_now();
		if (clock_now() - start > TURN_PATIENCE) {
			other->turn.settled = true;
			count_vain(hart);
			continue;
		}
		pthread_mutex_unlock(&turn->lock);
		pause_for(SETTLE_PAUSE);
		pthread_mutex_lock(&turn->lock);
		other = turn->members;
	}
}

enum sight { SIGHT_AWAKE, SIGHT_ASLEEP, SIGHT_IN_EMULATOR };

static bool lies_in(uint64_t address, const void *object, size_t size)
{
	return address - (uint64_t)(uintptr_t)object < size;
}

/* Look at the holder: does it sleep in a system call, or in the emulator, which then waits for the
 * others? */
static enum sight watch(struct hart *hart)
{
	struct turn *turn = &hart->process->turn;
	struct hart *holder = turn->holder;
	uint64_t argument;
	long call;

	if (!holder) {
		give_up(turn, TURN_AWAY);
		return SIGHT_AWAKE;
	}
	call = sleeps_in(holder->tid, &argument);
	if (call == CALL_GONE) {
		give_up(turn, TURN_ENDING);
		count_vain(hart);
		return SIGHT_AWAKE;
	}
	if (call == CALL_NONE)
		return SIGHT_AWAKE;
	/* Who starts a thread sleeps until it is there, which is soon. */
	if (holder->turn.phase == TURN_CALLING)
		return holder->turn.starts ? SIGHT_AWAKE : SIGHT_ASLEEP;
	/* On the lock of the turns, or about to find that it has the turn. */
	if (lies_in(argument, turn, sizeof(*turn)) || lies_in(argument, holder, sizeof(*holder)))
		return SIGHT_AWAKE;
	return call == SYS_futex ? SIGHT_IN_EMULATOR : SIGHT_AWAKE;
}

/* Told to leave before: the holder still waits for that. */
static bool leaves_still(struct hart *hart)
{
	struct turn *turn = &hart->process->turn;

	for (unsigned int look = 0; look < LOOKS_TO_LEAVE; look++) {
		if (look) {
			pthread_mutex_unlock(&turn->lock);
			pause_for(SETTLE_PAUSE);
			pthread_mutex_lock(&turn->lock);
		}
		if (!turn->holder || turn->holder == hart || watch(hart) != SIGHT_IN_EMULATOR)
			return false;
	}
	return true;
}

/* Wait until `hart` has the turn.  Outside of translated code there is nothing to leave.  The lock
 * is held. */
static enum turn_result wait_turn(struct hart *hart, bool outside)
{
	struct turn *turn = &hart->process->turn;
	struct hart *seen = NULL;
	unsigned int looks = 0;

	if (!outside && hart->turn.leaving && turn->holder != hart && leaves_still(hart))
		return TURN_LEAVE;
	while (turn->holder != hart) {
		struct timespec until;
		enum sight sight;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += TURN_LOOK;
		if (until.tv_nsec >= 1000000000) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000;
		}
		if (pthread_cond_timedwait(&hart->turn.granted, &turn->lock, &until) != ETIMEDOUT)
			continue;
		sight = watch(hart);
		looks = sight != SIGHT_AWAKE && turn->holder == seen ? looks + 1 : 0;
		seen = turn->holder;
		if (!outside && sight == SIGHT_IN_EMULATOR && looks >= LOOKS_TO_LEAVE) {
			hart->turn.leaving = true;
			return TURN_LEAVE;
		}
		if (sight == SIGHT_ASLEEP && looks >= LOOKS_TO_TAKE)
			give_up(turn, TURN_AWAY);
		if (looks >= TURN_PATIENCE / TURN_LOOK) {
			/* In the emulator, but not for us. */
			give_up(turn, TURN_AWAY);
			count_vain(hart);
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

void turn_need(struct hart *hart)
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
		give_up(turn, TURN_WAITING);
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
		catch_up(hart, position(turn->holder));
	turn->holder = hart;
}

/* ---- System calls -------------------------------------------------------------------------- */

/* The futex has the value that the caller expects, so that the call will sleep. */
static bool will_sleep(const struct hart *hart, const uint64_t *argument)
{
	uint64_t command = argument[1] & FUTEX_COMMANDS;
	uint32_t value;

	if (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET)
		return false;
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
		/* The result counts those that were moved as well. */
		member->wakes = true;
		member->limit = argument[2];
		break;
	default:
		if (will_sleep(hart, argument)) {
			member->futex = argument[0];
			member->settled = false;
			give_up(&hart->process->turn, TURN_BLOCKED);
		}
	}
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
	turn_need(hart);
	pthread_mutex_lock(&turn->lock);
	if (turn->holder == hart) {
		member->phase = TURN_CALLING;
		member->came_back = turn->came_back;
		member->begun = turn->begun;
		member->wakes = false;
		member->starts = thread;
		if (number == CALL_FUTEX) {
			begin_futex(hart, argument);
		} else if (number == CALL_CLONE) {
			member->child = argument[0] & GUEST_CLONE_CHILD_CLEAR ? argument[4] : 0;
			if (!thread)
				member->phase = TURN_EXCLUSIVE;
		} else if (number == CALL_EXIT) {
			member->settled = false;
			give_up(turn, TURN_ENDING);
		} else if (number == CALL_EXIT_GROUP || number == CALL_EXECVE) {
			member->phase = TURN_EXCLUSIVE;
		}
	}
	pthread_mutex_unlock(&turn->lock);
}

static uint64_t blocked(const struct turn *turn)
{
	uint64_t count = 0;

	for (const struct hart *hart = turn->members; hart; hart = hart->turn.next)
		count += hart->turn.phase == TURN_BLOCKED;
	return count;
}

/* Wait until the count has come to `target`, or nobody is left who could add to it. */
static void await_count(struct hart *hart, const uint64_t *count, uint64_t target, bool wakes)
{
	struct turn *turn = &hart->process->turn;
	uint64_t start = clock_now();

	while (*count < target && (!wakes || blocked(turn))) {
		if (clock_now() - start > TURN_PATIENCE) {
			count_vain(hart);
			return;
		}
		pthread_mutex_unlock(&turn->lock);
		pause_for(SETTLE_PAUSE);
		pthread_mutex_lock(&turn->lock);
	}
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
		catch_up(hart, time_of_turn(turn));
		if (!turn->holder)
			give_up(turn, TURN_AWAY);
		wait_turn(hart, true);
	}
	pthread_mutex_unlock(&turn->lock);
}

/* ---- The process --------------------------------------------------------------------------- */

void turn_over(struct process *process)
{
	pthread_mutex_lock(&process->turn.lock);
	process->turn.over = true;
	pthread_mutex_unlock(&process->turn.lock);
}

void turn_refork(struct process *process, struct hart *hart)
{
	turn_create(&process->turn);
	if (!hart)
		return;
	memset(&hart->turn, 0, sizeof(hart->turn));
	turn_join(hart);
}
