/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns: the threads of a process run one at a time, in an order that the model decides.
 *
 * The emulator runs each guest thread on a thread of the host, and what the host's scheduler does
 * would decide who gets a lock.  So, once there is a second thread, one has the turn and the others
 * wait.  A thread keeps the turn until it is TURN_QUANTUM cycles ahead of the one that waits with
 * the least time; it gives it up when it is about to sleep in a futex, and when it ends.  Every
 * decision is taken on times of the model and in places that the program's own path decides:
 *
 *   - who gives the turn up is really asleep, or gone, before the next one goes on;
 *   - who wakes others, or starts one, goes on when they have come back and wait for their turn,
 *     with the time of the one who woke them.
 *
 * Other system calls keep the turn, however long the host takes for them.  Those that wait for
 * something from outside lose it, see wait.h, and come back when the host lets them: programs
 * whose threads talk through pipes, sockets or the clock depend on the host.
 *
 * Nothing here can wait forever: the waiting ones watch the one that has the turn.  The emulator
 * now and then needs all threads out of translated code (it begins to translate for several
 * threads, or its buffer is full).  Then the one that has the turn sleeps in the emulator, and the
 * waiting ones leave theirs for as long, up to the end of the block that they are in.
 *
 * None of that is decided by the clock.  That the one who has the turn sleeps means nothing while
 * another thread runs, or would if it had a processor: it may have the lock that the sleeping one
 * waits for.  Only when nobody runs is it the others who are waited for.  What is waited for in
 * vain is given up when nobody has run in LOOKS_IN_VAIN looks, and counted.
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
