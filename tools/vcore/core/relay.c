// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The relay: the pipeline on a thread of its own.
 *
 * While a program has one thread, its virtual core can use a second processor of the host.  The
 * guest's thread executes, makes steps, and keeps the accounts; the relay's thread runs the
 * pipeline on the batches in between.  Between the windows of a sampled recording it
 * changes caches and predictors instead.  Batches are processed in order, and only one thread at a
 * time has the pipeline's state, so the results are the same as with one thread.
 *
 * System calls, mappings and forks need the accounts up to date: they wait for the outstanding
 * batches. When the program starts a thread, or if the host has one processor, the guest's threads
 * do everything, see turn.h.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "decoder/base/processors.h"
#include "tools/vcore/core/relay.h"
#include "tools/vcore/core/hart.h"
#include "tools/vcore/core/retire.h"
#include "tools/vcore/core/process.h"

#define RELAY_BATCHES 8u
/*
 * Of a sampled recording, whose batches take a tenth of the time: waking a thread would take as long
 * as all that are outstanding.
 */
#define RELAY_BATCHES_SAMPLED 32u
#define RELAY_STACK	      (256u << 10) /* in bytes */
#define RELAY_POLLS	      50u	   /* polls before a thread sleeps */

struct relay {
	struct batch batch[RELAY_BATCHES_SAMPLED]; /* by batch number modulo `batches` */
	uint32_t batches;
	uint32_t high;		       /* outstanding batches at which a sleeping relay is woken */
	uint32_t low;		       /* outstanding batches at which a waiting guest continues */
	uint32_t accounted;	       /* number of batches accounted */
	_Atomic uint32_t handed, done; /* number of batches handed over, and done */
	_Atomic bool sleeps;	       /* the relay's thread sleeps */
	_Atomic bool waits;	       /* the guest's thread waits */
	_Atomic uint32_t wanted;       /* until this many batches are done */
	pthread_mutex_t lock;
	pthread_cond_t work, progress;
	pthread_t thread;
	_Atomic bool over; /* the relay's thread has to end */
	bool runs;	   /* the thread exists */
	bool failed;	   /* there can be no thread: one processor, or no memory */
};

static struct batch *batch_at(struct relay *relay, uint32_t number)
{
	return &relay->batch[number % relay->batches];
}

