/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process and its harts keep for guest/: whose turn it is, and what is mapped.  What that
 * means is said in guest/turn.h, guest/wait.h and guest/space.h.
 */
#ifndef TOOLS_VCORE_CORE_GUEST_STATE_H
#define TOOLS_VCORE_CORE_GUEST_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decoder/binary/code.h"

struct hart;

enum guest_wait_kind {
	GUEST_WAIT_NONE,
	GUEST_WAIT_INPUT,  /* until its file can be read, */
	GUEST_WAIT_OUTPUT, /* or written */
	GUEST_WAIT_EVENT,  /* anything else */
	GUEST_WAIT_CLOCK,  /* for so long that the others go on meanwhile */
};

struct guest_wait {
	enum guest_wait_kind kind;
	int file;
};

enum turn_phase {
	TURN_AWAY,	/* in a system call without the turn, or not yet begun */
	TURN_WAITING,	/* for the turn */
	TURN_RUNNING,	/* has the turn, in the program */
	TURN_CALLING,	/* has the turn, in a system call */
	TURN_EXCLUSIVE, /* likewise, and the emulator waits for the others to leave their code */
	TURN_BLOCKED,	/* about to sleep in a futex, or asleep */
	TURN_ENDING,
};

struct turn_member {
	enum turn_phase phase;
	bool joined;
	bool leaving;	    /* it was told to leave its code */
	bool settled;	    /* BLOCKED or ENDING: seen asleep or gone */
	uint64_t futex;	    /* guest address of the futex that it waits for */
	uint64_t clear;	    /* guest address that the kernel clears when it ends, 0: none */
	uint64_t child;	    /* likewise of the thread that it is starting */
	uint64_t came_back; /* the counts below when the system call began */
	uint64_t begun;
	uint64_t limit;		/* of threads that a wake-up can wake */
	bool wakes;		/* the system call wakes threads */
	bool starts;		/* ... starts one */
	struct guest_wait wait; /* of the system call */
	pthread_cond_t granted;
	struct hart *next;
};

struct turn {
	pthread_mutex_t lock;
	bool active; /* there is, or was, a second thread */
	bool over;   /* the process ends: nobody waits any more */
	struct hart *holder;
	struct hart *members;
	uint64_t latest;    /* time of the newest holder */
	uint64_t came_back; /* threads that came back from a futex */
	uint64_t begun;	    /* threads that began */
};

struct space {
	struct mapping {
		uint64_t start, end;
		bool made; /* at run time: no file holds what is in it */
	} * mapping;	   /* executable ones that were announced, sorted */
	size_t count, room;
	size_t last;
	struct pesa_code *code; /* made at run time, as the recorder knows it; NULL: none */
};

#endif
