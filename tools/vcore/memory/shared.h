/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the harts of a process share: the last level of cache and memory.
 *
 * The last level is the LLC, or the L2 of a core without one.  A directory has the harts that use
 * each of its lines.  A write by one hart invalidates the line in the others; a read of a line that
 * another hart owns takes the other's right to write.  Either costs one more latency of the last
 * level.  The other harts get an order in their queue, which each reads before it continues
 * (memory_resume()). As harts run one at a time (turn.c), that is in time, and no hart accesses
 * another one's caches.
 *
 * Each hart counts cycles of its own.  Adding `offset` gives the time of the process, which is used
 * for everything in flight here.
 */
#ifndef TOOLS_VCORE_MEMORY_SHARED_H
#define TOOLS_VCORE_MEMORY_SHARED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "tools/vcore/memory/cache.h"

enum shared_order {
	SHARED_INVALIDATE, /* another hart writes the line */
	SHARED_DOWNGRADE,  /* another hart reads the line */
	SHARED_EVICT,	   /* the inclusive last level evicts the line */
};

struct shared_mail {
	uint64_t tag;
	enum shared_order order;
};

struct shared_member {
	uint64_t offset; /* time of the process = cycle of the hart + offset */
	uint64_t now;	 /* time of the newest access */
	uint32_t number;
	uint32_t mails, read;
	bool untimed;	 /* see memory_set_untimed() */
	bool overflowed; /* the queue overflowed: none of the hart's lines is valid */
	struct shared_mail *mail;
	struct shared_member *next;
};

struct shared {
	const struct pesa_core *core;
	pthread_mutex_t lock;
	atomic_bool several; /* more than one member: use the lock */
	uint32_t joined;
	struct shared_member *members;
	struct cache last;
	uint64_t *sharers; /* by line of `last`: bit i = harts with number i modulo 64 */
	uint64_t *slot;	   /* times at which memory is used, in units of memory_interval */
};

struct shared_fill {
	uint64_t ready;	  /* cycle of the hart in which the line arrives */
	uint64_t evicted; /* tag of a line that the hart loses; 0: none */
	bool owned;	  /* the line may be written */
	bool missed;	  /* the last level missed */
	bool dirty;	  /* the last level evicts a dirty line */
};

/* What it makes lives as long as the process. */
struct pesa_error *shared_create(const struct pesa_core *core, struct shared **shared);
/* Add or remove a hart; the caller owns `member`. */
struct pesa_error *shared_join(struct shared *shared, struct shared_member *member);
void shared_leave(struct shared *shared, struct shared_member *member);
/* In the child after a fork: `member` is the only one left. */
void shared_refork(struct shared *shared, struct shared_member *member);

/* Fetch a line in `cycle` of the hart. */
struct shared_fill shared_access(struct shared *shared, struct shared_member *member, uint64_t tag,
				 uint64_t cycle, bool store);
/* Get the right to write a line; returns the cycle in which the hart has it. */
uint64_t shared_own(struct shared *shared, struct shared_member *member, uint64_t tag,
		    uint64_t cycle);
/* A dirty line leaves the hart's private caches, or the last level as well. */
void shared_write_back(struct shared *shared, struct shared_member *member, uint64_t tag,
		       uint64_t cycle);
void shared_write_memory(struct shared *shared, struct shared_member *member);
/* Get the next order for the hart; false: none. */
bool shared_next_mail(struct shared *shared, struct shared_member *member,
		      struct shared_mail *mail);

#endif
