/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the harts of a process share: the last level of cache and memory.
 *
 * The last level is the LLC, or the L2 of a core without one.  Each of its lines knows which harts
 * have taken it: a directory.  A hart that writes a line takes it from the others; a hart that
 * reads a line which another one owns makes it give up the right to write.  Either costs one more
 * latency of the last level.  The other harts are told by mail, which each reads before it goes on
 * (memory_resume()): with harts taking turns (turn.c) that is at once, and no hart touches
 * another's caches.
 *
 * Harts count cycles of their own.  `offset` makes them times of the process: what is under way
 * here is kept in those.
 */
#ifndef TOOLS_VCORE_MEMORY_SHARED_H
#define TOOLS_VCORE_MEMORY_SHARED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "tools/vcore/memory/cache.h"

enum shared_order {
	SHARED_INVALIDATE, /* another hart writes the line */
	SHARED_DOWNGRADE,  /* another hart reads it */
	SHARED_EVICT,	   /* the last level, which is inclusive, needs its place */
};

struct shared_mail {
	uint64_t tag;
	enum shared_order order;
};

struct shared_member {
	uint64_t offset; /* cycles: time of the process = cycle of the hart + offset */
	uint64_t now;	 /* time of the newest access */
	uint32_t number;
	uint32_t mails, read;
	bool overflowed; /* mail was lost: nothing that the hart has is valid */
	struct shared_mail *mail;
	struct shared_member *next;
};

struct shared {
	const struct pesa_core *core;
	pthread_mutex_t lock;
	atomic_bool several; /* more than one member: the lock is needed */
	uint32_t joined;
	struct shared_member *members;
	struct cache last;
	uint64_t *sharers; /* of each line of `last`: bits by number modulo 64 */
	uint64_t *slot;	   /* times that memory is taken, in units of memory_interval */
};

struct shared_fill {
	uint64_t ready;	  /* cycle of the hart in which the line is there */
	uint64_t evicted; /* tag of a line that the hart loses, 0: none */
	bool owned;	  /* it may be written */
	bool missed;	  /* the last level did not have it */
	bool dirty;	  /* a changed line leaves the last level */
};

/* For the life of the process. */
struct shared *shared_create(const struct pesa_core *core);
/* A hart comes and goes; `member` is its own memory.  Without memory for mail it always overflows.
 */
void shared_join(struct shared *shared, struct shared_member *member);
void shared_leave(struct shared *shared, struct shared_member *member);
/* In the child after fork: `member` is the only one left. */
void shared_refork(struct shared *shared, struct shared_member *member);

/* Fetch a line in `cycle` of the hart. */
struct shared_fill shared_access(struct shared *shared, struct shared_member *member, uint64_t tag,
				 uint64_t cycle, bool store);
/* Take the right to write a line; returns the cycle in which the hart has it. */
uint64_t shared_own(struct shared *shared, struct shared_member *member, uint64_t tag,
		    uint64_t cycle);
/* A changed line leaves the hart's own caches, or the last level as well. */
void shared_write_back(struct shared *shared, struct shared_member *member, uint64_t tag,
		       uint64_t cycle);
void shared_write_memory(struct shared *shared, struct shared_member *member);
/* The next thing that the hart has to do; false: there is none. */
bool shared_next_mail(struct shared *shared, struct shared_member *member,
		      struct shared_mail *mail);

#endif
