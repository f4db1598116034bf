// SPDX-License-Identifier: GPL-2.0-or-later
/* The last level of cache, its directory, and memory.  See shared.h. */
#include <stdlib.h>
#include <string.h>

#include "tools/vcore/memory/shared.h"

#define SLOTS 4096u
#define MAILS 4096u

struct pesa_error *shared_create(const struct pesa_core *core, struct shared **result)
{
	const struct pesa_core_cache *last = core->llc.size ? &core->llc : &core->l2;
	struct shared *shared = calloc(1, sizeof(*shared));
	struct pesa_error *error;

	if (!shared)
		return pesa_error_no_memory();
	shared->core = core;
	pthread_mutex_init(&shared->lock, NULL);
	shared->slot = calloc(SLOTS, sizeof(*shared->slot));
	if (last->size)
		shared->sharers = calloc(last->size / core->line, sizeof(*shared->sharers));
	error = shared->slot && (shared->sharers || !last->size) ? NULL : pesa_error_no_memory();
	if (!error)
		error = cache_create(&shared->last, last, core->line);
	if (!error) {
		*result = shared;
		return NULL;
	}
	cache_free(&shared->last);
	free(shared->sharers);
	free(shared->slot);
	pthread_mutex_destroy(&shared->lock);
	free(shared);
	return error;
}

static bool enter(struct shared *shared)
{
	bool several = atomic_load_explicit(&shared->several, memory_order_relaxed);

	if (several)
		pthread_mutex_lock(&shared->lock);
	return several;
}

static void leave(struct shared *shared, bool entered)
{
	if (entered)
		pthread_mutex_unlock(&shared->lock);
}

struct pesa_error *shared_join(struct shared *shared, struct shared_member *member)
{
	member->mail = malloc(MAILS * sizeof(*member->mail));
	if (!member->mail)
		return pesa_error_no_memory();
	pthread_mutex_lock(&shared->lock);
	member->number = shared->joined++;
	member->next = shared->members;
	shared->members = member;
	if (member->next)
		atomic_store(&shared->several, true);
	pthread_mutex_unlock(&shared->lock);
	return NULL;
}

void shared_leave(struct shared *shared, struct shared_member *member)
{
	struct shared_member **place = &shared->members;

	pthread_mutex_lock(&shared->lock);
	while (*place && *place != member)
		place = &(*place)->next;
	if (*place)
		*place = member->next;
	free(member->mail);
	member->mail = NULL;
	pthread_mutex_unlock(&shared->lock);
}

void shared_refork(struct shared *shared, struct shared_member *member)
{
	pthread_mutex_init(&shared->lock, NULL);
	shared->members = member;
	member->next = NULL;
	atomic_store(&shared->several, false);
}

static uint64_t bit_of(const struct shared_member *member)
{
	return 1ull << (member->number % 64);
}

/* Send an order to all members in `sharers` except `from`. */
static void post(struct shared *shared, const struct shared_member *from, uint64_t sharers,
		 uint64_t tag, enum shared_order order)
{
	if (!sharers)
		return;
	for (struct shared_member *to = shared->members; to; to = to->next) {
		if (to == from || !(sharers & bit_of(to)))
			continue;
		if (to->mails == MAILS)
			to->overflowed = true;
		else
			to->mail[to->mails++] = (struct shared_mail){tag, order};
	}
}

bool shared_next_mail(struct shared *shared, struct shared_member *member, struct shared_mail *mail)
{
	bool entered, found;

	/* The queue is read by this hart only, and no other hart writes while it runs. */
	if (!member->mails)
		return false;
	entered = enter(shared);
	found = member->read < member->mails;
	if (found)
		*mail = member->mail[member->read++];
	else
		member->read = member->mails = 0;
	leave(shared, entered);
	return found;
}

/* Use the first free slot of memory bandwidth from `time` on; returns its start. */
static uint64_t take_slot(struct shared *shared, const struct shared_member *member, uint64_t time)
{
	uint64_t interval = shared->core->memory_interval;
	uint64_t slot = (time + interval - 1) / interval;

	if (member->untimed)
		return time;
	while (shared->slot[slot % SLOTS] == slot + 1)
		slot++;
	shared->slot[slot % SLOTS] = slot + 1;
	return slot * interval;
}