static void look_again(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#else
	atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* ---- The relay's thread -------------------------------------------------------------------- */

/* Wait for a batch.  Returns false if the thread has to end. */
static bool await_work(struct relay *relay, uint32_t done)
{
	for (unsigned int look = 0; look < RELAY_POLLS; look++) {
		if (atomic_load_explicit(&relay->handed, memory_order_acquire) != done)
			return true;
		look_again();
	}
	pthread_mutex_lock(&relay->lock);
	atomic_store(&relay->sleeps, true);
	while (atomic_load(&relay->handed) == done && !atomic_load(&relay->over))
		pthread_cond_wait(&relay->work, &relay->lock);
	atomic_store(&relay->sleeps, false);
	pthread_mutex_unlock(&relay->lock);
	return atomic_load(&relay->handed) != done;
}

static void *run(void *argument)
{
	struct hart *hart = argument;
	struct relay *relay = hart->relay;
	uint32_t done = atomic_load(&relay->done);

	while (await_work(relay, done)) {
		batch_run(hart, batch_at(relay, done));
		atomic_store(&relay->done, ++done);
		if (atomic_load(&relay->waits) && done == atomic_load(&relay->wanted)) {
			pthread_mutex_lock(&relay->lock);
			pthread_cond_signal(&relay->progress);
			pthread_mutex_unlock(&relay->lock);
		}
	}
	return NULL;
}

/* Block signals in the relay's thread: the emulator's threads handle them. */
static bool start(struct hart *hart)
{
	struct relay *relay = hart->relay;
	sigset_t all, before;
	pthread_attr_t attributes;

	sigfillset(&all);
	if (pthread_attr_init(&attributes))
		return false;
	pthread_attr_setstacksize(&attributes, RELAY_STACK);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	relay->runs = !pthread_create(&relay->thread, &attributes, run, hart);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return relay->runs;
}

/* ---- The guest's thread -------------------------------------------------------------------- */

static void prepare(struct relay *relay)
{
	pthread_mutex_init(&relay->lock, NULL);
	pthread_cond_init(&relay->work, NULL);
	pthread_cond_init(&relay->progress, NULL);
	atomic_store(&relay->sleeps, false);
	atomic_store(&relay->waits, false);
	relay->runs = false;
}

/* Create a hart's relay; it has failed already if there is only one processor. */
static struct pesa_error *create(struct hart *hart)
{
	struct relay *relay = hart->relay = calloc(1, sizeof(*relay));
	struct pesa_error *error = NULL;

	if (!relay)
		return pesa_error_no_memory();
	prepare(relay);
	relay->failed = processors_allowed() < 2;
	relay->batches = hart->windows.on ? RELAY_BATCHES_SAMPLED : RELAY_BATCHES;
	relay->high = relay->batches / 4;
	relay->low = relay->batches / 2;
	for (unsigned int i = 0; i < relay->batches && !relay->failed; i++) {
		error = batch_create(&relay->batch[i], hart->own.room);
		relay->failed = error != NULL;
	}
	return error;
}

bool relay_ready(struct hart *hart)
{
	const struct process *process = hart->process;

	if (!hart->slot || process->sink->on_time || process->turn.active || hart->registers)
		return false;
	/* The windows of a sampled recording are short. */
	if (hart->windows.on && hart->windows.phase != WINDOWS_CONTENTS)
		return false;
	if (hart->relay && hart->relay->runs)
		return true;
	/* Without a relay, the guest's thread runs the pipeline itself. */
	if (!hart->relay)
		pesa_error_free(create(hart));
	if (!hart->relay || hart->relay->failed)
		return false;
	hart->relay->failed = !start(hart);
	return !hart->relay->failed;
}

static void wake(struct relay *relay)
{
	if (!atomic_load(&relay->sleeps))
		return;
	pthread_mutex_lock(&relay->lock);
	pthread_cond_signal(&relay->work);
	pthread_mutex_unlock(&relay->lock);
}

/* Wait until `target` batches are done. */
static void await_done(struct relay *relay, uint32_t target)
{
	wake(relay);
	for (unsigned int look = 0; look < RELAY_POLLS; look++) {
		if ((int32_t)(atomic_load_explicit(&relay->done, memory_order_acquire) - target) >=
		    0)
			return;
		look_again();
	}
	pthread_mutex_lock(&relay->lock);
	atomic_store(&relay->wanted, target);
	atomic_store(&relay->waits, true);
	while ((int32_t)(atomic_load(&relay->done) - target) < 0)
		pthread_cond_wait(&relay->progress, &relay->lock);
	atomic_store(&relay->waits, false);
	pthread_mutex_unlock(&relay->lock);
}

static void account_done(struct hart *hart)
{
	struct relay *relay = hart->relay;
	uint32_t done = atomic_load_explicit(&relay->done, memory_order_acquire);

	for (; relay->accounted != done; relay->accounted++) {
		batch_account(hart, batch_at(relay, relay->accounted));
		counters_publish(hart);
	}
}

struct batch *relay_hand(struct hart *hart)
{
	struct relay *relay = hart->relay;
	uint32_t handed = atomic_load_explicit(&relay->handed, memory_order_relaxed);
	struct batch *batch = hart->batch;

	if (batch == &hart->own) {
		/* The first batch: exchange it with the hart's own one. */
		struct batch own = hart->own;

		hart->own = *batch_at(relay, handed);
		*batch_at(relay, handed) = own;
	}
	atomic_store(&relay->handed, ++handed);
	/* Waking a thread costs half as much as a batch: do it once for several. */
	if (handed - atomic_load(&relay->done) >= relay->high)
		wake(relay);
	account_done(hart);
	/* All batches are outstanding: account some of them before the next one. */
	if (handed - relay->accounted == relay->batches) {
		await_done(relay, handed - relay->low);
		account_done(hart);
	}
	return hart->batch = batch_at(relay, handed);
}

void relay_drain(struct hart *hart)
{
	struct relay *relay = hart->relay;

	if (!relay)
		return;
	await_done(relay, atomic_load_explicit(&relay->handed, memory_order_relaxed));
	account_done(hart);
}

void relay_refork(struct hart *hart)
{
	if (hart->relay)
		prepare(hart->relay);
}

void relay_free(struct hart *hart)
{
	struct relay *relay = hart->relay;

	if (!relay)
		return;
	if (relay->runs) {
		pthread_mutex_lock(&relay->lock);
		atomic_store(&relay->over, true);
		pthread_cond_signal(&relay->work);
		pthread_mutex_unlock(&relay->lock);
		pthread_join(relay->thread, NULL);
	}
	for (unsigned int i = 0; i < relay->batches; i++)
		batch_free(&relay->batch[i]);
	free(relay);
}
