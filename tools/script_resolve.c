/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "decoder/binaries.h"
#include "pesa/space.h"
#include "tools/script_resolve.h"

struct thread {
	uint32_t tid;
	char *name;
	UT_hash_handle hh;
};

struct script_resolver {
	struct pesa_spaces *spaces;
	struct pesa_binaries *binaries;
	struct pesa_symbols *symbols;
	struct thread *threads;
};

static const struct pesa_dso *dso_of_spaces(void *context, uint32_t index)
{
	struct pesa_spaces *spaces = context;

	return index < pesa_spaces_dso_count(spaces) ? pesa_spaces_dso(spaces, index) : NULL;
}

struct pesa_error *script_resolver_create(const struct pesa_perfdata *reader, const char *root,
					  struct script_resolver **result)
{
	struct script_resolver *resolver = calloc(1, sizeof(*resolver));
	struct pesa_error *error;

	if (!resolver)
		return pesa_error_no_memory();
	error = pesa_spaces_create(&resolver->spaces);
	if (!error) {
		resolver->binaries = pesa_binaries_create(resolver->spaces, root);
		if (!resolver->binaries)
			error = pesa_error_no_memory();
		else
			pesa_binaries_set_reader(resolver->binaries, reader);
	}
	if (!error)
		error = pesa_symbols_create_for(dso_of_spaces, resolver->spaces, root,
						&resolver->symbols);
	if (error) {
		script_resolver_free(resolver);
		return error;
	}
	*result = resolver;
	return NULL;
}

void script_resolver_free(struct script_resolver *resolver)
{
	struct thread *thread, *next;

	if (!resolver)
		return;
	HASH_ITER(hh, resolver->threads, thread, next)
	{
		HASH_DEL(resolver->threads, thread);
		free(thread->name);
		free(thread);
	}
	pesa_symbols_free(resolver->symbols);
	pesa_binaries_free(resolver->binaries);
	pesa_spaces_free(resolver->spaces);
	free(resolver);
}

/* ---- Threads ------------------------------------------------------------------------------- */

static bool name_thread(struct script_resolver *resolver, uint32_t tid, const char *name)
{
	struct thread *thread;
	char *copy = strdup(name);

	if (!copy)
		return false;
	HASH_FIND(hh, resolver->threads, &tid, sizeof(tid), thread);
	if (!thread) {
		thread = calloc(1, sizeof(*thread));
		if (!thread) {
			free(copy);
			return false;
		}
		thread->tid = tid;
		HASH_ADD(hh, resolver->threads, tid, sizeof(thread->tid), thread);
	}
	free(thread->name);
	thread->name = copy;
	return true;
}

static void forget_thread(struct script_resolver *resolver, uint32_t tid)
{
	struct thread *thread;

	HASH_FIND(hh, resolver->threads, &tid, sizeof(tid), thread);
	if (!thread)
		return;
	HASH_DEL(resolver->threads, thread);
	free(thread->name);
	free(thread);
}

const char *script_thread_name(struct script_resolver *resolver, uint32_t tid)
{
	struct thread *thread;

	HASH_FIND(hh, resolver->threads, &tid, sizeof(tid), thread);
	return thread ? thread->name : NULL;
}

struct pesa_error *script_resolver_apply(struct script_resolver *resolver,
					 const struct pesa_event *event)
{
	bool done = true;

	switch (event->type) {
	case PERF_RECORD_COMM:
		done = name_thread(resolver, event->comm.tid, event->comm.name);
		break;
	case PERF_RECORD_FORK: {
		const char *parent = script_thread_name(resolver, event->task.parent_tid);

		if (parent)
			done = name_thread(resolver, event->task.tid, parent);
		break;
	}
	case PERF_RECORD_EXIT:
		forget_thread(resolver, event->task.tid);
		break;
	}
	if (!done)
		return pesa_error_no_memory();
	return pesa_spaces_apply(resolver->spaces, event);
}

/* ---- Addresses ----------------------------------------------------------------------------- */

struct script_place script_resolve(struct script_resolver *resolver, uint32_t pid, bool kernel,
				   uint64_t address)
{
	const struct pesa_layout *layout = kernel ? pesa_spaces_kernel(resolver->spaces)
						  : pesa_spaces_layout(resolver->spaces, pid);
	const struct pesa_mapping *mapping = layout ? pesa_layout_find(layout, address) : NULL;
	struct script_place place = {.address = address};

	if (!mapping)
		return place;
	place.dso = pesa_spaces_dso(resolver->spaces, mapping->dso);
	place.address = pesa_binaries_address(resolver->binaries, mapping, address);
	place.symbol = pesa_symbols_find(resolver->symbols, mapping->dso, place.address);
	return place;
}
