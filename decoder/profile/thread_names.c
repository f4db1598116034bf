// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of threads over time: see thread_names.h. */
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "decoder/profile/thread_names.h"

struct thread {
	uint32_t tid;
	char *name;
	UT_hash_handle hh;
};

struct thread_names {
	struct thread *threads;
};

struct thread_names *thread_names_create(void)
{
	return calloc(1, sizeof(struct thread_names));
}

static struct thread *find(const struct thread_names *names, uint32_t tid)
{
	struct thread *thread;

	HASH_FIND(hh, names->threads, &tid, sizeof(tid), thread);
	return thread;
}

static void forget(struct thread_names *names, struct thread *thread)
{
	HASH_DEL(names->threads, thread);
	free(thread->name);
	free(thread);
}

void thread_names_free(struct thread_names *names)
{
	struct thread *thread, *next;

	if (!names)
		return;
	HASH_ITER(hh, names->threads, thread, next)
	{
		forget(names, thread);
	}
	free(names);
}

/* NULL: out of memory. */
static struct thread *add_thread(struct thread_names *names, uint32_t tid)
{
	struct thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return NULL;
	thread->tid = tid;
	HASH_ADD(hh, names->threads, tid, sizeof(thread->tid), thread);
	if (find(names, tid) == thread)
		return thread;
	free(thread); /* out of memory in uthash */
	return NULL;
}

static struct pesa_error *name_thread(struct thread_names *names, uint32_t tid, const char *name)
{
	struct thread *thread = find(names, tid);
	char *copy = strdup(name);

	if (copy && !thread)
		thread = add_thread(names, tid);
	if (!copy || !thread) {
		free(copy);
		return pesa_error_no_memory();
	}
	free(thread->name);
	thread->name = copy;
	return NULL;
}

struct pesa_error *thread_names_apply(struct thread_names *names, const struct pesa_event *event)
{
	struct thread *thread;
	const char *parent;

	switch (event->type) {
	case PERF_RECORD_COMM:
		return name_thread(names, event->comm.tid, event->comm.name);
	case PERF_RECORD_FORK:
		parent = thread_names_get(names, event->task.parent_tid);
		return parent ? name_thread(names, event->task.tid, parent) : NULL;
	case PERF_RECORD_EXIT:
		thread = find(names, event->task.tid);
		if (thread)
			forget(names, thread);
		return NULL;
	default:
		return NULL;
	}
}

const char *thread_names_get(const struct thread_names *names, uint32_t tid)
{
	const struct thread *thread = find(names, tid);

	return thread ? thread->name : NULL;
}
