/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Deterministic thread scheduler: one thread of a process runs at a time, in an order that depends
 * on the model only.
 *
 * The emulator runs each guest thread on a host thread, so the host's scheduler would decide which
 * guest thread gets a lock.  From the second thread on, one thread has the turn and the others
 * wait. A thread yields when it is TURN_QUANTUM cycles ahead of the waiting thread with the least
 * time, when it is about to sleep in a futex, and when it ends.  Every decision uses model time, at
 * points that the program's own path determines:
 *
 *   - the next thread continues only when the one that yields is asleep, or gone;
 *   - a thread that wakes or starts others continues when those have come back and wait for the
 *     turn, with the time of the thread that woke them.
 *
 * In other system calls a thread keeps the turn, however long the host takes.  Calls that wait for
 * an event outside of the process lose it (wait.h) and get it back after the host returns: programs
 * whose threads communicate through pipes, sockets or the clock depend on the host.
 *
 * No wait is unbounded: waiting threads poll the one that has the turn.  The emulator sometimes
 * needs all threads out of translated code (it begins to translate for several threads, or its
 * buffer is full).  The thread with the turn then sleeps in the emulator, and the waiting threads
 * leave translated code meanwhile, at the end of their blocks.
 *
 * No decision uses the clock.  If the thread with the turn sleeps while another thread is running
 * or runnable, that one may hold the lock that it needs.  A wait is given up, and counted, when no
 * thread has run in POLLS_MAX polls.
 */
#ifndef TOOLS_VCORE_GUEST_TURN_H
#define TOOLS_VCORE_GUEST_TURN_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/vcore/core/guest_state.h"

struct hart;
struct process;

enum turn_result {
	TURN_MINE,
	TURN_LEAVE, /* not the hart's turn, but it must leave its translated block */
};

void turn_create(struct turn *turn);
/* A hart begins, on its own thread.  Its parent continues after turn_begun(). */
void turn_join(struct hart *hart);
void turn_begun(struct hart *hart);
/* Remove a hart that ended. */
void turn_remove(struct hart *hart);
/* Wait for the turn before the trace is modelled. */
enum turn_result turn_take(struct hart *hart);
/* After the trace was modelled: yield if the time slice is over. */
enum turn_result turn_point(struct hart *hart);
/* Wait for the turn outside of translated code. */
void turn_acquire(struct hart *hart);
/* A system call begins, with its arguments, and returns with its result. */
void turn_call(struct hart *hart, int64_t number, const uint64_t *argument);
void turn_return(struct hart *hart, int64_t number, int64_t result);
/*
 * For the system emulator, which runs one hart at a time by itself: this hart runs now, and its
 * time continues at that of the last one.
 */
void turn_follow(struct hart *hart);
/* The process ends: the calling thread processes the remaining traces. */
void turn_end(struct process *process);
/* Like turn_end(), while the other threads still exist: they stay where they wait. */
void turn_stop(struct process *process);
/* In the child after a fork: only `hart` is left, or NULL. */
void turn_refork(struct process *process, struct hart *hart);

#endif
