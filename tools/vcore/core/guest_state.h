/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of a process and its harts that guest/ uses: the deterministic thread scheduler, the
 * mappings, and the registers.  See guest/turn.h, guest/wait.h, guest/space.h and guest/registers.h.
 *
 * A thread that may run has "the turn"; the others wait for it.
 */
#ifndef TOOLS_VCORE_CORE_GUEST_STATE_H
#define TOOLS_VCORE_CORE_GUEST_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/vcore/channel.h"
#include "decoder/binary/code.h"

struct hart;

enum guest_wait_kind {
	GUEST_WAIT_NONE,
	GUEST_WAIT_INPUT,  /* until its file is readable */
	GUEST_WAIT_OUTPUT, /* until its file is writable */
	GUEST_WAIT_EVENT,  /* for another event */
	GUEST_WAIT_CLOCK,  /* for a time long enough to let other threads run meanwhile */
};

struct guest_wait {
	enum guest_wait_kind kind;
	int file;
};

enum turn_phase {
	TURN_AWAY,	/* in a system call without the turn, or not started yet */
	TURN_WAITING,	/* waits for the turn */
	TURN_RUNNING,	/* has the turn, executes the program */
	TURN_CALLING,	/* has the turn, in a system call */
	TURN_EXCLUSIVE, /* like TURN_CALLING; the emulator waits until the other threads have
			 * left translated code */
	TURN_BLOCKED,	/* about to sleep in a futex, or asleep */
	TURN_ENDING,
};

struct turn_member {
	enum turn_phase phase;
	bool joined;
	bool leaving;	    /* asked to leave translated code */
	bool settled;	    /* BLOCKED or ENDING: the thread was seen asleep or gone */
	uint64_t futex;	    /* guest address of the futex that the thread waits for */
	uint64_t clear;	    /* guest address that the kernel clears when the thread ends; 0: none */
	uint64_t child;	    /* the same for the thread that this one is starting */
	uint64_t came_back; /* turn.came_back and turn.begun when the system call began */
	uint64_t begun;
	uint64_t limit;		/* number of threads that a wake-up can wake */
	bool wakes;		/* the system call wakes threads */
	bool starts;		/* the system call starts a thread */
	struct guest_wait wait; /* what the system call waits for */
	pthread_cond_t granted;
	struct hart *next;
};

struct turn {
	pthread_mutex_t lock;
	bool active; /* the process has, or had, a second thread */
	bool over;   /* the process ends: no thread waits any more */
	struct hart *holder;
	struct hart *members;
	uint64_t latest;    /* time of the newest thread that had the turn */
	uint64_t came_back; /* number of threads that returned from a futex */
	uint64_t begun;	    /* number of threads that began */
};

/* Registers of a hart: the emulator's names for the registers; all zero: not looked up yet. */
struct registers {
	void *handle[VCORE_REGISTERS]; /* by PERF_REG_RISCV_*; NULL: pc, which is not read */
	void *bytes;		       /* of the value that is being read */
};

struct space {
	struct mapping {
		uint64_t start, end;
		bool made; /* made at run time: no file has its contents */
	} * mapping;	   /* announced executable mappings, sorted */
	size_t count, room;
	size_t last;
	struct pesa_code *code; /* code made at run time, as sent to the recorder; or NULL */
};

#endif