/* Like cache_find(), with the sharers of the lines. */
static struct line *find(struct shared *shared, uint64_t tag, struct line *victim,
			 uint64_t **sharers)
{
	struct cache *last = &shared->last;
	struct line *set = cache_set(last, tag);
	uint64_t moved;
	uint32_t way = 0;

	*sharers = shared->sharers + (set - last->line);
	while (way < last->ways - 1 && set[way].tag != tag)
		way++;
	moved = (*sharers)[way];
	memmove(*sharers + 1, *sharers, way * sizeof(moved));
	(*sharers)[0] = moved;
	return cache_find(last, tag, victim);
}

static struct shared_fill hit(struct shared *shared, const struct shared_member *member,
			      struct line *line, uint64_t *sharers, uint64_t time, bool store)
{
	uint64_t others = *sharers & ~bit_of(member), ready = line_ready(line);
	struct shared_fill fill = {.owned = store || !others};

	if (ready < time)
		ready = time;
	fill.ready = ready;
	if (others && (store || (line->state & LINE_OWNED))) {
		fill.ready += shared->last.latency;
		post(shared, member, others, line->tag,
		     store ? SHARED_INVALIDATE : SHARED_DOWNGRADE);
		if (line->state & LINE_OWNED)
			line->state |= LINE_DIRTY;
		line->state &= ~(uint64_t)LINE_OWNED;
	}
	*sharers = store ? bit_of(member) : *sharers | bit_of(member);
	if (fill.owned)
		line->state |= LINE_OWNED;
	return fill;
}

static struct shared_fill miss(struct shared *shared, struct shared_member *member,
			       const struct line *victim, uint64_t *sharers, uint64_t time)
{
	struct cache *last = &shared->last;
	struct shared_fill fill = {.owned = true, .missed = true};
	uint64_t least = heap_least(&last->mshrs), mine = bit_of(member);
	bool inclusive =
		shared->core->llc.size ? shared->core->llc.inclusive : shared->core->l2.inclusive;

	if (least > time && !member->untimed)
		time = least;
	if (victim->tag) {
		fill.dirty = victim->state & LINE_DIRTY;
		if (inclusive) {
			post(shared, member, *sharers & ~mine, victim->tag, SHARED_EVICT);
			if (*sharers & mine)
				fill.evicted = victim->tag;
		}
	}
	fill.ready = take_slot(shared, member, time) + shared->core->memory_latency;
	if (!member->untimed)
		heap_replace(&last->mshrs, fill.ready);
	*sharers = mine;
	return fill;
}

struct shared_fill shared_access(struct shared *shared, struct shared_member *member, uint64_t tag,
				 uint64_t cycle, bool store)
{
	struct shared_fill fill = {.owned = true, .missed = true};
	struct line *line, victim;
	uint64_t *sharers, time = cycle + member->offset;
	bool entered = enter(shared);

	member->now = time;
	if (shared->last.line) {
		line = find(shared, tag, &victim, &sharers);
		time += shared->last.latency;
		if (line) {
			fill = hit(shared, member, line, sharers, time, store);
		} else {
			fill = miss(shared, member, &victim, sharers, time);
			cache_set(&shared->last, tag)->state =
				(member->untimed ? 0 : fill.ready) << LINE_BITS | LINE_OWNED;
		}
	} else {
		fill.ready = take_slot(shared, member, time) + shared->core->memory_latency;
	}
	leave(shared, entered);
	fill.ready -= member->offset;
	return fill;
}

uint64_t shared_own(struct shared *shared, struct shared_member *member, uint64_t tag,
		    uint64_t cycle)
{
	struct line *line;
	bool entered;

	if (!shared->last.line)
		return cycle;
	entered = enter(shared);
	line = cache_peek(&shared->last, tag);
	if (line) {
		uint64_t *sharers = &shared->sharers[line - shared->last.line];

		post(shared, member, *sharers & ~bit_of(member), tag, SHARED_INVALIDATE);
		*sharers = bit_of(member);
		line->state |= LINE_OWNED;
	}
	leave(shared, entered);
	return cycle + shared->last.latency;
}

void shared_write_back(struct shared *shared, struct shared_member *member, uint64_t tag,
		       uint64_t cycle)
{
	bool entered = enter(shared);
	struct line *line = shared->last.line ? cache_peek(&shared->last, tag) : NULL;

	member->now = cycle + member->offset;
	if (line)
		line->state |= LINE_DIRTY;
	else
		take_slot(shared, member, member->now);
	leave(shared, entered);
}

void shared_write_memory(struct shared *shared, struct shared_member *member)
{
	bool entered = enter(shared);

	take_slot(shared, member, member->now);
	leave(shared, entered);
}
