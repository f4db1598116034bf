/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Deterministic thread scheduler: one thread of a process runs at a time, in an order that depends on
 * the model only.
 *
 * The emulator runs each guest thread on a host thread, so the host's scheduler would decide which
 * guest thread gets a lock.  From the second thread on, one thread has the turn and the others wait.
 * A thread yields when it is TURN_QUANTUM cycles ahead of the waiting thread with the least time,
 * when it is about to sleep in a futex, and when it ends.  Every decision is made on model time, at
 * points that the program's own path determines:
 *
 *   - the next thread goes on only when the one that yields is asleep, or gone;
 *   - a thread that wakes or starts others goes on when those have come back and wait for their
 *     turn, with the time of the thread that woke them.
 *
 * In other system calls a thread keeps the turn, however long the host takes.  Calls that wait for
 * something from outside lose it (wait.h) and come back when the host returns: programs whose
 * threads communicate through pipes, sockets or the clock depend on the host.
 *
 * Nothing here waits forever: waiting threads watch the one that has the turn.  The emulator
 * sometimes needs all threads out of translated code (it begins to translate for several threads,
 * or its buffer is full).  The thread with the turn then sleeps in the emulator, and the waiting
 * threads leave translated code for as long, at the end of their blocks.
 *
 * No decision uses the clock.  That the thread with the turn sleeps means nothing while another
 * thread runs, or would if it had a processor: that one may hold the lock.  A wait is given up, and
 * counted, when no thread has run in POLLS_MOST polls.
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
	TURN_LEAVE, /* not the hart's turn, but it must leave the block of code that it is in */
};

void turn_create(struct turn *turn);
/* A hart begins, on its own thread.  Who started it goes on after turn_begun(). */
void turn_join(struct hart *hart);
void turn_begun(struct hart *hart);
/* The hart is gone. */
void turn_remove(struct hart *hart);
/* Before the hart's trace goes to the model: wait for the turn. */
enum turn_result turn_take(struct hart *hart);
/* After it: let the others catch up. */
enum turn_result turn_point(struct hart *hart);
/* Wait for the turn outside of translated code. */
void turn_need(struct hart *hart);
/* A system call begins, with its arguments, and returns. */
void turn_call(struct hart *hart, int64_t number, const uint64_t *argument);
void turn_return(struct hart *hart, int64_t number, int64_t result);
/* The emulator itself runs one hart at a time, as the system emulator does, and now it is this one:
 * its time goes on where that of the one before it has come to. */
void turn_follow(struct hart *hart);
/* The process ends: the calling thread handles the rest of all traces. */
void turn_over(struct process *process);
/* Likewise while the others are still there: they stay where they are. */
void turn_stop(struct process *process);
/* In the child after fork: the hart, if any, is alone. */
void turn_refork(struct process *process, struct hart *hart);

#endif
